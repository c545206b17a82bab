//! Watches that go on, by what they look at: they can be ended all at once.

use crate::place::Workspace;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Everybody who watches something. A workspace that nobody watches has no place here.
#[derive(Debug, Default)]
pub(crate) struct Lookouts {
    /// Nothing else is locked while this is held.
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    by_workspace: HashMap<Workspace, Crowd>,
    crowds: u64,
}

/// Those who are sent away together.
#[derive(Debug)]
struct Crowd {
    number: u64,
    end: CancellationToken,
    size: usize,
}

/// Somebody who watches, for as long as this is kept.
#[derive(Debug)]
pub(crate) struct Lookout {
    all: Arc<Lookouts>,
    workspace: Workspace,
    crowd: u64,
    end: CancellationToken,
}

impl Lookouts {
    /// `stopping`: ends every watch.
    pub(crate) fn join(self: &Arc<Self>, workspace: &Workspace, stopping: &CancellationToken) -> Lookout {
        let mut open = self.open.lock();
        open.crowds += 1;
        let number = open.crowds;
        let new = || Crowd { number, end: stopping.child_token(), size: 0 };
        let crowd = open.by_workspace.entry(workspace.clone()).or_insert_with(new);
        crowd.size += 1;
        Lookout { all: self.clone(), workspace: workspace.clone(), crowd: crowd.number, end: crowd.end.clone() }
    }

    /// Ends every watch of a workspace.
    pub(crate) fn end(&self, workspace: &Workspace) {
        let crowd = self.open.lock().by_workspace.remove(workspace);
        if let Some(crowd) = crowd {
            crowd.end.cancel();
        }
    }
}

impl Lookout {
    pub(crate) async fn ended(&self) {
        self.end.cancelled().await;
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        let mut open = self.all.open.lock();
        let Some(crowd) = open.by_workspace.get_mut(&self.workspace).filter(|crowd| crowd.number == self.crowd) else {
            return;
        };
        crowd.size -= 1;
        if crowd.size == 0 {
            open.by_workspace.remove(&self.workspace);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_watch_one_workspace_are_sent_away_and_others_stay() {
        let (all, stopping) = (Arc::new(Lookouts::default()), CancellationToken::new());
        let join = |id: &str| all.join(&Workspace::new(id), &stopping);
        let (one, two, other) = (join("a"), join("a"), join("b"));
        all.end(&Workspace::new("a"));
        assert!(one.end.is_cancelled() && two.end.is_cancelled() && !other.end.is_cancelled());
        let late = join("a");
        drop(one);
        assert!(!late.end.is_cancelled());
        all.end(&Workspace::new("a"));
        assert!(late.end.is_cancelled());
        drop((two, late, other));
        assert!(all.open.lock().by_workspace.is_empty());
        let last = join("c");
        stopping.cancel();
        assert!(last.end.is_cancelled());
    }
}
