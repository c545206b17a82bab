//! Which hooks are asked a second time.

use crate::object::Object;
use std::collections::BTreeSet;

/// What those who may change an object remember of it from one round to the next. They are named by their place in the
/// order, if by nothing else.
#[derive(Debug)]
pub struct Again<K = usize> {
    /// Asked, and wanting to be asked again if anything changes from now on.
    attentive: BTreeSet<K>,
    due: BTreeSet<K>,
    /// The object as the last round left it, if anybody wants to know.
    left: Option<Object>,
    round: usize,
}

impl<K> Default for Again<K> {
    fn default() -> Self {
        Self { attentive: BTreeSet::new(), due: BTreeSet::new(), left: None, round: 0 }
    }
}

impl<K: Ord> Again<K> {
    /// A round begins. Whoever attends is due if others have changed the object since the last one.
    pub(crate) fn begin(&mut self, object: Option<&Object>) {
        if self.round > 0 && self.left.as_ref() != object {
            self.changed();
        }
    }

    /// A round ends, and leaves this object.
    pub(crate) fn end(&mut self, object: Option<&Object>) {
        self.left = if self.attentive.is_empty() { None } else { object.cloned() };
        self.round += 1;
    }

    pub(crate) fn round(&self) -> usize {
        self.round
    }

    /// In the first round everybody is.
    pub(crate) fn is_due(&self, hook: &K) -> bool {
        self.round == 0 || self.due.contains(hook)
    }

    pub(crate) fn attends(&mut self, hook: K) {
        self.attentive.insert(hook);
    }

    /// The object is no longer what those have seen who were asked so far.
    pub(crate) fn changed(&mut self) {
        self.due.append(&mut self.attentive);
    }
}
