//! Which cells can have an object at all.
//!
//! A cell that has it already is not asked again whether it serves the kind or is tainted: an answer that is late must
//! not delete anything. What sends away what is there is said in `evict.rs`.

use super::affinity;
use super::candidate::Candidate;
use super::cell::Cell;
use super::cell::NOT_READY;
use super::reason::Reason;
use super::rule::Rule;
use super::rule::SpreadBy;
use super::seen::Seen;
use super::spread;
use crate::apis;
use crate::apis::Kind;

type Filtered<'a> = (Vec<Candidate<'a>>, Vec<(&'a str, Reason)>);

/// Those of the rule's group `at`, and why each of the others is not among them.
pub(super) fn filter<'a>(rule: &Rule, at: usize, seen: &Seen<'a>) -> Filtered<'a> {
    let (mut candidates, mut refused) = (Vec::new(), Vec::new());
    for cell in seen.cells {
        match objection(rule, at, cell, seen) {
            Ok(candidate) => candidates.push(candidate),
            Err(reason) => refused.push((cell.name.as_str(), reason)),
        }
    }
    (candidates, refused)
}

fn objection<'a>(rule: &Rule, at: usize, cell: &'a Cell, seen: &Seen<'a>) -> Result<Candidate<'a>, Reason> {
    if cell.leaving {
        return Err(Reason::Leaving);
    }
    if seen.before.evicted.contains(&cell.name) {
        return Err(Reason::Evicted);
    }
    let tier = tier(rule, at, cell)?;
    if let Some(reason) = rule.cells.joins.iter().find_map(|join| join.objection(seen.object, cell)) {
        return Err(reason);
    }
    let uid = apis::text(seen.object, &["metadata", "uid"]).unwrap_or_default();
    let candidate = Candidate::new(cell, tier, rule.cells.ties, uid);
    let unknown = |spread: &&super::rule::Spread| {
        spread.by != SpreadBy::Cell && spread::group_of(&spread.by, &candidate).is_none()
    };
    if let Some(spread) = rule.cells.spread.iter().find(unknown) {
        return Err(Reason::NoTopology(spread.by.name()));
    }
    if !seen.stands_in(&cell.name) {
        newly(rule, cell, seen)?;
    }
    Ok(candidate)
}

/// What is only asked of cells that do not have the object yet.
fn newly(rule: &Rule, cell: &Cell, seen: &Seen<'_>) -> Result<(), Reason> {
    let kind = Kind::of(seen.object);
    let follows = rule.follow && seen.brings_definition;
    if !follows && !cell.serves.holds(&kind) {
        return Err(Reason::NotServed(kind));
    }
    match affinity::untolerated(&rule.cells.tolerations, cell) {
        None => Ok(()),
        Some(taint) if taint.key == NOT_READY => Err(Reason::NotReady),
        Some(taint) => Err(Reason::Tainted(taint)),
    }
}

/// 0 if the cell is meant in the first place.
fn tier(rule: &Rule, at: usize, cell: &Cell) -> Result<usize, Reason> {
    let Some(group) = rule.cells.groups.get(at) else { return Ok(0) };
    let Some(reason) = group.affinity.objection(cell) else { return Ok(0) };
    let overflow = group.overflow.iter().position(|affinity| affinity.admits(cell));
    overflow.map(|at| at + 1).ok_or(reason)
}
