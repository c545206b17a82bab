//! Which hooks are asked a second time.

use std::collections::BTreeSet;

/// Hooks are named by their place in the order.
#[derive(Debug, Default)]
pub(super) struct Again {
    /// Asked, and wanting to be asked again if anything changes from now on.
    attentive: BTreeSet<usize>,
    due: BTreeSet<usize>,
}

impl Again {
    pub(super) fn is_due(&self, hook: usize) -> bool {
        self.due.contains(&hook)
    }

    pub(super) fn attends(&mut self, hook: usize) {
        self.attentive.insert(hook);
    }

    /// The object is no longer what those have seen who were asked so far.
    pub(super) fn changed(&mut self) {
        self.due.append(&mut self.attentive);
    }
}
