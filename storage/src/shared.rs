//! What the parts of an open store share: the timeline, the watchers, the clock.

use crate::error::ReadError;
use crate::hub::Hub;
use crate::index::{ShareOf, Slot};
use crate::key::Key;
use crate::seal::Seal;
use crate::thread;
use crate::timeline::{Commit, Timeline, Writes};
use crate::txn::Revision;
use crossbeam_channel::Receiver;
use parking_lot::{Mutex, RwLock};
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// Monotonic time since some fixed moment. Handed in, so that tests decide what time it is.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Clock {
    pub fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Duration {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        let start = Instant::now();
        Self::new(move || start.elapsed())
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Clock({:?})", self.now())
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    /// Guards state and history. Readers hold it for a bounded number of keys at a time, the committer for a bounded
    /// number of commits. No other lock is taken while it is held.
    pub(crate) timeline: RwLock<Timeline>,
    pub(crate) hub: Hub,
    /// Guards the sending of rounds, one after the other, and holds the last revision that all watchers were told.
    /// Taken before the timeline and before the hub's own lock.
    dispatching: Mutex<Revision>,
    /// The mark before the last. Watchers are told how far they are when history up to here is about to go: those of a
    /// quiet range learn it nowhere else, and have to know it if they ever fall behind. Not the last one, so that they
    /// have half of history's length to take notice.
    marked: AtomicU64,
    pub(crate) clock: Clock,
    pub(crate) seal: Seal,
    #[cfg(feature = "etcd")]
    share_of: Option<ShareOf>,
    applied: watch::Sender<Revision>,
    closed: AtomicBool,
}

/// Commits made visible in one go: bounds how long readers wait for a large batch.
const APPLY_MAX: usize = 128;

/// Commits in one round: enough to make a round worth its wake-ups, few enough not to hold the timeline for long.
const COMMITS_PER_ROUND: usize = 256;

impl Shared {
    /// Starts the dispatcher, which ends with the store; everybody's share is counted if `share_of` says whose is what.
    pub(crate) fn start(mut timeline: Timeline, clock: Clock, seal: Seal, share_of: Option<ShareOf>) -> Arc<Self> {
        if let Some(of) = share_of {
            timeline.share(of);
        }
        let revision = timeline.revision();
        let (hub, rings) = Hub::new(revision);
        let shared = Arc::new(Self {
            timeline: RwLock::new(timeline),
            hub,
            dispatching: Mutex::new(revision),
            marked: AtomicU64::new(revision.0),
            clock,
            seal,
            #[cfg(feature = "etcd")]
            share_of,
            applied: watch::Sender::new(revision),
            closed: AtomicBool::new(false),
        });
        let followed = Arc::downgrade(&shared);
        thread::spawn("store-dispatch", move || dispatch(followed, &rings));
        shared
    }

    /// Makes durable commits visible, to readers first and then to watchers.
    pub(crate) fn publish(&self, commits: impl IntoIterator<Item = (Revision, Writes)>) -> Vec<Arc<Commit>> {
        let now = self.clock.now();
        let mut commits = commits.into_iter().peekable();
        let mut published = Vec::new();
        while commits.peek().is_some() {
            let mut timeline = self.timeline.write();
            let applied = commits.by_ref().take(APPLY_MAX);
            published.extend(applied.map(|(revision, writes)| timeline.apply(revision, writes, now)));
            self.applied.send_replace(timeline.revision());
        }
        self.hub.ring();
        published
    }

    /// Everything up to `revision` is known, though the last of it did not concern this store.
    #[cfg(feature = "etcd")]
    pub(crate) fn advance(&self, revision: Revision) {
        let mut timeline = self.timeline.write();
        timeline.advance(revision);
        self.applied.send_replace(timeline.revision());
        drop(timeline);
        self.hub.ring();
    }

    /// Forgets history up to `floor`, at most about `changes_max` changes of it, and returns the slots that went.
    /// A watcher that keeps up does not notice.
    pub(crate) fn forget(&self, floor: Revision, changes_max: usize) -> Vec<(Key, Slot)> {
        let (oldest, newest) = {
            let timeline = self.timeline.read();
            (timeline.floor(), timeline.revision())
        };
        let floor = floor.min(newest);
        if floor <= oldest {
            return Vec::new();
        }
        self.mark_before(floor);
        self.timeline.write().forget(floor, changes_max)
    }

    /// Makes sure that watchers know their place before history up to `floor` goes: those that missed nothing will not
    /// need it. Seldom has anything to do, and only then waits for the dispatcher.
    fn mark_before(&self, floor: Revision) {
        if floor.0 <= self.marked.load(Ordering::Acquire) {
            return;
        }
        let mut last_mark = self.dispatching.lock();
        while self.dispatch_round() {}
        let dispatched = self.hub.dispatched();
        self.hub.mark(dispatched);
        self.marked.store(last_mark.0, Ordering::Release);
        *last_mark = dispatched;
    }

    /// A later state takes the place of everything known. Watchers that had not come that far are told `Compacted`.
    #[cfg(feature = "etcd")]
    pub(crate) fn replace(&self, mut later: Timeline) {
        if let Some(of) = self.share_of {
            later.share(of);
        }
        let mut timeline = self.timeline.write();
        let replaced = timeline.replace(later);
        self.applied.send_replace(timeline.revision());
        drop(timeline);
        self.hub.ring();
        // Large, and nobody should wait for it.
        drop(replaced);
    }

    /// Waits until everything up to `revision` can be read here.
    pub(crate) async fn reached(&self, revision: Revision) -> Result<(), ReadError> {
        let mut applied = self.applied.subscribe();
        let arrived = applied.wait_for(|applied| *applied >= revision || self.is_closed()).await;
        arrived.map_err(|_| ReadError::Closed)?;
        self.check_open()
    }

    pub(crate) fn check_open(&self) -> Result<(), ReadError> {
        if self.is_closed() { Err(ReadError::Closed) } else { Ok(()) }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends watches and waits. What was read stays readable.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.applied.send_modify(|_| ());
        self.hub.ring();
    }
}

/// The dispatcher's thread: follows the timeline and routes what happens, until the store is gone.
fn dispatch(shared: Weak<Shared>, rings: &Receiver<()>) {
    while rings.recv().is_ok() {
        let Some(shared) = shared.upgrade() else { return };
        // Asked first: what was committed before the end is told before the end.
        let closed = shared.is_closed();
        while shared.dispatch_next() {}
        if closed {
            shared.hub.disperse();
            return;
        }
    }
}

impl Shared {
    fn dispatch_next(&self) -> bool {
        let _alone = self.dispatching.lock();
        self.dispatch_round()
    }

    /// Sends the next round, if there is one. Only under `dispatching`.
    fn dispatch_round(&self) -> bool {
        let hub = &self.hub;
        let (after, newest, commits) = {
            let timeline = self.timeline.read();
            let after = hub.dispatched();
            (after, timeline.revision(), timeline.commits_after(after, COMMITS_PER_ROUND))
        };
        if newest <= after {
            return false;
        }
        let reached = match commits {
            Ok(commits) => {
                let full = commits.last().filter(|_| commits.len() == COMMITS_PER_ROUND);
                let reached = full.map_or(newest, |last| last.revision);
                hub.route(&commits, reached);
                reached
            }
            // What happened is not known: whoever watches must find out for himself whether it concerns him.
            Err(_) => {
                hub.disperse();
                newest
            }
        };
        hub.reach(reached);
        true
    }
}
