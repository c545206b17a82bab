//! The state and its recent past: the index of versions, and the commits that made them in the order they happened.
//!
//! A timeline is the one thing every backend feeds and every reader reads. It knows nothing of disks, threads or
//! watchers; what it is told, it remembers, until its bounds say to forget.

use crate::error::ReadError;
use crate::index::{Index, Part, ShareOf, Size, Slot, Version};
use crate::key::{Key, KeyRange};
use crate::txn::Revision;
use bytes::Bytes;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What one commit did to one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub revision: Revision,
    pub key: Key,
    pub previous: Option<Version>,
    /// `None`: the key was deleted.
    pub current: Option<Version>,
}

/// Everything one transaction changed, at its revision. Shared by every reader.
#[derive(Debug)]
pub(crate) struct Commit {
    pub(crate) revision: Revision,
    pub(crate) changes: Arc<[Arc<Change>]>,
    /// When this process learned of it, on the store's clock.
    learned: Duration,
    weight: usize,
}

/// A key and the value written to it, or `None` where it was deleted.
pub(crate) type Writes = Vec<(Key, Option<Bytes>)>;

/// Of what is stored, the part that history may weigh as much as.
const HISTORY_SHARE: usize = 8;

/// How much of the past stays readable. Whichever bound is reached first counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryBounds {
    /// Five minutes: what clients of a revisioned API are used to.
    pub age_max: Duration,
    /// Superseded values and bookkeeping held only for the past, in bytes.
    pub bytes_max: usize,
    /// From here on, no more than an eighth of what is stored: history spares watchers and readers from reading everything
    /// anew, and one that weighs as much as everything costs more than it spares.
    pub share_from: usize,
}

impl HistoryBounds {
    /// However much is stored.
    pub fn exactly(age_max: Duration, bytes_max: usize) -> Self {
        Self { age_max, bytes_max, share_from: usize::MAX }
    }

    /// How much it may weigh beside so many bytes that are stored.
    fn bytes_beside(&self, stored: u64) -> usize {
        let share = usize::try_from(stored).unwrap_or(usize::MAX) / HISTORY_SHARE;
        self.bytes_max.min(share.max(self.share_from))
    }
}

impl Default for HistoryBounds {
    fn default() -> Self {
        Self { age_max: Duration::from_secs(300), bytes_max: 256 << 20, share_from: 8 << 20 }
    }
}

/// What one remembered change costs besides its superseded value: its own allocations and its slot in the index.
const CHANGE_BYTES: usize = 320;

/// A range with at most this many keys is searched by key, a wider one by walking the commits: a watcher that
/// resumes on a small range must not pay for what the rest of the store did meanwhile. More than this is not searched
/// at once, because commits wait for it.
const VISITS_MAX: usize = 16 * 1024;

#[derive(Debug, Default)]
pub(crate) struct Timeline {
    index: Index,
    commits: VecDeque<Arc<Commit>>,
    weight: usize,
    revision: Revision,
    floor: Revision,
}

impl Timeline {
    /// A timeline as it was stored: `slots` in any order, readable from `floor` to `revision`. Returns the slots that
    /// cannot be seen from there too.
    pub(crate) fn restore(
        slots: Vec<(Key, Slot)>,
        floor: Revision,
        revision: Revision,
        now: Duration,
    ) -> (Self, Vec<(Key, Slot)>) {
        let mut index = Index::build(slots);
        let dead = index.prune_all(floor);
        let mut timeline = Self { index, commits: VecDeque::new(), weight: 0, revision, floor };
        let mut changes = timeline.changes_after_floor();
        // Stable: within a commit the keys stay in order, whenever and however often it is restored.
        changes.sort_by_key(|change| change.revision);
        for group in changes.chunk_by(|a, b| a.revision == b.revision) {
            timeline.remember(group[0].revision, group.to_vec(), now);
        }
        (timeline, dead)
    }

    /// A timeline that begins with a state: nothing before `revision` can be read.
    #[cfg(feature = "etcd")]
    pub(crate) fn begin(slots: Vec<(Key, Slot)>, revision: Revision) -> Self {
        Self { index: Index::build(slots), commits: VecDeque::new(), weight: 0, revision, floor: revision }
    }

    fn changes_after_floor(&self) -> Vec<Arc<Change>> {
        let mut changes = Vec::new();
        let mut before: Option<(&Key, &Slot)> = None;
        for (key, slot) in self.index.slots() {
            let earlier = before.filter(|(earlier, _)| *earlier == key).map(|(_, slot)| slot);
            if slot.modified > self.floor {
                changes.push(Arc::new(Change {
                    revision: slot.modified,
                    key: key.clone(),
                    previous: earlier.and_then(Slot::live),
                    current: slot.live(),
                }));
            }
            before = Some((key, slot));
        }
        changes
    }

    pub(crate) fn revision(&self) -> Revision {
        self.revision
    }

    /// The oldest revision that can be read. Changes after it can be watched.
    pub(crate) fn floor(&self) -> Revision {
        self.floor
    }

    pub(crate) fn size(&self) -> Size {
        self.index.size()
    }

    pub(crate) fn share(&mut self, of: ShareOf) {
        self.index.share(of);
    }

    pub(crate) fn share_of(&self, owner: &[u8]) -> Size {
        self.index.share_of(owner)
    }

    pub(crate) fn history_bytes(&self) -> usize {
        self.weight
    }

    pub(crate) fn newest(&self, key: &[u8]) -> Option<Version> {
        self.index.newest(key)
    }

    /// Whether `revision` can be read.
    pub(crate) fn check(&self, revision: Revision) -> Result<(), ReadError> {
        if revision < self.floor {
            return Err(ReadError::Compacted { asked: revision, oldest: self.floor });
        }
        if revision > self.revision {
            return Err(ReadError::Future { asked: revision, newest: self.revision });
        }
        Ok(())
    }

    pub(crate) fn get(&self, key: &[u8], at: Revision) -> Result<Option<Version>, ReadError> {
        self.check(at)?;
        Ok(self.index.get(key, at))
    }

    /// See [`Index::scan`].
    pub(crate) fn scan(&self, range: &KeyRange, at: Revision, visits_max: usize) -> Result<Part, ReadError> {
        self.check(at)?;
        Ok(self.index.scan(range, at, visits_max))
    }

    /// Takes in a commit. `revision` must lie after everything known.
    pub(crate) fn apply(&mut self, revision: Revision, writes: Writes, now: Duration) -> Arc<Commit> {
        debug_assert!(revision > self.revision, "history grows forward");
        let changes = writes
            .into_iter()
            .map(|(key, value)| {
                let previous = self.index.write(&key, revision, value.clone());
                let created = previous.as_ref().map_or(revision, |previous| previous.created);
                let current = value.map(|value| Version { created, modified: revision, value });
                Arc::new(Change { revision, key, previous, current })
            })
            .collect();
        self.revision = revision;
        self.remember(revision, changes, now)
    }

    /// The store has reached `revision` without a change of ours (etcd counts other prefixes too).
    #[cfg(feature = "etcd")]
    pub(crate) fn advance(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
    }

    /// A later state takes the place of this one, and what led to it is not known: the past of both is forgotten, so
    /// that whoever still depends on it is told. Answers with what was replaced.
    #[cfg(feature = "etcd")]
    pub(crate) fn replace(&mut self, later: Self) -> Self {
        debug_assert!(later.floor > self.revision, "history grows forward");
        std::mem::replace(self, later)
    }

    fn remember(&mut self, revision: Revision, changes: Vec<Arc<Change>>, now: Duration) -> Arc<Commit> {
        let weight = changes.iter().map(|change| change.weight()).sum();
        let commit = Arc::new(Commit { revision, changes: changes.into(), learned: now, weight });
        self.weight += weight;
        self.commits.push_back(commit.clone());
        commit
    }

    /// The commit at exactly `revision`, if it is remembered.
    pub(crate) fn commit_at(&self, revision: Revision) -> Option<&Arc<Commit>> {
        let at = self.commits.partition_point(|commit| commit.revision < revision);
        self.commits.get(at).filter(|commit| commit.revision == revision)
    }

    /// At most `limit` commits after `after`, oldest first.
    pub(crate) fn commits_after(&self, after: Revision, limit: usize) -> Result<Vec<Arc<Commit>>, ReadError> {
        if after < self.floor {
            return Err(ReadError::Compacted { asked: after, oldest: self.floor });
        }
        let from = self.commits.partition_point(|commit| commit.revision <= after);
        Ok(self.commits.range(from..).take(limit).cloned().collect())
    }

    /// The revisions after `after` that changed something in `range`, in order; `None` if looking for them would take
    /// long. The cost follows the smaller of the range and the time that passed.
    pub(crate) fn revisions_after(
        &self,
        range: &KeyRange,
        after: Revision,
    ) -> Result<Option<VecDeque<Revision>>, ReadError> {
        self.check(after)?;
        let from = self.commits.partition_point(|commit| commit.revision <= after);
        let passed = self.commits.len() - from;
        if let Some(mut found) = self.index.revisions_after(range, after, VISITS_MAX.min(passed)) {
            found.sort_unstable();
            found.dedup();
            return Ok(Some(found.into()));
        }
        if passed > VISITS_MAX {
            return Ok(None);
        }
        let touched = |commit: &&Arc<Commit>| commit.changes.iter().any(|change| range.contains(change.key.as_bytes()));
        Ok(Some(self.commits.range(from..).filter(touched).map(|commit| commit.revision).collect()))
    }

    /// The revision up to which `bounds` ask to forget.
    pub(crate) fn due(&self, bounds: &HistoryBounds, now: Duration) -> Revision {
        let bytes_max = bounds.bytes_beside(self.index.size().bytes);
        let mut floor = self.floor;
        let mut weight = self.weight;
        for commit in &self.commits {
            if weight <= bytes_max && now.saturating_sub(commit.learned) <= bounds.age_max {
                break;
            }
            floor = commit.revision;
            weight -= commit.weight;
        }
        floor
    }

    /// Forgets up to `floor`, at most about `changes_max` changes at a time, and returns the slots that went.
    /// Afterwards `self.floor()` says how far it got.
    pub(crate) fn forget(&mut self, floor: Revision, changes_max: usize) -> Vec<(Key, Slot)> {
        let mut forgotten = Vec::new();
        let mut visited = 0;
        while let Some(commit) = self.commits.front().filter(|commit| commit.revision <= floor).cloned() {
            if visited >= changes_max {
                return forgotten;
            }
            self.commits.pop_front();
            self.weight -= commit.weight;
            self.floor = commit.revision;
            visited += commit.changes.len();
            for change in commit.changes.iter() {
                let slots = self.index.prune(&change.key, self.floor);
                forgotten.extend(slots.into_iter().map(|slot| (change.key.clone(), slot)));
            }
        }
        self.floor = self.floor.max(floor.min(self.revision));
        forgotten
    }
}

impl Change {
    fn weight(&self) -> usize {
        let superseded = self.previous.as_ref().map_or(0, |previous| previous.value.len());
        CHANGE_BYTES + self.key.as_bytes().len() + superseded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(timeline: &mut Timeline, revision: u64, key: &str, value: &str) {
        timeline.apply(
            Revision(revision),
            vec![(Key::new(key), Some(Bytes::copy_from_slice(value.as_bytes())))],
            at(revision),
        );
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn hundred() -> Timeline {
        let mut timeline = Timeline::default();
        for revision in 1..=100 {
            put(&mut timeline, revision, &format!("k{}", revision % 10), &revision.to_string());
        }
        timeline
    }

    #[test]
    fn history_is_bounded_by_age() {
        let timeline = hundred();
        let bounds = HistoryBounds::exactly(at(30), usize::MAX);
        assert_eq!(timeline.due(&bounds, at(100)), Revision(69));
        assert_eq!(timeline.due(&bounds, at(1000)), Revision(100));
    }

    #[test]
    fn history_weighs_no_more_than_a_part_of_what_is_stored() {
        let (bounds, mib) = (HistoryBounds::default(), 1 << 20);
        let beside = |stored: u64| bounds.bytes_beside(stored << 20) / mib;
        assert_eq!([0, 128, 400, 1024, 1 << 20].map(beside), [8, 16, 50, 128, 256]);
        assert_eq!(HistoryBounds::exactly(Duration::MAX, 7).bytes_beside(0), 7);
        assert_eq!(HistoryBounds::exactly(Duration::MAX, usize::MAX).bytes_beside(1), usize::MAX);
    }

    #[test]
    fn history_is_bounded_by_bytes() {
        let timeline = hundred();
        let bounds = HistoryBounds::exactly(Duration::MAX, timeline.history_bytes() / 2);
        let due = timeline.due(&bounds, at(100));
        assert!((Revision(45)..Revision(55)).contains(&due), "{due}");
    }

    #[test]
    fn forgetting_goes_in_steps_and_keeps_what_is_current() {
        let mut timeline = hundred();
        assert_eq!(timeline.forget(Revision(95), 40).len(), 30, "ten keys were first written in the forty");
        assert_eq!(timeline.floor(), Revision(40));
        timeline.forget(Revision(95), usize::MAX);
        assert_eq!(timeline.floor(), Revision(95));
        assert_eq!(
            timeline.get(b"k1", Revision(91)).unwrap_err(),
            ReadError::Compacted { asked: Revision(91), oldest: Revision(95) }
        );
        assert_eq!(timeline.get(b"k1", Revision(95)).unwrap().unwrap().value, "91");
        assert_eq!(timeline.scan(&KeyRange::all(), Revision(100), 99).unwrap().found.len(), 10);
    }

    #[test]
    fn a_resuming_watcher_finds_the_same_by_key_and_by_time() {
        let timeline = hundred();
        let narrow = timeline.revisions_after(&KeyRange::key("k3"), Revision(50)).unwrap().unwrap();
        assert_eq!(narrow, [53, 63, 73, 83, 93].map(Revision));
        // One commit behind is cheaper by time than ten keys are by key.
        let wide = timeline.revisions_after(&KeyRange::all(), Revision(99)).unwrap().unwrap();
        assert_eq!(wide, [Revision(100)]);
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn a_replaced_timeline_shows_the_later_state_and_denies_any_past() {
        let mut timeline = hundred();
        let slot = Slot { modified: Revision(150), created: Revision(7), value: Some("later".into()) };
        let old = timeline.replace(Timeline::begin(vec![(Key::new("k1"), slot)], Revision(200)));
        assert_eq!((old.revision(), old.size().keys), (Revision(100), 10));

        assert_eq!((timeline.floor(), timeline.revision()), (Revision(200), Revision(200)));
        assert_eq!(timeline.get(b"k1", Revision(200)).unwrap().unwrap().value, "later");
        assert_eq!(timeline.get(b"k2", Revision(200)).unwrap(), None, "it went while nobody looked");
        let compacted = ReadError::Compacted { asked: Revision(100), oldest: Revision(200) };
        assert_eq!(timeline.commits_after(Revision(100), 1).unwrap_err(), compacted);
        assert_eq!(timeline.revisions_after(&KeyRange::all(), Revision(100)).unwrap_err(), compacted);

        put(&mut timeline, 201, "k1", "next");
        assert_eq!(timeline.get(b"k1", Revision(201)).unwrap().unwrap().created, Revision(7));
        assert_eq!(timeline.revisions_after(&KeyRange::all(), Revision(200)).unwrap(), Some([Revision(201)].into()));
    }

    #[test]
    fn what_would_take_long_to_find_is_not_looked_for_at_once() {
        let mut timeline = Timeline::default();
        let last = VISITS_MAX as u64 * 11 / 10;
        for revision in 1..=last {
            put(&mut timeline, revision, if revision % 100 == 0 { "rare" } else { "hot" }, "");
        }
        let found = |range: &str, after| timeline.revisions_after(&KeyRange::key(range), Revision(after)).unwrap();
        assert!(found("hot", 0).is_none(), "one key of many versions");
        assert_eq!(found("rare", 0).map(|found| found.len()), Some(last as usize / 100));
        assert_eq!(found("hot", last - 5).map(|found| found.len()), Some(5));
    }

    #[test]
    fn a_stored_timeline_is_restored_with_its_past() {
        let timeline = hundred();
        let slots: Vec<_> = timeline.index.slots().map(|(key, slot)| (key.clone(), slot.clone())).collect();
        let (restored, dead) = Timeline::restore(slots, Revision(20), Revision(100), at(0));
        assert_eq!(dead.len(), 10, "of each key the version before the one that revision 20 sees");
        assert_eq!(restored.get(b"k3", Revision(50)), timeline.get(b"k3", Revision(50)));
        let expected = timeline.commits_after(Revision(20), usize::MAX).unwrap();
        let found = restored.commits_after(Revision(20), usize::MAX).unwrap();
        let changes = |commits: Vec<Arc<Commit>>| commits.iter().flat_map(|c| c.changes.to_vec()).collect::<Vec<_>>();
        assert_eq!(changes(found), changes(expected));
    }
}
