//! Which hooks are asked a second time.

use std::collections::BTreeSet;

/// Hooks are named by their place in the order, if by nothing else.
#[derive(Debug)]
pub(crate) struct Again<K = usize> {
    /// Asked, and wanting to be asked again if anything changes from now on.
    attentive: BTreeSet<K>,
    due: BTreeSet<K>,
}

impl<K> Default for Again<K> {
    fn default() -> Self {
        Self { attentive: BTreeSet::new(), due: BTreeSet::new() }
    }
}

impl<K: Ord> Again<K> {
    pub(crate) fn is_due(&self, hook: &K) -> bool {
        self.due.contains(hook)
    }

    pub(crate) fn attends(&mut self, hook: K) {
        self.attentive.insert(hook);
    }

    /// The object is no longer what those have seen who were asked so far.
    pub(crate) fn changed(&mut self) {
        self.due.append(&mut self.attentive);
    }
}
