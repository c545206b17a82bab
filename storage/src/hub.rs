//! Which channels a change goes to.
//!
//! Watchers of the same range share one bounded channel, filed under the prefix that covers the range.

use crate::key::KeyRange;
use crate::timeline::{Change, Commit};
use crate::txn::Revision;
use crossbeam_channel::{Receiver, Sender};
use parking_lot::Mutex;
use patricia_tree::GenericPatriciaMap;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::broadcast;

/// What travels to the watchers of a range, shared by all of them.
#[derive(Clone, Debug)]
pub(crate) struct Round {
    pub(crate) changes: Arc<[Arc<Change>]>,
    /// With this round everything in the range up to here was sent.
    pub(crate) until: Revision,
}

/// How many rounds a watcher may be behind before it must read history instead. Small, because every watched range
/// holds this many slots whether it is busy or not.
const ROUNDS_MAX: usize = 64;

type Groups = GenericPatriciaMap<Vec<u8>, HashMap<KeyRange, broadcast::Sender<Round>>>;

#[derive(Debug)]
pub(crate) struct Hub {
    /// Guards the filing of ranges. Held while a round is routed, never together with the timeline.
    groups: Mutex<Groups>,
    /// Every change up to here has been sent to the channels it belongs to.
    dispatched: AtomicU64,
    doorbell: Sender<()>,
}

impl Hub {
    pub(crate) fn new(revision: Revision) -> (Self, Receiver<()>) {
        // One pending ring is enough: whoever answers it looks at everything that happened.
        let (doorbell, rings) = crossbeam_channel::bounded(1);
        let hub = Self { groups: Mutex::default(), dispatched: AtomicU64::new(revision.0), doorbell };
        (hub, rings)
    }

    /// Tells the dispatcher that there are new commits. Never blocks.
    pub(crate) fn ring(&self) {
        let _ = self.doorbell.try_send(());
    }

    pub(crate) fn dispatched(&self) -> Revision {
        Revision(self.dispatched.load(Ordering::Acquire))
    }

    /// Says that everything up to `revision` was routed.
    pub(crate) fn reach(&self, revision: Revision) {
        self.dispatched.store(revision.0, Ordering::Release);
    }

    pub(crate) fn subscribe(&self, range: &KeyRange) -> broadcast::Receiver<Round> {
        let mut groups = self.groups.lock();
        let prefix = range.covering_prefix();
        if groups.get(prefix).is_none() {
            groups.insert(prefix, HashMap::new());
        }
        let Some(group) = groups.get_mut(prefix) else { unreachable!("it was inserted above") };
        group.entry(range.clone()).or_insert_with(|| broadcast::channel(ROUNDS_MAX).0).subscribe()
    }

    /// Forgets the range if nobody watches it any more.
    pub(crate) fn release(&self, range: &KeyRange) {
        let mut groups = self.groups.lock();
        let prefix = range.covering_prefix();
        let Some(group) = groups.get_mut(prefix) else { return };
        if group.get(range).is_some_and(|channel| channel.receiver_count() == 0) {
            group.remove(range);
        }
        if group.is_empty() {
            groups.remove(prefix);
        }
    }

    pub(crate) fn ranges(&self) -> usize {
        self.groups.lock().values().map(HashMap::len).sum()
    }

    /// Sends the changes of `commits`, which are all there were up to `until`, to the watchers they concern. The cost
    /// follows those watchers' ranges.
    pub(crate) fn route(&self, commits: &[Arc<Commit>], until: Revision) {
        let groups = self.groups.lock();
        if groups.is_empty() {
            return;
        }
        let mut rounds: HashMap<&KeyRange, (&broadcast::Sender<Round>, Vec<Arc<Change>>)> = HashMap::new();
        for change in commits.iter().flat_map(|commit| commit.changes.iter()) {
            let key = change.key.as_bytes();
            for group in groups.common_prefix_values(key) {
                for (range, channel) in group.iter().filter(|(range, _)| range.contains(key)) {
                    rounds.entry(range).or_insert_with(|| (channel, Vec::new())).1.push(change.clone());
                }
            }
        }
        for (channel, changes) in rounds.into_values() {
            // Fails only if the last watcher of the range has just gone.
            let _ = channel.send(Round { changes: changes.into(), until });
        }
    }

    /// Tells every watcher that there was nothing more up to here. The cost follows all watched ranges.
    pub(crate) fn mark(&self, until: Revision) {
        for channel in self.groups.lock().values().flat_map(HashMap::values) {
            let _ = channel.send(Round { changes: Arc::from([]), until });
        }
    }

    /// Closes every channel: its watchers read what is in it, and then look for themselves.
    pub(crate) fn disperse(&self) {
        *self.groups.lock() = Groups::new();
    }
}
