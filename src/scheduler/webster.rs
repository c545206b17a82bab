//! Webster's method (Sainte-Laguë): seats go one by one to whoever has most votes per odd number of seats.
//!
//! 13 seats at votes 3:2:1 are 7, 4 and 2. A tie goes to the party with fewer seats, then by name; downwards for half
//! of all objects, so that not always the same cell gets the odd replica.

use crate::apis::fnv;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;

struct Party<'a> {
    name: &'a str,
    votes: i64,
    seats: i64,
    downwards: bool,
}

impl Party<'_> {
    /// `votes / (2 * seats + 1)`, compared without dividing.
    fn against(&self, other: &Self) -> Ordering {
        let quotient = |party: &Self, by: &Self| i128::from(party.votes) * i128::from(2 * by.seats + 1);
        quotient(self, other).cmp(&quotient(other, self))
    }
}

impl Ord for Party<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_name = if self.downwards { self.name.cmp(other.name) } else { other.name.cmp(self.name) };
        self.against(other).then(other.seats.cmp(&self.seats)).then(by_name)
    }
}

impl PartialOrd for Party<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Party<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Party<'_> {}

/// `key` decides ties between names: the UID of the object, or nothing.
pub fn divide(seats: i64, votes: &BTreeMap<String, i64>, key: &str) -> BTreeMap<String, i64> {
    let downwards = !key.is_empty() && fnv::hash_32(key.as_bytes()) % 2 == 1;
    let sum: i128 = votes.values().map(|votes| i128::from(*votes)).sum();
    let party = |(name, votes): (&'_ String, &i64)| (name.clone(), *votes, certain(seats, *votes, sum));
    let parties: Vec<_> = votes.iter().map(party).collect();
    let given: i64 = parties.iter().map(|(_, _, seats)| seats).sum();
    let mut heap: BinaryHeap<Party<'_>> =
        parties.iter().map(|(name, votes, seats)| Party { name, votes: *votes, seats: *seats, downwards }).collect();
    for _ in given..seats {
        let Some(mut first) = heap.pop() else { break };
        first.seats += 1;
        heap.push(first);
    }
    heap.into_iter().map(|party| (party.name.to_owned(), party.seats)).collect()
}

/// Seats a party gets whatever the order, so that a million replicas are not given out one by one.
///
/// When `n` seats are given out, every party's `v/(2s-1)` of its last seat is at least the lowest quotient at which all
/// seats would be taken. Half the proportional share is far below that: the remainder is still given one by one.
fn certain(seats: i64, votes: i64, sum: i128) -> i64 {
    if sum <= 0 || seats < LARGE {
        return 0;
    }
    let share = i128::from(seats) * i128::from(votes) / sum;
    i64::try_from(share / 2).unwrap_or(0)
}

/// Below this, giving out one by one costs nothing worth saving.
const LARGE: i64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn votes(votes: &[i64]) -> BTreeMap<String, i64> {
        votes.iter().enumerate().map(|(at, votes)| (format!("m{}", at + 1), *votes)).collect()
    }

    #[track_caller]
    fn check(seats: i64, shares: &[i64], key: &str, expect: &[i64]) {
        let divided: Vec<i64> = divide(seats, &votes(shares), key).into_values().collect();
        assert_eq!(divided, expect, "{seats} at {shares:?}");
    }

    #[test]
    fn seats_are_divided_as_the_method_says() {
        check(13, &[3, 2, 1], "", &[7, 4, 2]);
        check(14, &[3, 2, 1], "", &[7, 5, 2]);
        check(9, &[1, 2], "", &[3, 6]);
        check(9, &[1, 3], "", &[2, 7]);
        check(2, &[2, 1], "", &[1, 1]);
        check(5, &[170, 110, 60], "", &[2, 2, 1]);
        check(12, &[20, 12, 6], "", &[6, 4, 2]);
        check(12, &[6, 12, 6], "", &[3, 6, 3]);
        check(0, &[1, 1], "", &[0, 0]);
        check(3, &[], "", &[]);
    }

    #[test]
    fn the_object_decides_who_gets_the_odd_one() {
        check(5, &[1, 1], "", &[3, 2]);
        let odd = (0..).map(|n| format!("uid-{n}")).find(|uid| fnv::hash_32(uid.as_bytes()) % 2 == 1).unwrap();
        check(5, &[1, 1], &odd, &[2, 3]);
    }

    /// The method in its plainest form.
    fn one_by_one(seats: i64, votes: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
        let mut given: BTreeMap<String, i64> = votes.keys().map(|name| (name.clone(), 0)).collect();
        for _ in 0..seats {
            let party = |name| Party { name, votes: votes[name], seats: given[name], downwards: false };
            let first = votes.keys().map(|name| party(name.as_str())).max().unwrap().name.to_owned();
            *given.get_mut(&first).unwrap() += 1;
        }
        given
    }

    proptest! {
        #[test]
        fn every_seat_is_given_once(seats in 0i64..20_000, shares in prop::collection::vec(1i64..1000, 1..8)) {
            prop_assert_eq!(divide(seats, &votes(&shares), "").values().sum::<i64>(), seats);
        }

        #[test]
        fn the_short_cut_changes_nothing(seats in LARGE..LARGE + 50, shares in prop::collection::vec(0i64..100, 1..5)) {
            prop_assume!(shares.iter().sum::<i64>() > 0);
            let votes = votes(&shares);
            prop_assert_eq!(divide(seats, &votes, ""), one_by_one(seats, &votes));
        }
    }
}
