//! Where each stored pair is, and how much of each segment is still needed.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::ops::RangeInclusive;

/// A key for short: the number its bytes begin with, and a hash of all of them. What it is hashed with nobody outside
/// this process knows, so nobody can make two keys that begin alike and hash alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Id {
    pub(super) prefix: u64,
    hash: u64,
}

impl Id {
    pub(super) fn of(key: &[u8], hasher: &RandomState) -> Self {
        Self { prefix: prefix(key), hash: hasher.hash_one(key) }
    }
}

/// The first eight bytes of a key as a number: for ours, the revision.
pub(super) fn prefix(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    let length = key.len().min(bytes.len());
    bytes[..length].copy_from_slice(&key[..length]);
    u64::from_be_bytes(bytes)
}

/// A stored put.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// The first frame of its segment.
    pub(super) segment: u64,
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// What an entry of the log does to the places.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Put(Id, Place),
    Removal(Id),
}

#[derive(Debug)]
pub(super) struct Segment {
    pub(super) first: u64,
    /// Its length.
    pub(super) bytes: u64,
    /// Of these, in puts that are still needed.
    pub(super) kept: u64,
}

#[derive(Debug, Default)]
pub(super) struct Places {
    places: BTreeMap<Id, Place>,
    /// The oldest first. The last is being written.
    segments: VecDeque<Segment>,
    bytes: u64,
    kept: u64,
}

impl Places {
    /// Begins the segment whose first frame has the number `first`.
    pub(super) fn begin(&mut self, first: u64) {
        self.segments.push_back(Segment { first, bytes: 0, kept: 0 });
    }

    /// The segment that is being written is so much longer.
    pub(super) fn grow(&mut self, bytes: u64) {
        self.bytes += bytes;
        if let Some(last) = self.segments.back_mut() {
            last.bytes += bytes;
        }
    }

    pub(super) fn apply(&mut self, step: Step) {
        let gone = match step {
            Step::Put(id, place) => {
                self.count(place, true);
                self.places.insert(id, place)
            }
            Step::Removal(id) => self.places.remove(&id),
        };
        if let Some(gone) = gone {
            self.count(gone, false);
        }
    }

    fn count(&mut self, place: Place, comes: bool) {
        let length = u64::from(place.length);
        let at = self.segments.partition_point(|segment| segment.first <= place.segment);
        let Some(segment) = at.checked_sub(1).and_then(|at| self.segments.get_mut(at)) else { return };
        for sum in [&mut self.kept, &mut segment.kept] {
            *sum = if comes { *sum + length } else { sum.saturating_sub(length) };
        }
    }

    pub(super) fn holds(&self, id: Id, place: Place) -> bool {
        self.places.get(&id) == Some(&place)
    }

    /// The places of keys that begin with a number in `prefixes`, in order of that number.
    pub(super) fn within(&self, prefixes: RangeInclusive<u64>) -> impl Iterator<Item = Place> {
        let from = Id { prefix: *prefixes.start(), hash: 0 };
        let to = Id { prefix: *prefixes.end(), hash: u64::MAX };
        let places = (from <= to).then(|| self.places.range(from..=to));
        places.into_iter().flatten().map(|(_, place)| *place)
    }

    pub(super) fn newest(&self) -> Option<&Segment> {
        self.segments.back()
    }

    /// The oldest segment, unless it is being written.
    pub(super) fn oldest_finished(&self) -> Option<&Segment> {
        self.segments.front().filter(|_| self.segments.len() > 1)
    }

    /// The first frame of the oldest segment once `gone` of them are gone.
    pub(super) fn oldest_without(&self, gone: usize) -> u64 {
        self.segments.get(gone).map_or(0, |segment| segment.first)
    }

    /// How many of the oldest segments nobody needs any more.
    pub(super) fn unneeded(&self) -> usize {
        let finished = self.segments.len().saturating_sub(1);
        self.segments.iter().take(finished).take_while(|segment| segment.kept == 0).count()
    }

    pub(super) fn drop_oldest(&mut self) -> Option<Segment> {
        let gone = self.segments.pop_front()?;
        self.bytes -= gone.bytes;
        self.kept = self.kept.saturating_sub(gone.kept);
        Some(gone)
    }

    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    pub(super) fn garbage(&self) -> u64 {
        self.bytes.saturating_sub(self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_counted_where_it_is() {
        let hasher = RandomState::new();
        let (a, b) = (Id::of(b"00000001a", &hasher), Id::of(b"00000002b", &hasher));
        let at = |segment, offset| Place { segment, offset, length: 10 };
        let mut places = Places::default();
        places.begin(1);
        places.grow(30);
        places.apply(Step::Put(a, at(1, 0)));
        places.apply(Step::Put(b, at(1, 10)));
        places.begin(4);
        places.grow(12);
        assert_eq!((places.kept(), places.garbage(), places.unneeded()), (20, 22, 0));

        places.apply(Step::Put(a, at(4, 0)));
        assert_eq!((places.kept(), places.unneeded()), (20, 0), "moved, not twice there");
        assert!(places.holds(a, at(4, 0)) && !places.holds(a, at(1, 0)));
        places.apply(Step::Removal(b));
        places.apply(Step::Removal(b));
        assert_eq!((places.kept(), places.unneeded(), places.oldest_without(1)), (10, 1, 4));
        assert_eq!(places.drop_oldest().map(|segment| segment.first), Some(1));
        assert_eq!((places.kept(), places.garbage()), (10, 2));
        assert_eq!(places.unneeded(), 0, "the last is being written");
    }

    #[test]
    fn keys_are_found_in_the_order_of_what_they_begin_with() {
        let hasher = RandomState::new();
        let mut places = Places::default();
        places.begin(1);
        for nth in [3u64, 1, 2, 9] {
            let id = Id::of(&[&nth.to_be_bytes()[..], b"key"].concat(), &hasher);
            places.apply(Step::Put(id, Place { segment: 1, offset: nth as u32, length: 1 }));
        }
        let found: Vec<_> = places.within(2..=9).map(|place| place.offset).collect();
        assert_eq!(found, [2, 3, 9]);
        assert_eq!(prefix(b"ab"), u64::from_be_bytes(*b"ab\0\0\0\0\0\0"));
    }
}
