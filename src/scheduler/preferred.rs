//! Replicas by what is wanted of each cell: at least so many, at most so many, the rest by weight.
//!
//! This is how KubeFed's ReplicaSchedulingPreference divides, and its results are the same.

use super::candidate::Candidate;
use super::load::Load;
use super::load::Mode;
use super::load::Shares;
use super::rule::Preference;
use super::rule::Preferences;
use crate::apis::fnv;
use std::cmp::Reverse;

struct Share<'a> {
    name: &'a str,
    preference: Preference,
    running: i64,
    /// What the cell was seen to hold at most; `None` if nobody knows of a bound.
    bound: Option<i64>,
    planned: i64,
    /// How many of those planned run there already, and have not been set off against what is given out.
    standing: i64,
    overflow: i64,
    full: bool,
}

/// Replicas for which no cell has a place are not placed.
pub(super) fn divide(candidates: &[Candidate<'_>], preferences: &Preferences, load: Load<'_>) -> Shares {
    let mut result: Shares = candidates.iter().map(|candidate| (candidate.name().to_owned(), 0)).collect();
    let mut shares = wanted(candidates, preferences, load.key);
    let steady = !preferences.rebalance && load.mode == Mode::Steady;
    let unplaced = give_out(&mut shares, load.replicas, steady);
    for share in &shares {
        // What a cell has no room for may still find some; unless all is placed elsewhere, it is asked for.
        let overflow = if steady { share.overflow.min(unplaced) } else { share.overflow };
        result.insert(share.name.to_owned(), share.planned + overflow);
    }
    result
}

fn wanted<'a>(candidates: &[Candidate<'a>], preferences: &Preferences, key: &str) -> Vec<Share<'a>> {
    let any = Preference { weight: 1, ..Preference::default() };
    let preference = |name: &str| match (preferences.cells.get(name), preferences.cells.get("*")) {
        (Some(preference), _) | (None, Some(preference)) => Some(*preference),
        (None, None) => preferences.cells.is_empty().then_some(any),
    };
    let share = |candidate: &Candidate<'a>| {
        let preference = preference(candidate.name())?;
        let (name, running, bound) = (candidate.name(), candidate.before, candidate.bound);
        Some(Share { name, preference, running, bound, planned: 0, standing: 0, overflow: 0, full: false })
    };
    let mut shares: Vec<_> = candidates.iter().filter_map(share).collect();
    let hash = |name: &str| fnv::hash_32_first(format!("{name}{key}").as_bytes());
    shares.sort_by_key(|share| (Reverse(share.preference.weight), hash(share.name)));
    shares
}

/// How many were left over.
fn give_out(shares: &mut [Share<'_>], replicas: i64, steady: bool) -> i64 {
    let mut remaining = replicas;
    for share in shares.iter_mut() {
        share.planned = share.preference.least.min(remaining).min(share.bound.unwrap_or(i64::MAX));
        remaining -= share.planned;
    }
    if steady {
        for share in shares.iter_mut() {
            let most = share.preference.most.unwrap_or(i64::MAX).min(share.bound.unwrap_or(i64::MAX));
            share.standing = (share.running.min(most) - share.planned).min(remaining).max(0);
            share.planned += share.standing;
            remaining -= share.standing;
        }
    }
    while remaining > 0 && round(shares, &mut remaining) {}
    remaining
}

/// Gives out once by weight; whether anything changed.
///
/// Each round sets off standing replicas by at least half, fills a cell, or gives out all that is left.
fn round(shares: &mut [Share<'_>], remaining: &mut i64) -> bool {
    let weights: i64 = shares.iter().filter(|share| !share.full).map(|share| share.preference.weight).sum();
    let at_start = *remaining;
    let mut changed = false;
    for share in shares.iter_mut().filter(|share| !share.full && share.preference.weight > 0) {
        let fair = (at_start * share.preference.weight + weights - 1) / weights;
        let extra = fair.min(*remaining);
        let set_off = extra.min(share.standing);
        share.standing -= set_off;
        let before = share.planned;
        fill(share, before + extra - set_off);
        *remaining -= share.planned - before;
        changed |= set_off > 0 || share.planned > before;
    }
    changed
}

/// As many as the cell may have and can hold.
fn fill(share: &mut Share<'_>, mut total: i64) {
    if let Some(most) = share.preference.most.filter(|most| total > *most) {
        total = most;
        share.full = true;
    }
    if let Some(bound) = share.bound.filter(|bound| total > *bound) {
        share.overflow = total - bound;
        total = bound;
        share.full = true;
    }
    share.planned = total;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::cell::Cell;
    use crate::scheduler::rule::Ties;

    const ANY: &[(&str, i64, i64, i64)] = &[("*", 0, NO, 1)];
    /// No upper bound.
    const NO: i64 = -1;

    /// Preferences as `name, least, most, weight`; cells as `A=running/bound`, both optional.
    #[track_caller]
    fn check(preferences: &[(&str, i64, i64, i64)], rebalance: bool, replicas: i64, cells: &str, expect: &str) {
        let preference = |(name, least, most, weight): &(&str, i64, i64, i64)| {
            let most = Some(*most).filter(|most| *most != NO);
            ((*name).to_owned(), Preference { least: *least, most, weight: *weight })
        };
        let preferences = Preferences { cells: preferences.iter().map(preference).collect(), rebalance };
        let named: Vec<Cell> =
            cells.split_whitespace().map(|cell| Cell { name: cell[..1].to_owned(), ..Cell::default() }).collect();
        let candidate = |(text, cell)| {
            let mut candidate = Candidate::new(cell, 0, Ties::ByName, "");
            let numbers: &str = str::trim_start_matches(text, char::is_alphabetic);
            let (running, bound) = numbers.split_once('/').unwrap_or((numbers, ""));
            candidate.before = running.trim_start_matches('=').parse().unwrap_or(0);
            candidate.bound = bound.parse().ok();
            candidate
        };
        let candidates: Vec<_> = cells.split_whitespace().zip(&named).map(candidate).collect();
        let load = Load { replicas, uid: "", key: "", mode: Mode::Steady };
        let shares = divide(&candidates, &preferences, load);
        let shares: Vec<String> = shares.iter().map(|(name, share)| format!("{name}={share}")).collect();
        assert_eq!(shares.join(" "), expect, "{replicas} over {cells}");
    }

    #[test]
    fn equal_wishes_are_met_equally() {
        check(ANY, false, 50, "A B C", "A=16 B=17 C=17");
        check(ANY, false, 50, "A B", "A=25 B=25");
        check(ANY, false, 1, "A B", "A=0 B=1");
        check(ANY, false, 1, "A B C D", "A=0 B=0 C=0 D=1");
        check(ANY, false, 1, "", "");
        check(&[], false, 50, "A B", "A=25 B=25");
    }

    #[test]
    fn what_runs_stays_where_it_is() {
        check(ANY, false, 50, "A B C=30", "A=10 B=10 C=30");
        check(ANY, false, 50, "A=30 B", "A=30 B=20");
        check(ANY, false, 15, "A=4 B=8", "A=7 B=8");
        check(ANY, false, 500_000, "A=300000 B", "A=300000 B=200000");
        check(ANY, false, 50, "A=10 B", "A=25 B=25");
        check(ANY, false, 50, "A=10 B=70", "A=0 B=50");
        check(ANY, false, 1, "A=30 B", "A=1 B=0");
        check(ANY, true, 50, "A=30 B", "A=25 B=25");
    }

    #[test]
    fn bounds_are_kept_and_weights_followed() {
        check(&[("*", 2, NO, 0)], false, 50, "A B C", "A=2 B=2 C=2");
        check(&[("*", 20, NO, 0)], false, 50, "A B C", "A=10 B=20 C=20");
        check(&[("*", 20, NO, 0), ("A", 100, NO, 1)], false, 50, "A B C", "A=50 B=0 C=0");
        check(&[("*", 10, 12, 1)], false, 50, "A B C", "A=12 B=12 C=12");
        check(&[("*", 0, 2, 0)], false, 50, "A B C", "A=0 B=0 C=0");
        check(&[("A", 0, NO, 1), ("B", 0, NO, 2)], false, 60, "A B C", "A=20 B=40 C=0");
        check(
            &[("A", 0, 10, 10_000), ("B", 0, NO, 1), ("C", 0, 21, 1), ("D", 0, 10, 1)],
            false,
            71,
            "A B C D",
            "A=10 B=30 C=21 D=10",
        );
        check(
            &[("A", 0, 10, 10_000), ("B", 0, NO, 1), ("C", 0, 21, 1), ("D", 0, 10, 1), ("E", 0, NO, 1)],
            false,
            91,
            "A B C D E",
            "A=10 B=25 C=21 D=10 E=25",
        );
    }

    /// What a cell has no room for is asked of it on top, in the hope that some is found.
    #[test]
    fn what_a_cell_was_seen_to_hold_bounds_it() {
        check(ANY, true, 50, "A B C/10", "A=20 B=20 C=17");
        check(ANY, true, 50, "A=0 B C=0/10", "A=20 B=20 C=17");
        check(&[("A", 0, NO, 1), ("B", 0, NO, 5)], false, 60, "A B/10 C", "A=50 B=10 C=0");
        check(&[("A", 0, NO, 1), ("B", 0, NO, 1)], false, 60, "A/10 B/10 C", "A=30 B=30 C=0");
        check(&[("*", 20, NO, 0)], false, 50, "A B/10 C", "A=20 B=10 C=20");
        check(&[("*", 20, NO, 1)], true, 60, "A B/10", "A=50 B=25");
    }
}
