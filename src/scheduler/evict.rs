//! Which cells an object has to leave because they fail, or it fails there; and how long its old copy stays.
//!
//! A cell that has to be left is no target any more. What it has stays until the new copies are well, or until the time
//! for that is up and at least one of them is there. An object that has nowhere else to go stays where it is.

use super::affinity::Toleration;
use super::cell::{Cell, Effect, NOT_READY, Taint};
use super::plan::plan;
use super::reason::Trouble;
use super::rule::{Purge, Rule};
use super::seen::{Because, Before, Placement, Seen, Target};
use crate::apis::kinds::Health;
use apiserver::jsonpath::{self, Path};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// How long the old copy stays at most, unless the rule says: as long as in Karmada.
const GRACE_SECONDS: i64 = 600;

/// How long a cell may be silent, unless the rule says.
const SILENCE_SECONDS: i64 = 300;

/// One cell that an object is leaving.
#[derive(Clone, Debug, PartialEq)]
pub struct Eviction {
    pub cell: String,
    /// What it had.
    pub replicas: Option<i64>,
    pub because: BTreeSet<Because>,
    pub why: Why,
    pub purge: Purge,
    /// When it began, in seconds.
    pub since: i64,
    pub grace_seconds: Option<i64>,
    /// Labels for the new copy, made of the status of the old one.
    pub carry: BTreeMap<String, String>,
    /// The cells that had it when it began.
    pub before: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The cell is tainted, or silent.
    Taint,
    /// The object is not well there.
    Application,
}

impl Eviction {
    /// Whether the old copy stays for now.
    pub fn keeps_copy(&self) -> bool {
        self.purge != Purge::Directly
    }

    pub(crate) fn target(&self) -> Target {
        Target { cell: self.cell.clone(), replicas: self.replicas, because: self.because.clone() }
    }

    fn deadline(&self) -> i64 {
        self.since.saturating_add(self.grace_seconds.unwrap_or(GRACE_SECONDS))
    }
}

/// How a copy is doing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Copied {
    /// It is there.
    pub applied: bool,
    /// It is there as it was decided last.
    pub current: bool,
    pub health: Health,
    /// Since when its health is what it is, in seconds.
    pub since: i64,
    pub status: Option<Value>,
}

/// What evictions depend on besides.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// In seconds.
    pub now: i64,
    /// By cell.
    pub copies: &'a BTreeMap<String, Copied>,
    /// Somebody has said that old copies that would stay for ever may go.
    pub released: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub placement: Placement,
    pub evictions: Vec<Eviction>,
    /// After so many seconds it has to be decided again, if nothing happens before.
    pub next: Option<i64>,
}

/// Depends on nothing but its arguments.
pub fn decide(seen: &Seen<'_>, around: &Circumstances<'_>) -> Outcome {
    let there = |eviction: &&Eviction| seen.cells.iter().any(|cell| cell.name == eviction.cell && !cell.leaving);
    let mut before = Before { evictions: Vec::new(), ..seen.before.clone() };
    let mut evictions: Vec<Eviction> = seen.before.evictions.iter().filter(there).cloned().collect();
    let mut placement = plan_without(seen, &before, &evictions);
    if seen.unclear.is_some() {
        return Outcome { placement, evictions, next: None };
    }
    if !evictions.is_empty() && !is_somewhere(&placement) {
        // It leads nowhere: whoever still has a copy keeps it.
        before.targets.extend(evictions.iter().filter(|eviction| eviction.keeps_copy()).map(Eviction::target));
        evictions.retain(|eviction| !eviction.keeps_copy());
        placement = plan_without(seen, &before, &evictions);
    }
    let (due, mut next) = due(seen, &before, around, &evictions);
    let mut stuck = Vec::new();
    for eviction in due {
        match eviction {
            Ok(eviction) => {
                let more: Vec<Eviction> = evictions.iter().cloned().chain([eviction]).collect();
                let tried = plan_without(seen, &before, &more);
                if is_somewhere(&tried) {
                    (placement, evictions) = (tried, more);
                } else if let Some(eviction) = more.last() {
                    stuck.push(Trouble::CannotEvict { cell: eviction.cell.clone(), why: nowhere(&tried) });
                }
            }
            Err(trouble) => stuck.push(trouble),
        }
    }
    placement.troubles.extend(stuck);
    let settled = is_same(&placement.targets, &seen.before.targets);
    evictions.retain(|eviction| !is_done(eviction, &placement, settled, around));
    let ends = evictions.iter().filter(|eviction| eviction.purge != Purge::Never).map(Eviction::deadline);
    next = next.into_iter().chain(ends.map(|end| end - around.now).filter(|left| *left > 0)).min();
    Outcome { placement, evictions, next }
}

fn plan_without(seen: &Seen<'_>, before: &Before, evictions: &[Eviction]) -> Placement {
    let evicted: BTreeSet<String> = evictions.iter().map(|eviction| eviction.cell.clone()).collect();
    let mut targets = before.targets.clone();
    targets.retain(|target| !evicted.contains(&target.cell));
    let before = Before { targets, evicted, ..before.clone() };
    plan(&Seen { before: &before, ..*seen })
}

/// Whether there is a place for all of it.
fn is_somewhere(placement: &Placement) -> bool {
    let ruled = |target: &Target| target.because.iter().any(|because| matches!(because, Because::Rule(_)));
    placement.troubles.is_empty() && placement.targets.iter().any(ruled)
}

fn nowhere(placement: &Placement) -> String {
    placement.troubles.first().map_or_else(|| "no other cell fits".to_owned(), ToString::to_string)
}

fn is_same(a: &[Target], b: &[Target]) -> bool {
    let said = |targets: &[Target]| -> BTreeSet<(String, Option<i64>)> {
        targets.iter().map(|target| (target.cell.clone(), target.replicas)).collect()
    };
    said(a) == said(b)
}

/// Whether the old copy can go, or is gone and forgotten. The last one never goes.
fn is_done(eviction: &Eviction, placement: &Placement, settled: bool, around: &Circumstances<'_>) -> bool {
    if !placement.troubles.iter().all(|trouble| matches!(trouble, Trouble::CannotEvict { .. })) {
        return false;
    }
    let mut copies = placement.targets.iter().map(|target| around.copies.get(&target.cell));
    let is_well =
        |copy: Option<&Copied>| copy.is_some_and(|copy| copy.applied && copy.current && copy.health == Health::Healthy);
    let (mut somebody, mut everybody) = (false, settled);
    for copy in &mut copies {
        somebody |= copy.is_some_and(|copy| copy.applied);
        everybody &= is_well(copy);
    }
    match eviction.purge {
        Purge::Never => around.released && somebody,
        _ => somebody && (everybody || around.now >= eviction.deadline()),
    }
}

type Due = (Vec<Result<Eviction, Trouble>>, Option<i64>);

/// Which cells have to be left now, and when it has to be looked again.
fn due(seen: &Seen<'_>, before: &Before, around: &Circumstances<'_>, leaving: &[Eviction]) -> Due {
    let (mut due, mut next) = (Vec::new(), None::<i64>);
    let cells: BTreeSet<String> = before.targets.iter().map(|target| target.cell.clone()).collect();
    let there = seen.cells.iter().filter(|cell| !cell.leaving && cells.contains(&cell.name));
    let there: BTreeMap<&str, &Cell> = there.map(|cell| (cell.name.as_str(), cell)).collect();
    for target in &before.targets {
        let Some(cell) = there.get(target.cell.as_str()) else { continue };
        if leaving.iter().any(|eviction| eviction.cell == target.cell) {
            continue;
        }
        let Some((when, why, rule)) = deadline(seen.rules, target, cell, around) else { continue };
        if when > around.now {
            next = Some(next.unwrap_or(i64::MAX).min(when - around.now));
            continue;
        }
        due.push(evict(rule, target, why, around).map(|eviction| Eviction { before: cells.clone(), ..eviction }));
    }
    (due, next)
}

/// When a cell has to be left, why, and by whose word. `None`: never. All rules that chose it have to agree.
fn deadline<'r>(
    rules: &'r [Rule],
    target: &Target,
    cell: &Cell,
    around: &Circumstances<'_>,
) -> Option<(i64, Why, &'r Rule)> {
    let chose = |rule: &&Rule| target.because.contains(&Because::Rule(rule.name.clone()));
    let mut last: Option<(i64, Why, &Rule)> = None;
    for rule in rules.iter().filter(chose) {
        let by_taint = tainted(rule, cell, around.now).map(|when| (when, Why::Taint));
        let by_health = unwell(rule, around.copies.get(&cell.name)).map(|when| (when, Why::Application));
        let (when, why) = by_taint.into_iter().chain(by_health).min_by_key(|(when, _)| *when)?;
        if last.is_none_or(|(latest, ..)| when > latest) {
            last = Some((when, why, rule));
        }
    }
    last
}

/// When taints send an object away.
fn tainted(rule: &Rule, cell: &Cell, now: i64) -> Option<i64> {
    let written = cell.taints.iter().filter(|taint| rule.failover.heeds_taints && taint.effect == Effect::NoExecute);
    let by_taints = written.filter_map(|taint| expiry(&rule.cells.tolerations, taint, now, None));
    let silent =
        Taint { key: NOT_READY.to_owned(), value: String::new(), effect: Effect::NoExecute, added: cell.silent_since };
    let is_silent = rule.failover.cell.is_some() && !cell.ready && cell.silent_since.is_some();
    let by_silence = is_silent.then(|| expiry(&rule.cells.tolerations, &silent, now, Some(SILENCE_SECONDS))).flatten();
    by_taints.chain(by_silence).min()
}

/// When a taint is tolerated no more; `None` if always. `lenient` is for how long if nobody says.
fn expiry(tolerations: &[Toleration], taint: &Taint, now: i64, lenient: Option<i64>) -> Option<i64> {
    match tolerations.iter().find(|toleration| toleration.tolerates(taint)) {
        Some(toleration) => Some(taint.added?.saturating_add(toleration.seconds?)),
        None => Some(lenient.map_or(now, |lenient| taint.added.unwrap_or(now).saturating_add(lenient))),
    }
}

/// When an object that is not well has to leave. As in Karmada, only together with what it needs.
fn unwell(rule: &Rule, copy: Option<&Copied>) -> Option<i64> {
    let application = rule.failover.application.as_ref().filter(|_| rule.follow)?;
    let copy = copy.filter(|copy| copy.applied && copy.health == Health::Unhealthy)?;
    Some(copy.since.saturating_add(application.toleration_seconds))
}

fn evict(rule: &Rule, target: &Target, why: Why, around: &Circumstances<'_>) -> Result<Eviction, Trouble> {
    let application = rule.failover.application.as_ref().filter(|_| why == Why::Application);
    let by_cell = rule.failover.cell.as_ref().filter(|_| why == Why::Taint);
    let carried = application.map(|how| &how.carry).or(by_cell.map(|how| &how.carry));
    let status = around.copies.get(&target.cell).and_then(|copy| copy.status.as_ref());
    let carry = carried.map_or(Ok(BTreeMap::new()), |carried| carry(carried, status));
    let carry = carry.map_err(|why| Trouble::CannotEvict { cell: target.cell.clone(), why })?;
    let purge = application.map(|how| how.purge).or(by_cell.map(|how| how.purge)).unwrap_or_default();
    Ok(Eviction {
        cell: target.cell.clone(),
        replicas: target.replicas,
        because: target.because.clone(),
        why,
        purge,
        since: around.now,
        grace_seconds: application.and_then(|how| how.grace_seconds),
        carry,
        before: BTreeSet::new(),
    })
}

/// The labels for the new copy. Without what it has to know of the old one, it does not move.
fn carry(rules: &[(String, String)], status: Option<&Value>) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for (label, path) in rules {
        let parsed = Path::parse(path.trim_start_matches('{').trim_end_matches('}'))?;
        let status = status.ok_or("nothing is known of its status yet")?;
        let found = parsed.find(status);
        let found = found.first().ok_or_else(|| format!("its status says nothing at {path}"))?;
        labels.insert(label.clone(), jsonpath::text(found).to_string());
    }
    Ok(labels)
}
