//! Cells that passed every filter, and the order in which they are taken.

use super::cell::Cell;
use super::rule::Ties;
use crate::apis::fnv;
use std::cmp::Reverse;

#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) cell: &'a Cell,
    /// 0 for those that are meant in the first place, more for those that only take what overflows.
    pub(super) tier: usize,
    /// The object is there already.
    pub(super) placed: bool,
    /// So many replicas are there already.
    pub(super) before: i64,
    /// So many more find room.
    pub(super) room: i64,
    /// So many it was seen to hold at most, if more were tried.
    pub(super) bound: Option<i64>,
    tie: u64,
}

/// What a cell that has the object already is worth beside one that has not.
const PLACED: i64 = 100;

impl<'a> Candidate<'a> {
    pub(super) fn new(cell: &'a Cell, tier: usize, ties: Ties, uid: &str) -> Self {
        let tie = match ties {
            Ties::ByName => 0,
            Ties::Scattered => fnv::hash_64(format!("{uid}/{}", cell.name).as_bytes()),
        };
        Self { cell, tier, placed: false, before: 0, room: 0, bound: None, tie }
    }

    pub(super) fn name(&self) -> &'a str {
        &self.cell.name
    }

    pub(super) fn score(&self) -> i64 {
        if self.placed { PLACED } else { 0 }
    }

    /// Replicas the cell could hold altogether.
    pub(super) fn available(&self) -> i64 {
        self.room.saturating_add(self.before)
    }

    fn rank(&self) -> (usize, Reverse<i64>, Reverse<i64>, u64, &'a str) {
        (self.tier, Reverse(self.score()), Reverse(self.available()), self.tie, self.name())
    }
}

/// The best first. Cells that have the object come before all others: what need not move does not.
pub(super) fn sort(candidates: &mut [Candidate<'_>]) {
    candidates.sort_by(|a, b| a.rank().cmp(&b.rank()));
}

/// The sum, which does not overflow when cells have room without bound.
pub(super) fn available(candidates: &[Candidate<'_>]) -> i64 {
    candidates.iter().fold(0, |sum, candidate| sum.saturating_add(candidate.available()))
}
