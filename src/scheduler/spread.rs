//! From all cells that fit to those that are taken: by number, and by how far apart they are.

use super::candidate::Candidate;
use super::candidate::available;
use super::candidate::sort;
use super::groups;
use super::groups::Grouped;
use super::reason::Reason;
use super::rule::Spread;
use super::rule::SpreadBy;
use std::collections::BTreeMap;

/// What a spread has to provide for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub(super) replicas: i64,
    /// All replicas go to every cell, so the room of several does not add up.
    pub(super) duplicated: bool,
}

/// The rule cannot be met: so many groups could be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TooFew {
    pub(super) by: String,
    pub(super) found: usize,
    pub(super) least: usize,
}

/// Those taken, and why each of the others is not.
pub(super) struct Selected<'a> {
    pub(super) taken: Vec<Candidate<'a>>,
    pub(super) left: Vec<(&'a str, Reason)>,
}

/// `None` if nobody knows.
pub(super) fn group_of(by: &SpreadBy, candidate: &Candidate<'_>) -> Option<String> {
    match by {
        SpreadBy::Cell => Some(candidate.name().to_owned()),
        SpreadBy::Label(key) => candidate.cell.label(key).map(str::to_owned),
        // A cell that spans zones is a group with those that span the same.
        SpreadBy::Field(field) | SpreadBy::Known(field) => {
            Some(field.values(candidate.cell).join(",")).filter(|group| !group.is_empty())
        }
    }
}

/// `candidates` are sorted.
pub(super) fn select<'a>(
    mut candidates: Vec<Candidate<'a>>,
    spread: &[Spread],
    wanted: Wanted,
) -> Result<Selected<'a>, TooFew> {
    let by_cell = spread.iter().find(|spread| spread.by == SpreadBy::Cell);
    let by_group = || spread.iter().filter(|spread| !matches!(spread.by, SpreadBy::Cell | SpreadBy::Known(_)));
    let mut left = Vec::new();
    let mut first_of: Option<&Spread> = None;
    for constraint in by_group() {
        let chosen = choose_groups(&candidates, constraint, by_cell, wanted)?;
        candidates = keep_groups(candidates, constraint, &chosen, &mut left);
        first_of.get_or_insert(constraint);
    }
    let taken = match (first_of, by_cell) {
        (None, None) => candidates,
        (None, Some(by_cell)) => by_number(candidates, by_cell, wanted, &mut left)?,
        (Some(group), by_cell) => one_of_each(candidates, &group.by, by_cell.and_then(|cell| cell.most), &mut left),
    };
    for constraint in by_group() {
        let mut groups: Vec<_> = taken.iter().filter_map(|candidate| group_of(&constraint.by, candidate)).collect();
        groups.sort();
        groups.dedup();
        enough(constraint, groups.len())?;
    }
    Ok(Selected { taken, left })
}

fn enough(constraint: &Spread, found: usize) -> Result<(), TooFew> {
    if found >= constraint.least {
        return Ok(());
    }
    Err(TooFew { by: constraint.by.name(), found, least: constraint.least })
}

/// Takes as many as the rule allows; if they have not room enough, larger ones take the places of the last.
fn by_number<'a>(
    mut candidates: Vec<Candidate<'a>>,
    constraint: &Spread,
    wanted: Wanted,
    left: &mut Vec<(&'a str, Reason)>,
) -> Result<Vec<Candidate<'a>>, TooFew> {
    enough(constraint, candidates.len())?;
    let number = constraint.most.unwrap_or(usize::MAX).min(candidates.len());
    let mut rest = candidates.split_off(number);
    if !wanted.duplicated {
        for at in (0..number).rev() {
            if available(&candidates) >= wanted.replicas {
                break;
            }
            let largest = (0..rest.len()).rev().max_by_key(|other| rest[*other].available());
            if let Some(other) = largest.filter(|other| rest[*other].available() > candidates[at].available()) {
                std::mem::swap(&mut candidates[at], &mut rest[other]);
            }
        }
    }
    left.extend(rest.iter().map(|candidate| (candidate.name(), Reason::EnoughCells(number))));
    Ok(candidates)
}

fn members<'c, 'a>(candidates: &'c [Candidate<'a>], by: &SpreadBy) -> BTreeMap<String, Vec<&'c Candidate<'a>>> {
    let mut groups: BTreeMap<String, Vec<&Candidate<'a>>> = BTreeMap::new();
    for candidate in candidates {
        if let Some(group) = group_of(by, candidate) {
            groups.entry(group).or_default().push(candidate);
        }
    }
    groups
}

fn choose_groups(
    candidates: &[Candidate<'_>],
    constraint: &Spread,
    by_cell: Option<&Spread>,
    wanted: Wanted,
) -> Result<Vec<String>, TooFew> {
    let members = members(candidates, &constraint.by);
    enough(constraint, members.len())?;
    let cells = by_cell.map_or(1, |cell| cell.least);
    let grouped = |(name, members): (&String, &Vec<&Candidate<'_>>)| Grouped {
        name: name.clone(),
        cells: members.len(),
        score: score(members, constraint.least, cells, wanted),
        placed: members.iter().any(|candidate| candidate.placed),
    };
    let groups: Vec<Grouped> = members.iter().map(grouped).collect();
    let in_all: usize = members.values().map(Vec::len).sum();
    // One cell of each group is taken, so there cannot be more groups than cells.
    let cells_most = by_cell.and_then(|cell| cell.most).unwrap_or(usize::MAX);
    let most = constraint.most.unwrap_or(members.len()).min(cells_most);
    let too_few = TooFew { by: "cell".to_owned(), found: in_all, least: cells };
    groups::select(groups, constraint.least, most, cells).ok_or(too_few)
}

/// Room counts a thousand times as much as being there already: the second only decides between equals.
const ROOM: i64 = 1000;

/// What a group is worth.
fn score(members: &[&Candidate<'_>], least: usize, cells: usize, wanted: Wanted) -> i64 {
    if wanted.duplicated {
        let valid = members.iter().filter(|candidate| candidate.available() >= wanted.replicas);
        let (number, sum) = valid.fold((0, 0), |(number, sum), candidate| (number + 1, sum + candidate.score()));
        return if number == 0 { 0 } else { number * ROOM + sum / number };
    }
    let groups = i64::try_from(least.max(1)).unwrap_or(i64::MAX);
    let target = wanted.replicas / groups + i64::from(wanted.replicas % groups != 0);
    let (mut number, mut room, mut sum) = (0, 0_i64, 0);
    for candidate in members {
        number += 1;
        room = room.saturating_add(candidate.available());
        sum += candidate.score();
        if number >= cells.max(least) && room >= target {
            break;
        }
    }
    let all = i64::try_from(members.len()).unwrap_or(i64::MAX).max(1);
    let looked_at = i64::try_from(number).unwrap_or(i64::MAX).max(1);
    if room < target { room * ROOM + sum / all } else { target.saturating_mul(ROOM).saturating_add(sum / looked_at) }
}

fn keep_groups<'a>(
    candidates: Vec<Candidate<'a>>,
    constraint: &Spread,
    chosen: &[String],
    left: &mut Vec<(&'a str, Reason)>,
) -> Vec<Candidate<'a>> {
    let mut kept = Vec::new();
    for candidate in candidates {
        match group_of(&constraint.by, &candidate) {
            Some(group) if chosen.contains(&group) => kept.push(candidate),
            group => {
                let group = group.unwrap_or_default();
                left.push((candidate.name(), Reason::GroupNotChosen { by: constraint.by.name(), group }));
            }
        }
    }
    kept
}

/// The best of each group, then the best of what remains, up to `most`.
fn one_of_each<'a>(
    candidates: Vec<Candidate<'a>>,
    by: &SpreadBy,
    most: Option<usize>,
    left: &mut Vec<(&'a str, Reason)>,
) -> Vec<Candidate<'a>> {
    let (mut taken, mut rest) = (Vec::new(), Vec::new());
    let mut seen: Vec<Option<String>> = Vec::new();
    for candidate in candidates {
        let group = group_of(by, &candidate);
        if seen.contains(&group) {
            rest.push(candidate);
        } else {
            seen.push(group);
            taken.push(candidate);
        }
    }
    sort(&mut rest);
    let number = most.unwrap_or(usize::MAX).saturating_sub(taken.len()).min(rest.len());
    let over = rest.split_off(number);
    taken.append(&mut rest);
    left.extend(over.iter().map(|candidate| (candidate.name(), Reason::EnoughCells(taken.len()))));
    taken
}
