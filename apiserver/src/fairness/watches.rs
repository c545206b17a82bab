//! How many watches somebody holds. They cost little while they wait, and memory all the same.

use crate::place::Workspace;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A user of a workspace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Watcher {
    pub workspace: Workspace,
    pub user: String,
}

/// Counts the watches of everybody who has any. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Watches {
    max: usize,
    held: Arc<Mutex<HashMap<Watcher, usize>>>,
}

/// A watch, until this is dropped.
#[derive(Debug)]
pub struct Watching {
    watcher: Watcher,
    watches: Watches,
}

impl Watches {
    /// `max` for each user of each workspace.
    pub fn new(max: usize) -> Self {
        Self { max, held: Arc::default() }
    }

    /// One more; `None` if those are enough.
    pub fn begin(&self, watcher: Watcher) -> Option<Watching> {
        let mut held = self.held.lock();
        let count = held.entry(watcher.clone()).or_default();
        if *count >= self.max {
            return None;
        }
        *count += 1;
        drop(held);
        Some(Watching { watcher, watches: self.clone() })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let mut held = self.watches.held.lock();
        if let Some(count) = held.get_mut(&self.watcher) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.watcher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watches_are_counted_for_each_user_and_forgotten() {
        let watches = Watches::new(2);
        let guest = |user: &str| Watcher { workspace: Workspace::new("w"), user: user.into() };
        let held = [watches.begin(guest("a")), watches.begin(guest("a"))];
        assert!(held.iter().all(Option::is_some));
        assert!(watches.begin(guest("a")).is_none() && watches.begin(guest("b")).is_some());
        drop(held);
        assert!(watches.begin(guest("a")).is_some());
        assert!(watches.held.lock().is_empty());
    }
}
