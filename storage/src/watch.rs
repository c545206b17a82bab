//! Watching a range: every later change once, in order.
//!
//! A watcher that is new, or too slow for the channel its range has in the hub, reads what it missed from history and
//! joins again; one that is too slow even for history is told so. Nobody waits for a watcher.

use crate::error::ReadError;
use crate::hub::Round;
use crate::key::KeyRange;
use crate::shared::Shared;
use crate::timeline::{Change, Commit};
use crate::txn::Revision;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

/// Changes read from history at a time: bounds what a slow watcher holds.
const CATCH_UP_MAX: usize = 256;

/// Commits looked through at a time when there are many: bounds how long the next commit waits.
const COMMITS_PER_STEP: usize = 1024;

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
    Unknown,
    /// These revisions, and then nothing up to `until`.
    Known {
        revisions: VecDeque<Revision>,
        until: Revision,
    },
    /// So much since the cursor that it must be looked through step by step.
    Much,
}

impl Watcher {
    pub(crate) fn new(shared: Arc<Shared>, range: KeyRange, after: Revision) -> Result<Self, ReadError> {
        // Join first, look second: a commit between the two is seen twice and told apart by the cursor, and a store
        // that closes between the two is noticed.
        let live = shared.hub.subscribe(&range);
        let mut watcher = Self { shared, range, cursor: after, ready: VecDeque::new(), live, missed: Missed::Unknown };
        watcher.shared.check_open()?;
        watcher.look()?;
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
                Ok(round) => self.take(round),
                Err(RecvError::Lagged(_)) => self.fall_back(),
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
                Ok(round) => self.take(round),
                Err(TryRecvError::Empty) => return Ok(None),
                Err(TryRecvError::Lagged(_)) => self.fall_back(),
                Err(TryRecvError::Closed) => self.rejoin()?,
            }
        }
    }

    /// A revision up to which this watcher has delivered everything there was, even if that was nothing; `None`
    /// while changes are waiting to be read.
    pub fn progress(&mut self) -> Option<Revision> {
        // Asked before the channel is looked at: what is dispatched in between is not covered by the answer.
        let dispatched = self.shared.hub.dispatched();
        while self.ready.is_empty() && matches!(self.missed, Missed::Nothing) {
            match self.live.try_recv() {
                Ok(round) => self.take(round),
                Err(TryRecvError::Lagged(_)) => self.fall_back(),
                Err(TryRecvError::Empty) => {
                    self.cursor = self.cursor.max(dispatched);
                    return Some(self.cursor);
                }
                Err(TryRecvError::Closed) => return None,
            }
        }
        None
    }

    fn next_ready(&mut self) -> Result<Option<Arc<Change>>, ReadError> {
        while self.ready.is_empty() && !matches!(self.missed, Missed::Nothing) {
            self.catch_up()?;
        }
        Ok(self.ready.pop_front())
    }

    fn take(&mut self, round: Round) {
        self.ready.extend(round.changes.iter().filter(|change| change.revision > self.cursor).cloned());
        self.cursor = self.cursor.max(round.until);
    }

    /// The channel has lost rounds. What it still holds will be read from history with the rest; left in the channel,
    /// it would make the next round one too many.
    fn fall_back(&mut self) {
        self.live = self.live.resubscribe();
        self.missed = Missed::Unknown;
    }

    /// The channel was closed: by the end of the store, or because the dispatcher itself had to skip.
    fn rejoin(&mut self) -> Result<(), ReadError> {
        let live = self.shared.hub.subscribe(&self.range);
        // Looked at after joining, as ever. At the end the closed channel stays: the end is final.
        self.shared.check_open()?;
        self.live = live;
        self.missed = Missed::Unknown;
        Ok(())
    }

    /// Finds out what was missed.
    fn look(&mut self) -> Result<(), ReadError> {
        let timeline = self.shared.timeline.read();
        self.missed = match timeline.revisions_after(&self.range, self.cursor)? {
            Some(revisions) if revisions.is_empty() => {
                self.cursor = self.cursor.max(timeline.revision());
                Missed::Nothing
            }
            Some(revisions) => Missed::Known { revisions, until: timeline.revision() },
            None => Missed::Much,
        };
        Ok(())
    }

    /// Reads the next part of what was missed.
    fn catch_up(&mut self) -> Result<(), ReadError> {
        if matches!(self.missed, Missed::Unknown) {
            self.look()?;
        }
        match self.missed {
            Missed::Known { .. } => self.read_known(),
            Missed::Much => self.read_on(),
            Missed::Nothing | Missed::Unknown => Ok(()),
        }
    }

    fn read_known(&mut self) -> Result<(), ReadError> {
        let Missed::Known { revisions, until } = &mut self.missed else { return Ok(()) };
        let timeline = self.shared.timeline.read();
        while let Some(revision) = revisions.front().copied() {
            let Some(commit) = timeline.commit_at(revision) else {
                return Err(ReadError::Compacted { asked: self.cursor, oldest: timeline.floor() });
            };
            self.ready.extend(inside(&self.range, commit));
            self.cursor = revision;
            revisions.pop_front();
            if self.ready.len() >= CATCH_UP_MAX {
                return Ok(());
            }
        }
        self.cursor = self.cursor.max(*until);
        self.missed = Missed::Nothing;
        Ok(())
    }

    fn read_on(&mut self) -> Result<(), ReadError> {
        let timeline = self.shared.timeline.read();
        let commits = timeline.commits_after(self.cursor, COMMITS_PER_STEP)?;
        for commit in &commits {
            self.ready.extend(inside(&self.range, commit));
            self.cursor = commit.revision;
            if self.ready.len() >= CATCH_UP_MAX {
                return Ok(());
            }
        }
        if commits.len() < COMMITS_PER_STEP {
            self.cursor = self.cursor.max(timeline.revision());
            self.missed = Missed::Nothing;
        }
        Ok(())
    }
}

fn inside(range: &KeyRange, commit: &Commit) -> impl Iterator<Item = Arc<Change>> {
    commit.changes.iter().filter(|change| range.contains(change.key.as_bytes())).cloned()
}

impl Drop for Watcher {
    fn drop(&mut self) {
        // The hub counts receivers: ours must be gone before it looks.
        self.live = broadcast::channel(1).1;
        self.shared.hub.release(&self.range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Seal;
    use crate::shared::Clock;
    use crate::timeline::Timeline;
    use bytes::Bytes;

    /// Every tenth commit is in `rare/`; each has a value of its own.
    fn busy(commits: u64) -> Arc<Shared> {
        let shared = Shared::start(Timeline::default(), Clock::default(), Seal::default(), None);
        shared.publish((1..=commits).map(|revision| {
            let key = if revision % 10 == 0 { format!("rare/{revision}") } else { "often".to_owned() };
            (Revision(revision), vec![(key.into(), Some(Bytes::from(revision.to_string())))])
        }));
        shared
    }

    fn drain(watcher: &mut Watcher) -> Vec<u64> {
        let mut revisions = Vec::new();
        while let Some(change) = watcher.try_next().unwrap() {
            assert_eq!(change.current.as_ref().unwrap().value, change.revision.to_string());
            revisions.push(change.revision.0);
        }
        revisions
    }

    #[test]
    fn a_watcher_from_long_ago_reads_all_of_it_step_by_step() {
        const COMMITS: u64 = 50_000;
        let shared = busy(COMMITS);
        let mut all = Watcher::new(shared.clone(), KeyRange::all(), Revision::ZERO).unwrap();
        assert!(matches!(all.missed, Missed::Much), "more than is searched at once");
        assert_eq!(all.progress(), None);
        assert!(drain(&mut all).into_iter().eq(1..=COMMITS));
        assert_eq!(all.progress(), Some(Revision(COMMITS)));

        let rare = KeyRange::between("a", "rare0").unwrap();
        let mut some = Watcher::new(shared.clone(), rare, Revision(7)).unwrap();
        assert!(drain(&mut some).into_iter().eq(8..=COMMITS));
        let mut few = Watcher::new(shared.clone(), KeyRange::prefix("rare/"), Revision(7)).unwrap();
        assert!(matches!(few.missed, Missed::Known { .. }), "few keys, found one by one");
        assert!(drain(&mut few).into_iter().eq((10..=COMMITS).step_by(10)));
        shared.close();
    }

    #[test]
    fn a_watcher_that_reads_step_by_step_is_told_when_history_overtakes_it() {
        let shared = busy(50_000);
        let mut all = Watcher::new(shared.clone(), KeyRange::all(), Revision::ZERO).unwrap();
        assert_eq!(all.try_next().unwrap().unwrap().revision, Revision(1));
        shared.forget(Revision(40_000), usize::MAX);
        let mut last = 1;
        let end = loop {
            match all.try_next() {
                Ok(change) => last = change.unwrap().revision.0,
                Err(end) => break end,
            }
        };
        // What was read already is told, and nothing after the gap.
        assert_eq!(end, ReadError::Compacted { asked: Revision(last), oldest: Revision(40_000) });
        assert!(last < 40_000);
        shared.close();
    }

    #[test]
    fn a_watcher_whose_channel_was_closed_claims_no_progress_over_what_it_missed() {
        let shared = Shared::start(Timeline::default(), Clock::default(), Seal::default(), None);
        let mut watcher = Watcher::new(shared.clone(), KeyRange::all(), Revision::ZERO).unwrap();
        assert_eq!(watcher.try_next().unwrap(), None);
        assert_eq!(watcher.progress(), Some(Revision::ZERO));
        // What the dispatcher does when history was forgotten before it came by.
        shared.hub.disperse();
        shared.hub.reach(Revision(7));
        assert_eq!(watcher.progress(), None);
    }

    #[cfg(feature = "etcd")]
    #[tokio::test]
    async fn watchers_of_a_replaced_timeline_are_told_and_new_ones_go_on_from_there() {
        let shared = Shared::start(Timeline::default(), Clock::default(), Seal::default(), None);
        let mut watcher = Watcher::new(shared.clone(), KeyRange::prefix("quiet"), Revision::ZERO).unwrap();
        assert_eq!(watcher.try_next().unwrap(), None);
        shared.replace(Timeline::begin(Vec::new(), Revision(200)));
        let publish = |revision| shared.publish([(Revision(revision), vec![("k".into(), Some("v".into()))])]);
        publish(201);
        // Forgetting tells watchers where they are; it must not tell them that they missed nothing.
        shared.forget(Revision(201), usize::MAX);
        let told = watcher.next().await.unwrap_err();
        assert_eq!(told, ReadError::Compacted { asked: Revision::ZERO, oldest: Revision(201) });

        let mut later = Watcher::new(shared.clone(), KeyRange::all(), Revision(201)).unwrap();
        publish(202);
        assert_eq!(later.next().await.unwrap().revision, Revision(202));
    }
}
