//! How much of the past this replica remembers, and etcd with it.

use super::Core;
use super::fault::Kind;
use crate::shared::Shared;
use crate::timeline::HistoryBounds;
use crate::txn::Revision;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval};

/// Changes forgotten in one go: bounds how long readers wait for it.
const FORGET_STEP: usize = 512;

/// How often history is looked through for what has grown old, busy or not.
const UPKEEP_TICK: Duration = Duration::from_secs(1);

/// How often etcd is told to forget what we have forgotten. Each compaction makes etcd rewrite its index; every
/// replica asks for it, and the first one does the work.
const COMPACT_INTERVAL: Duration = Duration::from_secs(60);

pub(super) struct History {
    bounds: HistoryBounds,
    /// From which revisions on writers still need the commits, to answer with what they changed. Leaf lock.
    held: Mutex<BTreeMap<Revision, usize>>,
    /// Somebody asked to forget, etcd included.
    asked: Notify,
}

impl History {
    pub(super) fn new(bounds: HistoryBounds) -> Self {
        Self { bounds, held: Mutex::default(), asked: Notify::new() }
    }

    /// Until it is dropped, bounds do not make us forget what happens from now on.
    pub(super) fn hold(self: &Arc<Self>, shared: &Shared) -> Hold {
        // A commit that starts now gets a later revision than this, whatever is forgotten between the two lines.
        let from = shared.timeline.read().revision();
        *self.held.lock().entry(from).or_default() += 1;
        Hold { history: self.clone(), from }
    }

    /// Forgets what the bounds say is too old or too much; answers with the oldest revision left.
    pub(super) fn forget_due(&self, shared: &Shared) -> Revision {
        let due = shared.timeline.read().due(&self.bounds, shared.clock.now());
        let held = self.held.lock().keys().next().copied();
        forget(shared, held.map_or(due, |held| due.min(held)))
    }

    /// Forgets everything before `floor`, here at once and in etcd soon.
    pub(super) fn forget_before(&self, shared: &Shared, floor: Revision) -> Revision {
        let oldest = forget(shared, floor);
        self.asked.notify_one();
        oldest
    }
}

fn forget(shared: &Shared, target: Revision) -> Revision {
    loop {
        let before = shared.timeline.read().floor();
        shared.forget(target, FORGET_STEP);
        let reached = shared.timeline.read().floor();
        if reached >= target || reached == before {
            return reached;
        }
    }
}

pub(super) struct Hold {
    history: Arc<History>,
    from: Revision,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut held = self.history.held.lock();
        if let Some(count) = held.get_mut(&self.from) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.from);
            }
        }
    }
}

/// Keeps the past within its bounds, here and in etcd, for as long as the store is open.
pub(super) async fn upkeep(core: Arc<Core>) {
    let mut tick = interval(UPKEEP_TICK);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut compacted = Revision::ZERO;
    let mut last = core.shared.clock.now();
    loop {
        let asked = tokio::select! {
            _ = tick.tick() => false,
            () = core.history.asked.notified() => true,
        };
        let floor = core.history.forget_due(&core.shared);
        let now = core.shared.clock.now();
        if floor > compacted && (asked || now.saturating_sub(last) >= COMPACT_INTERVAL) {
            last = now;
            if compact(&core, floor).await {
                compacted = floor;
            }
        }
    }
}

async fn compact(core: &Core, floor: Revision) -> bool {
    let Some(connection) = core.link.connected() else { return false };
    match connection.compact(floor).await {
        Ok(()) => true,
        // Another replica was here first.
        Err(fault) if fault.kind == Kind::Compacted => true,
        Err(fault) => {
            tracing::warn!(%floor, what = fault.what, "etcd could not be compacted");
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Seal;
    use crate::shared::Clock;
    use crate::timeline::Timeline;

    #[test]
    fn what_a_writer_waits_for_is_not_forgotten_before_it_has_its_answer() {
        let shared = Shared::start(Timeline::default(), Clock::default(), Seal::default(), None);
        let publish = |revision| shared.publish([(Revision(revision), vec![("k".into(), Some("v".into()))])]);
        let nothing = HistoryBounds::exactly(Duration::MAX, 0);
        let history = Arc::new(History::new(nothing));
        publish(1);
        let (first, second) = (history.hold(&shared), history.hold(&shared));
        publish(2);
        publish(3);
        assert_eq!(history.forget_due(&shared), Revision(1));
        assert!(shared.timeline.read().commit_at(Revision(2)).is_some());
        drop(first);
        assert_eq!(history.forget_due(&shared), Revision(1));
        drop(second);
        assert_eq!(history.forget_due(&shared), Revision(3));
    }

    #[test]
    fn who_asks_to_forget_is_not_held_up() {
        let shared = Shared::start(Timeline::default(), Clock::default(), Seal::default(), None);
        let history = Arc::new(History::new(HistoryBounds::default()));
        let _hold = history.hold(&shared);
        for revision in 1..=2000 {
            shared.publish([(Revision(revision), vec![("k".into(), Some("v".into()))])]);
        }
        assert_eq!(history.forget_before(&shared, Revision(1990)), Revision(1990));
    }
}
