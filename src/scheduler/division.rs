//! How many replicas each of the chosen cells gets.
//!
//! Steady is the rule: what is there stays, and only the difference is divided. Fresh starts from nothing.

use super::candidate::Candidate;
use super::candidate::available;
use super::load::Load;
use super::load::Mode;
use super::load::Shares;
use super::preferred;
use super::rule::Division;
use super::rule::Weight;
use super::webster;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// There is not room for all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Short {
    pub(super) available: i64,
    pub(super) wanted: i64,
}

/// Cells without an entry are not among those that have weight; an entry of 0 gets none.
pub(super) fn divide(candidates: &[Candidate<'_>], division: &Division, load: Load<'_>) -> Result<Shares, Short> {
    if load.replicas == 0 {
        return Ok(candidates.iter().map(|candidate| (candidate.name().to_owned(), 0)).collect());
    }
    match division {
        Division::Duplicated => {
            Ok(candidates.iter().map(|candidate| (candidate.name().to_owned(), load.replicas)).collect())
        }
        Division::Weighted(weights) => Ok(webster::divide(load.replicas, &weigh(candidates, weights), load.uid)),
        Division::Preferred(preferences) => Ok(preferred::divide(candidates, preferences, load)),
        Division::Available => by_tier(candidates, load, false),
        Division::Aggregated => by_tier(candidates, load, true),
    }
}

fn weigh(candidates: &[Candidate<'_>], weights: &[Weight]) -> Shares {
    let largest = |candidate: &Candidate<'_>| {
        let fitting = weights.iter().filter(|weight| weight.cells.admits(candidate.cell));
        fitting.map(|weight| weight.weight).max().unwrap_or(0)
    };
    let all = candidates.iter().map(|candidate| (candidate.name().to_owned(), largest(candidate)));
    let weighed: Shares = all.filter(|(_, weight)| *weight > 0).collect();
    if !weighed.is_empty() {
        return weighed;
    }
    candidates.iter().map(|candidate| (candidate.name().to_owned(), 1)).collect()
}

/// Cells that only take what overflows get what those before them have no room for.
fn by_tier(candidates: &[Candidate<'_>], load: Load<'_>, aggregated: bool) -> Result<Shares, Short> {
    let mut tiers: BTreeMap<usize, Vec<Candidate<'_>>> = BTreeMap::new();
    for candidate in candidates {
        tiers.entry(candidate.tier).or_default().push(candidate.clone());
    }
    if tiers.len() == 1 {
        return by_room(candidates, load, aggregated);
    }
    let mut shares = Shares::new();
    let mut remaining = load.replicas;
    for tier in tiers.values() {
        let replicas = remaining.min(available(tier));
        if replicas > 0 {
            shares.append(&mut by_room(tier, Load { replicas, ..load }, aggregated)?);
        }
        remaining -= replicas;
    }
    if remaining > 0 {
        return Err(Short { available: load.replicas - remaining, wanted: load.replicas });
    }
    Ok(shares)
}

fn by_room(candidates: &[Candidate<'_>], load: Load<'_>, aggregated: bool) -> Result<Shares, Short> {
    let assigned: i64 = candidates.iter().map(|candidate| candidate.before).sum();
    let before = || candidates.iter().filter(|candidate| candidate.before > 0);
    let scheduled: Shares = before().map(|candidate| (candidate.name().to_owned(), candidate.before)).collect();
    let each = |room: &dyn Fn(&Candidate<'_>) -> i64| -> Vec<(String, i64)> {
        candidates.iter().map(|candidate| (candidate.name().to_owned(), room(candidate))).collect()
    };
    let none = Shares::new();
    match load.mode {
        Mode::Fresh => share_out(each(&|candidate| candidate.available()), load.replicas, load.uid, aggregated, &none),
        Mode::Steady if assigned == load.replicas => Ok(scheduled),
        // Cells shrink in proportion to what they have.
        Mode::Steady if assigned > load.replicas => {
            share_out(scheduled.into_iter().collect(), load.replicas, load.uid, aggregated, &none)
        }
        Mode::Steady => {
            let more = load.replicas - assigned;
            share_out(each(&|candidate| candidate.room), more, load.uid, aggregated, &scheduled)
        }
    }
}

/// Divides `replicas` by `rooms` and adds them to what is there.
fn share_out(
    mut rooms: Vec<(String, i64)>,
    replicas: i64,
    uid: &str,
    aggregated: bool,
    there: &Shares,
) -> Result<Shares, Short> {
    let available = rooms.iter().fold(0_i64, |sum, (_, room)| sum.saturating_add(*room));
    if available < replicas {
        return Err(Short { available, wanted: replicas });
    }
    // Stable, so that equals stay in the order of preference.
    rooms.sort_by_key(|(_, room)| std::cmp::Reverse(*room));
    if aggregated {
        rooms.sort_by_key(|(name, _)| !there.contains_key(name));
        let mut sum = 0_i64;
        let before = |(_, room): &(String, i64)| {
            let short = sum < replicas;
            sum = sum.saturating_add(*room);
            short
        };
        rooms = rooms.into_iter().take_while(before).collect();
    }
    let mut shares = webster::divide(replicas, &rooms.into_iter().collect(), uid);
    let names: BTreeSet<String> = there.keys().cloned().collect();
    for name in names {
        *shares.entry(name.clone()).or_default() += there[&name];
    }
    Ok(shares)
}
