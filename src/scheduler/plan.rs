//! What goes where: the decision, and why it is not another one.
//!
//! Rules decide for themselves and the object goes to all the cells they choose together. Rules that cannot hold at the
//! same time are reported, and nothing moves until they can.

use super::candidate;
use super::candidate::Candidate;
use super::cell::Cell;
use super::division;
use super::division::Short;
use super::estimate;
use super::filter;
use super::load::Load;
use super::load::Mode;
use super::reason::Reason;
use super::reason::Refusal;
use super::reason::Trouble;
use super::rule::Division;
use super::rule::NothingFits;
use super::rule::Rule;
use super::seen::Because;
use super::seen::Placement;
use super::seen::Seen;
use super::seen::Target;
use super::spread;
use super::spread::TooFew;
use super::spread::Wanted;
use super::terms;
use crate::apis;
use serde_json::Value;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// What one rule came to.
struct Choice<'a> {
    rule: &'a Rule,
    taken: Result<Vec<Candidate<'a>>, Trouble>,
    shares: BTreeMap<String, Option<i64>>,
    group: Option<String>,
    refused: Vec<(&'a str, Reason)>,
}

/// Depends on nothing but its argument, and not on the order of rules and cells.
pub fn plan(seen: &Seen<'_>) -> Placement {
    let mut rules: Vec<&Rule> = seen.rules.iter().collect();
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    let conflicts: Vec<Trouble> = match seen.unclear {
        Some(unclear) => vec![unclear.clone()],
        None => terms::conflicts(&rules),
    };
    if !conflicts.is_empty() {
        let groups = seen.before.groups.clone();
        let kept = Placement { targets: kept(seen, None), refused: Vec::new(), groups, troubles: conflicts };
        return finish(seen, kept);
    }
    let division = rules.iter().find_map(|rule| rule.replicas.clone()).unwrap_or(Division::Duplicated);
    let choices: Vec<Choice<'_>> = rules.iter().map(|rule| choose(rule, &division, seen)).collect();
    finish(seen, join(&choices, &division, seen))
}

fn load<'a>(seen: &Seen<'a>, key: &'a str) -> Load<'a> {
    let replicas = seen.workload.map_or(0, |workload| workload.replicas);
    Load { replicas, uid: uid(seen.object), key, mode: seen.mode }
}

fn uid(object: &Value) -> &str {
    apis::text(object, &["metadata", "uid"]).unwrap_or_default()
}

fn key(object: &Value) -> String {
    let meta = |key| apis::text(object, &["metadata", key]).unwrap_or_default();
    format!("{}/{}", meta("namespace"), meta("name"))
}

/// Tries the rule's groups of cells in order, from the one that was used last.
fn choose<'a>(rule: &'a Rule, division: &Division, seen: &Seen<'a>) -> Choice<'a> {
    let used = seen.before.groups.get(&rule.name).filter(|_| seen.mode == Mode::Steady);
    let number = rule.cells.groups.len();
    let used = used.and_then(|used| rule.cells.groups.iter().position(|group| group.name == *used));
    let mut first: Option<Choice<'a>> = None;
    for at in used.unwrap_or(0)..number.max(1) {
        let tried = choose_in(rule, at, division, seen);
        if tried.taken.is_ok() {
            return tried;
        }
        // What was wanted most is what there is to explain.
        first.get_or_insert(tried);
    }
    first.unwrap_or_else(|| choose_in(rule, 0, division, seen))
}

fn choose_in<'a>(rule: &'a Rule, at: usize, division: &Division, seen: &Seen<'a>) -> Choice<'a> {
    let (mut candidates, mut refused) = filter::filter(rule, at, seen);
    for candidate in &mut candidates {
        measure(candidate, seen);
    }
    candidate::sort(&mut candidates);
    let taken = pick(rule, candidates, division, seen, &mut refused);
    let group = rule.cells.groups.get(at).map(|group| group.name.clone());
    let mut choice = Choice { rule, taken: Err(nothing_fits(rule, seen)), shares: BTreeMap::new(), group, refused };
    match taken {
        Ok((taken, shares)) => (choice.taken, choice.shares) = (Ok(taken), shares),
        Err(trouble) => choice.taken = Err(trouble),
    }
    choice
}

type Picked<'a> = (Vec<Candidate<'a>>, BTreeMap<String, Option<i64>>);

fn pick<'a>(
    rule: &Rule,
    candidates: Vec<Candidate<'a>>,
    division: &Division,
    seen: &Seen<'a>,
    refused: &mut Vec<(&'a str, Reason)>,
) -> Result<Picked<'a>, Trouble> {
    if candidates.is_empty() {
        return Err(nothing_fits(rule, seen));
    }
    let replicas = seen.workload.map_or(0, |workload| workload.replicas);
    let duplicated = *division == Division::Duplicated;
    // Weights are given to certain cells: how many share is said by them.
    let constraints = if matches!(division, Division::Weighted(_)) { &[] } else { rule.cells.spread.as_slice() };
    let selected = spread::select(candidates, constraints, Wanted { replicas, duplicated });
    let selected = selected.map_err(|few| too_few(rule, few))?;
    refused.extend(selected.left);
    if selected.taken.is_empty() {
        return Err(too_few(rule, TooFew { by: "cell".to_owned(), found: 0, least: 1 }));
    }
    let shares =
        share(&selected.taken, division, seen).map_err(|short| too_short(std::slice::from_ref(&rule.name), &short))?;
    Ok((selected.taken, shares))
}

/// `None` for every cell if there is nothing to divide.
fn share(
    taken: &[Candidate<'_>],
    division: &Division,
    seen: &Seen<'_>,
) -> Result<BTreeMap<String, Option<i64>>, Short> {
    if seen.workload.is_none() {
        return Ok(taken.iter().map(|candidate| (candidate.name().to_owned(), None)).collect());
    }
    let key = key(seen.object);
    let load = load(seen, &key);
    let shares = division::divide(taken, division, load)?;
    let placed = |(_, share): &(String, i64)| *share > 0 || load.replicas == 0;
    Ok(shares.into_iter().filter(placed).map(|(cell, share)| (cell, Some(share))).collect())
}

fn measure(candidate: &mut Candidate<'_>, seen: &Seen<'_>) {
    let before = seen.before.targets.iter().find(|target| target.cell == candidate.name());
    candidate.placed = seen.stands_in(candidate.name());
    candidate.before = before.and_then(|target| target.replicas).unwrap_or(0);
    let Some(workload) = seen.workload else {
        candidate.room = i64::from(i32::MAX);
        return;
    };
    let looked = workload.room.get(candidate.name()).copied();
    candidate.room = looked.unwrap_or_else(|| estimate::room(candidate.cell, &workload.request));
    candidate.bound = workload.bounds.get(candidate.name()).copied();
}

fn nothing_fits(rule: &Rule, seen: &Seen<'_>) -> Trouble {
    let keeps = rule.nothing_fits == NothingFits::Keep;
    let kept = if keeps { kept(seen, Some(rule)).len() } else { 0 };
    Trouble::NothingFits { rule: rule.name.clone(), asked: seen.cells.len(), kept }
}

fn too_few(rule: &Rule, few: TooFew) -> Trouble {
    Trouble::CannotSpread { rule: rule.name.clone(), by: few.by, found: few.found, least: few.least }
}

fn too_short(rules: &[String], short: &Short) -> Trouble {
    Trouble::Short { rule: rules.join(", "), available: short.available, wanted: short.wanted }
}

/// What was decided before, as far as the cells are still there; of one rule, or of all.
fn kept(seen: &Seen<'_>, rule: Option<&Rule>) -> Vec<Target> {
    let stands = |target: &&Target| {
        let asked = |rule: &Rule| target.because.contains(&Because::Rule(rule.name.clone()));
        let there = |cell: &Cell| cell.name == target.cell && !cell.leaving;
        rule.is_none_or(asked) && seen.cells.iter().any(there) && !seen.before.evicted.contains(&target.cell)
    };
    seen.before.targets.iter().filter(stands).cloned().collect()
}

/// The union of what the rules chose.
fn join(choices: &[Choice<'_>], division: &Division, seen: &Seen<'_>) -> Placement {
    let mut placement = Placement::default();
    let failed = || choices.iter().filter_map(|choice| choice.taken.as_ref().err());
    placement.troubles.extend(failed().cloned());
    let divides = seen.workload.is_some() && *division != Division::Duplicated;
    let agreed = choices.iter().filter(|choice| choice.taken.is_ok()).count();
    let mut shared = BTreeMap::new();
    if divides && agreed > 1 {
        match share(&everybody(choices), division, seen) {
            Ok(shares) => shared = shares,
            Err(short) => {
                let names: Vec<String> = choices.iter().map(|choice| choice.rule.name.clone()).collect();
                placement.troubles.push(too_short(&names, &short));
            }
        }
    }
    let mut targets = BTreeMap::new();
    for choice in choices {
        add(&mut targets, choice, if divides && agreed > 1 { &shared } else { &choice.shares }, seen);
        let group = choice.group.clone().filter(|_| choice.taken.is_ok());
        let group = group.or_else(|| seen.before.groups.get(&choice.rule.name).cloned());
        placement.groups.extend(group.map(|group| (choice.rule.name.clone(), group)));
    }
    placement.targets = targets.into_values().collect();
    // Where replicas are divided, what one rule cannot have would go to the cells of another, and come back later.
    if divides && !placement.troubles.is_empty() && !wiped(choices) && !seen.before.targets.is_empty() {
        placement.targets = kept(seen, None);
    }
    placement.refused = refusals(choices, &placement.targets);
    placement
}

/// Whether a rule asked that nothing is kept when nothing fits.
fn wiped(choices: &[Choice<'_>]) -> bool {
    choices.iter().any(|choice| withdraws(choice))
}

fn withdraws(choice: &Choice<'_>) -> bool {
    matches!(choice.taken, Err(Trouble::NothingFits { .. })) && choice.rule.nothing_fits == NothingFits::Withdraw
}

/// The cells of all rules, each once.
fn everybody<'a>(choices: &[Choice<'a>]) -> Vec<Candidate<'a>> {
    let mut all: BTreeMap<&str, Candidate<'a>> = BTreeMap::new();
    for candidate in choices.iter().filter_map(|choice| choice.taken.as_ref().ok()).flatten() {
        let known = all.entry(candidate.name()).or_insert_with(|| candidate.clone());
        known.tier = known.tier.min(candidate.tier);
    }
    let mut all: Vec<_> = all.into_values().collect();
    candidate::sort(&mut all);
    all
}

fn add(
    targets: &mut BTreeMap<String, Target>,
    choice: &Choice<'_>,
    shares: &BTreeMap<String, Option<i64>>,
    seen: &Seen<'_>,
) {
    let because = Because::Rule(choice.rule.name.clone());
    let mut place = |cell: &str, replicas: Option<i64>| {
        let fresh = Target { cell: cell.to_owned(), replicas, because: BTreeSet::new() };
        targets.entry(cell.to_owned()).or_insert(fresh).because.insert(because.clone());
    };
    match &choice.taken {
        Ok(taken) => {
            for candidate in taken {
                if let Some(share) = shares.get(candidate.name()) {
                    place(candidate.name(), *share);
                }
            }
        }
        Err(_) if withdraws(choice) => {}
        Err(_) => {
            for target in kept(seen, Some(choice.rule)) {
                place(&target.cell, target.replicas);
            }
        }
    }
}

fn refusals(choices: &[Choice<'_>], targets: &[Target]) -> Vec<Refusal> {
    let placed: BTreeSet<&str> = targets.iter().map(|target| target.cell.as_str()).collect();
    let mut refused = Vec::new();
    for choice in choices {
        let mut refuse = |cell: &str, reason: Reason| {
            if !placed.contains(cell) {
                refused.push(Refusal { cell: cell.to_owned(), rule: choice.rule.name.clone(), reason });
            }
        };
        for (cell, reason) in &choice.refused {
            refuse(cell, reason.clone());
        }
        for candidate in choice.taken.iter().flatten() {
            let weighed =
                choice.rule.replicas.as_ref().is_some_and(|replicas| matches!(replicas, Division::Weighted(_)));
            let reason = if weighed && !choice.shares.contains_key(candidate.name()) {
                Reason::NoWeight
            } else {
                Reason::NoReplica
            };
            refuse(candidate.name(), reason);
        }
    }
    refused.sort_by(|a, b| (&a.cell, &a.rule).cmp(&(&b.cell, &b.rule)));
    refused
}

/// Adds the cells of those that refer to the object.
fn finish(seen: &Seen<'_>, mut placement: Placement) -> Placement {
    let mut targets: BTreeMap<String, Target> = BTreeMap::new();
    for mut target in std::mem::take(&mut placement.targets) {
        target.because.retain(|because| matches!(because, Because::Rule(_)));
        targets.insert(target.cell.clone(), target);
    }
    let there = |cell: &&String| seen.cells.iter().any(|known| known.name == **cell && !known.leaving);
    for followed in seen.followed {
        for cell in followed.cells.iter().filter(there) {
            let replicas = seen.workload.map(|workload| workload.replicas);
            let fresh = Target { cell: cell.clone(), replicas, because: BTreeSet::new() };
            let target = targets.entry(cell.clone()).or_insert(fresh);
            target.because.insert(Because::Follows(followed.by.clone()));
        }
    }
    // What was kept only because somebody referred to it, and nobody does any more.
    placement.targets = targets.into_values().filter(|target| !target.because.is_empty()).collect();
    let chosen = &placement.targets;
    // They are in the order of their cells.
    let is_chosen = |cell: &str| chosen.binary_search_by(|target| target.cell.as_str().cmp(cell)).is_ok();
    placement.refused.retain(|refusal| !is_chosen(&refusal.cell));
    placement
}
