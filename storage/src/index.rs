//! Every key with the versions of it that can still be read.
//!
//! A worked example: put a@1, put a@3, delete a@5, put a@9. The chain of `a` is
//!
//! ```text
//!   older [1, 3, 5x]   newest 9          (x: a tombstone)
//!   read at 0 -> nothing   at 1, 2 -> 1   at 3, 4 -> 3   at 5..8 -> nothing   at 9.. -> 9
//!   prune(4): nothing at or after 4 needs 1    older [3, 5x]   newest 9
//!   prune(5): a tombstone is as good as absence older []        newest 9
//! ```
//!
//! The index does not know when something was written or who watches it.

use crate::key::{Key, KeyRange};
use crate::txn::Revision;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;

/// A live value and where it stands in history. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// The commit that made the key exist.
    pub created: Revision,
    /// The commit that wrote this value.
    pub modified: Revision,
    pub value: Bytes,
}

/// What a commit left at a key: a value, or its absence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) modified: Revision,
    pub(crate) created: Revision,
    pub(crate) value: Option<Bytes>,
}

impl Slot {
    pub(crate) fn live(&self) -> Option<Version> {
        let value = self.value.clone()?;
        Some(Version { created: self.created, modified: self.modified, value })
    }
}

#[derive(Debug)]
struct Chain {
    newest: Slot,
    /// All before `newest`.
    older: Older,
}

impl Chain {
    fn new(newest: Slot) -> Self {
        Self { newest, older: Older::default() }
    }

    fn at(&self, revision: Revision) -> Option<&Slot> {
        if self.newest.modified <= revision {
            return Some(&self.newest);
        }
        self.older.visible(revision).checked_sub(1).and_then(|last| self.older.get(last))
    }

    fn push(&mut self, slot: Slot) {
        debug_assert!(slot.modified > self.newest.modified, "a chain grows forward");
        self.older.push(std::mem::replace(&mut self.newest, slot));
    }
}

/// Slots in order of revision. A key that has not changed lately has none: the common case, so that none is a pointer that
/// points nowhere.
#[derive(Debug, Default)]
#[expect(
    clippy::box_collection,
    reason = "an empty deque is four times as large as a pointer, and nearly all are empty"
)]
struct Older(Option<Box<VecDeque<Slot>>>);

impl Older {
    fn push(&mut self, slot: Slot) {
        // Most of those that have any have one.
        self.0.get_or_insert_with(|| Box::new(VecDeque::with_capacity(1))).push_back(slot);
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = &Slot> {
        self.0.iter().flat_map(|slots| slots.iter())
    }

    fn get(&self, at: usize) -> Option<&Slot> {
        self.0.as_ref()?.get(at)
    }

    fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How many of them are at or before `revision`.
    fn visible(&self, revision: Revision) -> usize {
        self.0.as_ref().map_or(0, |slots| slots.partition_point(|slot| slot.modified <= revision))
    }

    /// Takes away the first `count`.
    fn drain(&mut self, count: usize) -> Vec<Slot> {
        let Some(slots) = &mut self.0 else { return Vec::new() };
        let drained = slots.drain(..count).collect();
        if slots.is_empty() {
            self.0 = None;
        }
        drained
    }
}

/// What an index knows of its own size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Keys that exist now.
    pub keys: u64,
    /// The bytes of those keys and their values.
    pub bytes: u64,
}

/// Says whose share of a store a key counts for; `None`: nobody's.
pub type ShareOf = for<'a> fn(&'a [u8]) -> Option<&'a [u8]>;

/// What everybody has of an index.
#[derive(Debug)]
struct Shares {
    of: ShareOf,
    /// Whoever has nothing is not in it.
    sizes: HashMap<Box<[u8]>, Size>,
}

impl Shares {
    fn change(&mut self, key: &Key, old: Option<&Bytes>, new: Option<&Bytes>) {
        let Some(owner) = (self.of)(key.as_bytes()) else { return };
        if !self.sizes.contains_key(owner) {
            self.sizes.insert(owner.into(), Size::default());
        }
        let Some(size) = self.sizes.get_mut(owner) else { return };
        size.add(key, new);
        size.subtract(key, old);
        if size.keys == 0 {
            self.sizes.remove(owner);
        }
    }
}

/// A part of a range, as it was at some revision.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) found: Vec<(Key, Version)>,
    /// Where to go on; `None` at the end of the range.
    pub(crate) rest: Option<KeyRange>,
}

#[derive(Debug, Default)]
pub(crate) struct Index {
    chains: BTreeMap<Key, Chain>,
    size: Size,
    shares: Option<Shares>,
}

impl Index {
    /// Builds the index of what a backend has stored. `slots` may come in any order.
    pub(crate) fn build(mut slots: Vec<(Key, Slot)>) -> Self {
        sort(&mut slots);
        let mut size = Size::default();
        let mut chains: Vec<(Key, Chain)> = Vec::with_capacity(slots.len());
        for (key, slot) in slots {
            match chains.last_mut() {
                Some((last, chain)) if *last == key => chain.push(slot),
                _ => chains.push((key, Chain::new(slot))),
            }
        }
        for (key, chain) in &chains {
            size.add(key, chain.newest.value.as_ref());
        }
        Self { chains: chains.into_iter().collect(), size, shares: None }
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// From now on it is counted who has how much.
    pub(crate) fn share(&mut self, of: ShareOf) {
        let mut shares = Shares { of, sizes: HashMap::new() };
        for (key, chain) in &self.chains {
            shares.change(key, None, chain.newest.value.as_ref());
        }
        self.shares = Some(shares);
    }

    /// What somebody has; nothing, if it is not counted.
    pub(crate) fn share_of(&self, owner: &[u8]) -> Size {
        self.shares.as_ref().and_then(|shares| shares.sizes.get(owner)).copied().unwrap_or_default()
    }

    pub(crate) fn newest(&self, key: &[u8]) -> Option<Version> {
        self.chains.get(key)?.newest.live()
    }

    pub(crate) fn get(&self, key: &[u8], at: Revision) -> Option<Version> {
        self.chains.get(key)?.at(at)?.live()
    }

    /// What lived at `at` among the first `visits_max` keys of `range`. Keys that did not live then are visited too.
    pub(crate) fn scan(&self, range: &KeyRange, at: Revision, visits_max: usize) -> Part {
        let mut found = Vec::new();
        for (visits, (key, chain)) in (1..).zip(self.chains_in(range)) {
            let live = chain.at(at).and_then(Slot::live);
            found.extend(live.map(|version| (key.clone(), version)));
            if visits == visits_max {
                return Part { found, rest: Some(range.after(key)) };
            }
        }
        Part { found, rest: None }
    }

    /// The revisions after `after` that changed something in `range`, in no order and with repetitions;
    /// `None` if looking for them would visit more than `visits_max` keys or versions.
    pub(crate) fn revisions_after(
        &self,
        range: &KeyRange,
        after: Revision,
        visits_max: usize,
    ) -> Option<Vec<Revision>> {
        let mut found = Vec::new();
        for (keys, (_, chain)) in self.chains_in(range).enumerate() {
            if keys == visits_max {
                return None;
            }
            let slots = std::iter::once(&chain.newest).chain(chain.older.iter().rev());
            let revisions = slots.map(|slot| slot.modified).take_while(|modified| *modified > after);
            found.extend(revisions.take(visits_max + 1 - found.len()));
            if found.len() > visits_max {
                return None;
            }
        }
        Some(found)
    }

    /// Every stored slot, older ones included.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (&Key, &Slot)> {
        self.chains.iter().flat_map(|(key, chain)| {
            chain.older.iter().chain(std::iter::once(&chain.newest)).map(move |slot| (key, slot))
        })
    }

    /// Records a commit's effect on one key and returns what was there before.
    pub(crate) fn write(&mut self, key: &Key, revision: Revision, value: Option<Bytes>) -> Option<Version> {
        self.size.add(key, value.as_ref());
        if let Some(shares) = &mut self.shares {
            let old = self.chains.get(key).and_then(|chain| chain.newest.value.as_ref());
            shares.change(key, old, value.as_ref());
        }
        let Some(chain) = self.chains.get_mut(key) else {
            self.chains.insert(key.clone(), Chain::new(Slot { modified: revision, created: revision, value }));
            return None;
        };
        let previous = chain.newest.live();
        self.size.subtract(key, chain.newest.value.as_ref());
        let created = previous.as_ref().map_or(revision, |previous| previous.created);
        chain.push(Slot { modified: revision, created, value });
        previous
    }

    /// Forgets the versions of `key` that nobody at or after `floor` can see, and returns them.
    pub(crate) fn prune(&mut self, key: &Key, floor: Revision) -> Vec<Slot> {
        let Some(chain) = self.chains.get_mut(key) else { return Vec::new() };
        let visible = chain.older.visible(floor);
        // Of those at or before the floor only the last can be seen from it; if the newest is there too, not even that.
        let mut keep_from = if chain.newest.modified <= floor { visible } else { visible.saturating_sub(1) };
        if chain.older.get(keep_from).is_some_and(|slot| slot.modified <= floor && slot.value.is_none()) {
            keep_from += 1;
        }
        let mut forgotten = chain.older.drain(keep_from);
        if chain.older.is_empty() && chain.newest.modified <= floor && chain.newest.value.is_none() {
            forgotten.extend(self.chains.remove(key).map(|chain| chain.newest));
        }
        forgotten
    }

    /// Prunes every key: for what was stored before it could be pruned.
    pub(crate) fn prune_all(&mut self, floor: Revision) -> Vec<(Key, Slot)> {
        let changed = |chain: &Chain| !chain.older.is_empty() || chain.newest.value.is_none();
        let keys: Vec<Key> =
            self.chains.iter().filter(|(_, chain)| changed(chain)).map(|(key, _)| key.clone()).collect();
        let pruned = keys.into_iter().flat_map(|key| {
            let slots = self.prune(&key, floor);
            slots.into_iter().map(move |slot| (key.clone(), slot))
        });
        pruned.collect()
    }

    fn chains_in(&self, range: &KeyRange) -> impl Iterator<Item = (&Key, &Chain)> {
        let start = Bound::Included(range.start().as_bytes());
        let end = range.end().map_or(Bound::Unbounded, |end| Bound::Excluded(end.as_bytes()));
        // `BTreeMap::range` panics on an empty half-open range; for us it is a range with nothing in it.
        let chains = (!range.is_empty()).then(|| self.chains.range::<[u8], _>((start, end)));
        chains.into_iter().flatten()
    }
}

/// Sorts by key and revision: each core a part of it, then the parts, which a merging sort recognises.
fn sort(slots: &mut [(Key, Slot)]) {
    let order = |(a, left): &(Key, Slot), (b, right): &(Key, Slot)| a.cmp(b).then(left.modified.cmp(&right.modified));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let part = slots.len().div_ceil(cores).max(1);
    std::thread::scope(|scope| {
        for part in slots.chunks_mut(part) {
            scope.spawn(move || part.sort_unstable_by(order));
        }
    });
    slots.sort_by(order);
}

impl Size {
    fn add(&mut self, key: &Key, value: Option<&Bytes>) {
        let Some(value) = value else { return };
        self.keys += 1;
        self.bytes += (key.as_bytes().len() + value.len()) as u64;
    }

    fn subtract(&mut self, key: &Key, value: Option<&Bytes>) {
        let Some(value) = value else { return };
        self.keys -= 1;
        self.bytes -= (key.as_bytes().len() + value.len()) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Index {
        let mut index = Index::default();
        let a = Key::new("a");
        index.write(&a, Revision(1), Some("1".into()));
        index.write(&a, Revision(3), Some("3".into()));
        index.write(&a, Revision(5), None);
        index.write(&a, Revision(9), Some("9".into()));
        index
    }

    /// Reads `a` at revisions 0 to 10: a digit for a value, `.` for none.
    fn history(index: &Index) -> String {
        let read =
            |at| index.get(b"a", Revision(at)).map_or(".".to_owned(), |v| String::from_utf8_lossy(&v.value).into());
        (0..=10).map(read).collect()
    }

    fn forgotten(index: &mut Index, floor: u64) -> Vec<u64> {
        index.prune(&Key::new("a"), Revision(floor)).iter().map(|slot| slot.modified.0).collect()
    }

    #[test]
    fn everybody_has_what_is_live_of_theirs() {
        let mut index = example();
        let owner: ShareOf = |key| key.split(|byte| *byte == b'/').nth(1);
        index.write(&Key::new("k/ada/1"), Revision(10), Some("12345".into()));
        index.share(owner);
        let check = |index: &Index, keys, bytes| assert_eq!(index.share_of(b"ada"), Size { keys, bytes });
        check(&index, 1, 12);
        index.write(&Key::new("k/ada/2"), Revision(11), Some("1".into()));
        index.write(&Key::new("k/bob/1"), Revision(11), Some("1".into()));
        check(&index, 2, 20);
        index.write(&Key::new("k/ada/1"), Revision(12), Some("1".into()));
        check(&index, 2, 16);
        index.write(&Key::new("k/ada/1"), Revision(13), None);
        index.write(&Key::new("k/ada/2"), Revision(13), None);
        index.write(&Key::new("k/ada/2"), Revision(14), None);
        check(&index, 0, 0);
        assert_eq!(index.shares.as_ref().unwrap().sizes.len(), 1, "who has nothing is forgotten");
    }

    #[test]
    fn every_revision_reads_as_it_was() {
        assert_eq!(history(&example()), ".1133....99");
    }

    #[test]
    fn pruning_forgets_what_cannot_be_seen_from_the_floor_and_changes_nothing_after_it() {
        let mut index = example();
        assert_eq!(forgotten(&mut index, 2), [0; 0]);
        assert_eq!(forgotten(&mut index, 4), [1]);
        assert_eq!(&history(&index)[4..], "3....99");
        assert_eq!(forgotten(&mut index, 5), [3, 5]);
        assert_eq!(&history(&index)[5..], "....99");
        assert_eq!(forgotten(&mut index, 9), [0; 0]);
        assert_eq!(&history(&index)[9..], "99");
    }

    #[test]
    fn a_deleted_key_is_gone_once_its_tombstone_is_old() {
        let mut index = example();
        index.write(&Key::new("a"), Revision(10), None);
        assert_eq!(forgotten(&mut index, 10), [1, 3, 5, 9, 10]);
        assert!(index.chains.is_empty());
        assert_eq!(index.size(), Size::default());
    }

    #[test]
    fn recreation_starts_a_new_life() {
        let index = example();
        let version = index.newest(b"a").unwrap();
        assert_eq!((version.created, version.modified), (Revision(9), Revision(9)));
        assert_eq!(index.get(b"a", Revision(4)).unwrap().created, Revision(1));
    }

    #[test]
    fn building_from_records_in_any_order_gives_the_same_index() {
        let mut slots: Vec<_> = example().slots().map(|(key, slot)| (key.clone(), slot.clone())).collect();
        slots.reverse();
        let built = Index::build(slots);
        assert_eq!(history(&built), history(&example()));
        assert_eq!(built.size(), example().size());
    }

    #[test]
    fn a_scan_takes_breath_also_where_nothing_lives() {
        let mut index = Index::default();
        for nth in 0..10 {
            index.write(&Key::new(format!("{nth}")), Revision(nth + 1), Some("v".into()));
        }
        let step = |range: &KeyRange, at| {
            let Part { found, rest } = index.scan(range, Revision(at), 4);
            (found.iter().map(|(key, _)| key.to_string()).collect::<String>(), rest)
        };
        let (found, rest) = step(&KeyRange::all(), 6);
        assert_eq!(found, "0123");
        let (found, rest) = step(&rest.unwrap(), 6);
        assert_eq!(found, "45", "6 and 7 were visited and did not live yet");
        assert_eq!(step(&rest.unwrap(), 6), (String::new(), None));
    }

    #[test]
    fn changes_are_found_by_key_unless_the_range_is_wide() {
        let mut index = example();
        index.write(&Key::new("b"), Revision(11), Some("b".into()));
        let mut found = index.revisions_after(&KeyRange::prefix("a"), Revision(3), 10).unwrap();
        found.sort_unstable();
        assert_eq!(found, [Revision(5), Revision(9)]);
        assert_eq!(index.revisions_after(&KeyRange::all(), Revision(3), 1), None);
    }
}
