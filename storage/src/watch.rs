//! Watching a range: every later change once, in order.
//!
//! A watcher that is new, or too slow for the channel its range has in the hub, reads what it missed from history and
//! joins again; one that is too slow even for history is told so. Nobody waits for a watcher.

use crate::error::ReadError;
use crate::hub::Round;
use crate::key::KeyRange;
use crate::shared::Shared;
use crate::timeline::Change;
use crate::txn::Revision;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

/// Changes read from history at a time: bounds what a slow watcher holds.
const CATCH_UP_MAX: usize = 256;

/// Yields every change of a range after a revision, once, in order of revision.
///
/// Dropping it ends the watch. A watcher that nobody reads costs a bounded channel shared with the other watchers of
/// its range, and in time its place: `next` then answers `Compacted`.
#[derive(Debug)]
pub struct Watcher {
    shared: Arc<Shared>,
    range: KeyRange,
    /// Every change up to here was delivered or stands in `ready`.
    cursor: Revision,
    ready: VecDeque<Arc<Change>>,
    live: broadcast::Receiver<Round>,
    /// What must be read from history before `live` can be trusted again.
    missed: Missed,
}

#[derive(Debug)]
enum Missed {
    Nothing,
    /// Everything after the cursor.
    Unknown,
    /// These revisions, and then nothing up to `until`.
    Known {
        revisions: VecDeque<Revision>,
        until: Revision,
    },
}

impl Watcher {
    pub(crate) fn new(shared: Arc<Shared>, range: KeyRange, after: Revision) -> Result<Self, ReadError> {
        // Join first, look second: a commit between the two is seen twice and told apart by the cursor, and a store
        // that closes between the two is noticed.
        let live = shared.hub.subscribe(&range);
        let watcher = Self { shared, range, cursor: after, ready: VecDeque::new(), live, missed: Missed::Unknown };
        watcher.shared.check_open()?;
        watcher.shared.timeline.read().check(after)?;
        Ok(watcher)
    }

    pub fn range(&self) -> &KeyRange {
        &self.range
    }

    /// The next change; waits for it. `Compacted` and `Closed` are final. Cancel safe.
    pub async fn next(&mut self) -> Result<Arc<Change>, ReadError> {
        loop {
            if let Some(change) = self.next_ready()? {
                return Ok(change);
            }
            match self.live.recv().await {
                Ok(round) => self.take(&round),
                Err(RecvError::Lagged(_)) => self.missed = Missed::Unknown,
                Err(RecvError::Closed) => self.rejoin()?,
            }
        }
    }

    /// The next change if it is there already.
    pub fn try_next(&mut self) -> Result<Option<Arc<Change>>, ReadError> {
        loop {
            if let Some(change) = self.next_ready()? {
                return Ok(Some(change));
            }
            match self.live.try_recv() {
                Ok(round) => self.take(&round),
                Err(broadcast::error::TryRecvError::Empty) => return Ok(None),
                Err(broadcast::error::TryRecvError::Lagged(_)) => self.missed = Missed::Unknown,
                Err(broadcast::error::TryRecvError::Closed) => self.rejoin()?,
            }
        }
    }

    /// A revision up to which this watcher has delivered everything there was, even if that was nothing; `None`
    /// while changes are waiting to be read. This is how a quiet watcher keeps its place.
    pub fn progress(&mut self) -> Option<Revision> {
        let dispatched = self.shared.hub.dispatched();
        let drained = self.ready.is_empty() && matches!(self.missed, Missed::Nothing) && self.live.is_empty();
        if drained {
            self.cursor = self.cursor.max(dispatched);
        }
        drained.then_some(self.cursor)
    }

    fn next_ready(&mut self) -> Result<Option<Arc<Change>>, ReadError> {
        while self.ready.is_empty() && !matches!(self.missed, Missed::Nothing) {
            self.catch_up()?;
        }
        Ok(self.ready.pop_front())
    }

    fn take(&mut self, round: &Round) {
        self.ready.extend(round.iter().filter(|change| change.revision > self.cursor).cloned());
        self.cursor = self.ready.back().map_or(self.cursor, |last| last.revision);
    }

    /// Reads the next part of what was missed.
    fn catch_up(&mut self) -> Result<(), ReadError> {
        let timeline = self.shared.timeline.read();
        let (mut revisions, until) = match std::mem::replace(&mut self.missed, Missed::Unknown) {
            Missed::Known { revisions, until } => (revisions, until),
            _ => (timeline.revisions_after(&self.range, self.cursor)?, timeline.revision()),
        };
        while let Some(revision) = revisions.pop_front() {
            let Some(commit) = timeline.commit_at(revision) else {
                return Err(ReadError::Compacted { asked: self.cursor, oldest: timeline.floor() });
            };
            let inside = commit.changes.iter().filter(|change| self.range.contains(change.key.as_bytes()));
            self.ready.extend(inside.cloned());
            self.cursor = revision;
            if self.ready.len() >= CATCH_UP_MAX {
                self.missed = Missed::Known { revisions, until };
                return Ok(());
            }
        }
        self.cursor = self.cursor.max(until);
        self.missed = Missed::Nothing;
        Ok(())
    }

    /// The channel was closed: by the end of the store, or because the dispatcher itself had to skip.
    fn rejoin(&mut self) -> Result<(), ReadError> {
        self.live = self.shared.hub.subscribe(&self.range);
        self.missed = Missed::Unknown;
        self.shared.check_open()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The hub counts receivers: ours must be gone before it looks.
        self.live = broadcast::channel(1).1;
        self.shared.hub.release(&self.range);
    }
}
