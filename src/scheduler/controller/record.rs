//! Placements as objects: how a decision is written down and read back.

use super::tally::RuleId;
use crate::apis::definitions::RESCHEDULE;
use crate::apis::fnv;
use crate::apis::interpret::Interpreter;
use crate::scheduler::evict::{Eviction, Outcome, Why};
use crate::scheduler::rule::{Namespaces, Purge, Release, Rule, Strangers, Suspension};
use crate::scheduler::{Because, Before, Target, Terms};
use apiserver::object::{Object, timestamp};
use apiserver::place::{ObjectRef, Workspace};
use openapi::scalar::time::{Instant, Precision};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Refusals that are written down of one object: enough to understand a decision, not as many as there are cells.
const REFUSED_MAX: usize = 20;

/// Cells that are named in a column.
const NAMED_MAX: usize = 5;

/// What keeps copies in their cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hold {
    /// Rules, or others who refer to the object: copies go with them.
    #[default]
    Rules,
    /// Rules; copies stay when these speak for the object no longer.
    Lasting,
    /// Nobody speaks for the object any more, and copies stay as they are.
    Left,
}

impl Hold {
    const ALL: [(Self, &'static str); 3] = [(Self::Rules, "Rules"), (Self::Lasting, "Lasting"), (Self::Left, "Left")];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(hold, _)| *hold == self).map_or("", |(_, name)| name)
    }

    fn named(name: &str) -> Self {
        Self::ALL.iter().find(|(_, known)| *known == name).map_or(Self::Rules, |(hold, _)| *hold)
    }
}

/// In what manner copies are in cells, as far as that has to be known when no rule says it: of what follows others, and of
/// what nobody speaks for any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    pub namespaces: Namespaces,
    pub strangers: Strangers,
    /// Whether cells get to see the status of the source.
    pub status_down: bool,
    pub hold: Hold,
    /// Copies stay when the object is deleted.
    pub preserve: bool,
}

impl Manner {
    pub(super) fn of(rules: &[Rule]) -> Self {
        let terms = Terms::of(rules);
        Self {
            namespaces: terms.namespaces,
            strangers: terms.strangers,
            status_down: terms.status_down,
            hold: if terms.release == Release::Leave { Hold::Lasting } else { Hold::Rules },
            preserve: terms.preserve_on_deletion,
        }
    }

    /// Of what is only where it is because of somebody else.
    pub(super) fn following(self) -> Self {
        Self { hold: Hold::Rules, preserve: false, ..self }
    }

    /// On what terms copies are there, beside what rules say.
    pub fn terms(self, rules: &[Rule]) -> Terms {
        let said = Terms { namespaces: self.namespaces, strangers: self.strangers, ..Terms::of(rules) };
        // Whether or not that was written down yet.
        if self.hold != Hold::Rules && rules.is_empty() {
            return Terms { preserve_on_deletion: self.preserve, suspended: Suspension::Everywhere, ..said };
        }
        said
    }

    fn told(self) -> Value {
        let namespaces = if self.namespaces == Namespaces::Same { "Same" } else { "ByUid" };
        let strangers = if self.strangers == Strangers::Adopt { "Adopt" } else { "Leave" };
        let status = if self.status_down { "Down" } else { "Up" };
        let deletion = if self.preserve { "Preserve" } else { "Withdraw" };
        json!({
            "namespaces": namespaces, "strangers": strangers, "status": status, "hold": self.hold.name(),
            "deletion": deletion,
        })
    }
}

/// In what manner a placement wants an object to be in cells.
pub fn manner_of(record: &Object) -> Manner {
    let says = |key: &str, word: &str| record.text(&["spec", "manner", key]) == word;
    Manner {
        namespaces: if says("namespaces", "Same") { Namespaces::Same } else { Namespaces::ByUid },
        strangers: if says("strangers", "Adopt") { Strangers::Adopt } else { Strangers::Leave },
        status_down: says("status", "Down"),
        hold: Hold::named(record.text(&["spec", "manner", "hold"])),
        preserve: says("deletion", "Preserve"),
    }
}

/// What was decided for the cells of one workspace.
pub(super) struct Decided {
    pub(super) home: Workspace,
    pub(super) outcome: Outcome,
}

/// Which object a record is about.
pub(super) fn source(at: &ObjectRef, object: &Object) -> Value {
    json!({
        "apiVersion": object.api_version(), "kind": object.kind(), "resource": at.resource().plural,
        "namespace": object.namespace(), "name": object.name(), "uid": object.uid(),
    })
}

/// What else is written down with a decision.
pub(super) struct How<'a> {
    /// The rules that speak for the object, and the workspaces that they are in.
    pub(super) names: BTreeSet<RuleId>,
    pub(super) rules: &'a [Rule],
    pub(super) manner: Manner,
    pub(super) references: Vec<Value>,
    /// Who knows what the object means.
    pub(super) interpreter: &'a Interpreter,
    /// Something was said of evictions before.
    pub(super) evicted: bool,
    /// Up to which wish it has been decided anew.
    pub(super) rescheduled: String,
}

/// Somebody wishes that it is decided anew, and it has not been.
pub(super) fn is_to_be_rescheduled(record: &Object) -> bool {
    record.annotation(RESCHEDULE).is_some_and(|wish| wish != record.text(&["spec", "rescheduled"]))
}

/// The decision as it is written down.
pub(super) fn write(source: Value, decided: &[Decided], how: &How<'_>) -> Value {
    let mut cells: Vec<Value> = Vec::new();
    let (mut refused, mut refusals, mut groups, mut troubles) = (Vec::new(), 0, Vec::new(), Vec::new());
    let mut evictions = Vec::new();
    for Decided { home, outcome } in decided {
        let placement = &outcome.placement;
        evictions.extend(outcome.evictions.iter().map(|eviction| evicting(home, eviction)));
        cells.extend(placement.targets.iter().map(|target| cell(home, target)));
        refusals += placement.refused.len();
        let told = placement.refused.iter().take(REFUSED_MAX.saturating_sub(refused.len()));
        refused.extend(told.map(
            |refusal| json!({ "cell": refusal.cell, "rule": refusal.rule, "reason": refusal.reason.to_string() }),
        ));
        groups.extend(placement.groups.iter().map(|(rule, group)| json!({ "rule": rule, "group": group })));
        let told =
            |trouble: &crate::scheduler::Trouble| json!({ "reason": trouble.reason(), "message": trouble.to_string() });
        troubles.extend(placement.troubles.iter().map(told));
    }
    let status = json!({ "where": told(&cells), "refused": refused, "refusals": refusals, "troubles": troubles });
    let rules = how.names.iter().map(|(home, name)| json!({ "workspace": home.as_str(), "name": name }));
    let mut spec = json!({
        "source": source, "cells": cells, "groups": groups, "rules": rules.collect::<Vec<_>>(), "terms": terms(how),
        "manner": how.manner.told(), "references": how.references, "rescheduled": how.rescheduled,
    });
    // Most placements never say anything of these.
    let minds = !evictions.is_empty() || how.rules.iter().any(|rule| rule.failover.application.is_some());
    if minds || how.evicted {
        (spec["evictions"], spec["minds"]) = (json!(evictions), json!(minds));
    }
    json!({ "spec": spec, "status": status })
}

/// Nothing is wanted anywhere any more.
pub(super) fn withdrawn(record: &Object) -> Value {
    let source = record.pointer(&["spec", "source"]).cloned().unwrap_or_default();
    let status = json!({ "where": "", "refused": [], "refusals": 0, "troubles": [] });
    let mut spec = json!({ "source": source, "cells": [], "groups": [], "rules": [], "terms": "", "references": [] });
    if says_evictions(record) {
        spec["evictions"] = json!([]);
    }
    json!({ "spec": spec, "status": status })
}

/// The rules of a workspace that spoke for the object when it was decided about last.
pub fn rules_of<'a>(record: &'a Object, home: &'a Workspace) -> impl Iterator<Item = &'a str> {
    let here = record.items(&["spec", "rules"]).filter(|rule| rule["workspace"] == home.as_str());
    here.filter_map(|rule| rule["name"].as_str())
}

/// Nobody speaks for the object any more, and its copies stay as they are, in those cells that do. `None` if that is
/// not what its last rules said, or there is none.
pub(super) fn left(record: &Object, is_there: impl Fn(&Workspace, &str) -> bool) -> Option<Value> {
    let manner = manner_of(record);
    let stays = |cell: &&Value| {
        let word = |key: &str| cell[key].as_str().unwrap_or_default();
        is_there(&Workspace::new(word("workspace")), word("name"))
    };
    let cells: Vec<Value> = record.items(&["spec", "cells"]).filter(stays).cloned().collect();
    if manner.hold == Hold::Rules || cells.is_empty() {
        return None;
    }
    let mut spec = record.get("spec").cloned()?;
    let status = json!({ "where": told(&cells), "refused": [], "refusals": 0, "troubles": [] });
    let hold = Manner { hold: Hold::Left, ..manner };
    (spec["cells"], spec["rules"], spec["manner"]) = (json!(cells), json!([]), hold.told());
    if says_evictions(record) {
        spec["evictions"] = json!([]);
    }
    Some(json!({ "spec": spec, "status": status }))
}

/// The names of cells as a column shows them: a column is one text.
fn told(cells: &[Value]) -> String {
    let mut told: Vec<&str> = cells.iter().filter_map(|cell| cell["name"].as_str()).take(NAMED_MAX).collect();
    let more = format!("+{}", cells.len().saturating_sub(NAMED_MAX));
    if cells.len() > NAMED_MAX {
        told.push(&more);
    }
    told.join(",")
}

/// Changes when anything does that copies are made by, so that those who make them notice.
fn terms(how: &How<'_>) -> String {
    let mut text = format!("{:?}", Terms::of(how.rules));
    if let Some(scripts) = how.interpreter.fingerprint() {
        text.push_str(&format!("{scripts:x}"));
    }
    format!("{:016x}", fnv::hash_64(text.as_bytes()))
}

fn cell(home: &Workspace, target: &Target) -> Value {
    let because: Vec<String> = target.because.iter().map(why).collect();
    let mut cell = json!({ "workspace": home.as_str(), "name": target.cell, "because": because });
    if let Some(replicas) = target.replicas {
        cell["replicas"] = json!(replicas);
    }
    cell
}

/// Whether anything was ever said of evictions.
pub(super) fn says_evictions(record: &Object) -> bool {
    record.pointer(&["spec", "evictions"]).is_some()
}

fn evicting(home: &Workspace, eviction: &Eviction) -> Value {
    let because: Vec<String> = eviction.because.iter().map(why).collect();
    let mut told = json!({
        "workspace": home.as_str(), "name": eviction.cell, "because": because, "reason": reason(eviction.why),
        "purge": purge(eviction.purge), "since": time(eviction.since), "before": eviction.before,
    });
    if let Some(replicas) = eviction.replicas {
        told["replicas"] = json!(replicas);
    }
    if let Some(grace) = eviction.grace_seconds {
        told["graceSeconds"] = json!(grace);
    }
    if !eviction.carry.is_empty() {
        told["carry"] = json!(eviction.carry);
    }
    told
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::Taint => "TaintUntolerated",
        Why::Application => "ApplicationFailure",
    }
}

fn purge(purge: Purge) -> &'static str {
    match purge {
        Purge::Directly => "Directly",
        Purge::Gracefully => "Gracefully",
        Purge::Never => "Never",
    }
}

fn time(seconds: i64) -> Value {
    timestamp(Instant { seconds, nanos: 0 })
}

/// A time that was written down, in seconds.
pub(super) fn seconds(text: &str) -> i64 {
    Instant::parse(text, Precision::Seconds).map_or(0, |instant| instant.seconds)
}

/// The cells of a workspace that an object is leaving.
pub fn evictions_of(record: &Object, home: &Workspace) -> Vec<Eviction> {
    let here = record.items(&["spec", "evictions"]).filter(|told| told["workspace"] == home.as_str());
    let texts = |told: &Value, key: &str| -> Vec<String> {
        told[key].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let read = |told: &Value| Eviction {
        cell: told["name"].as_str().unwrap_or_default().to_owned(),
        replicas: told["replicas"].as_i64(),
        because: texts(told, "because").iter().filter_map(|text| because(text)).collect(),
        why: if told["reason"] == reason(Why::Application) { Why::Application } else { Why::Taint },
        purge: match told["purge"].as_str() {
            Some("Directly") => Purge::Directly,
            Some("Never") => Purge::Never,
            _ => Purge::Gracefully,
        },
        since: seconds(told["since"].as_str().unwrap_or_default()),
        grace_seconds: told["graceSeconds"].as_i64(),
        carry: told["carry"]
            .as_object()
            .into_iter()
            .flatten()
            .filter_map(|(label, value)| Some((label.clone(), value.as_str()?.to_owned())))
            .collect(),
        before: texts(told, "before").into_iter().collect(),
    };
    here.map(read).collect()
}

/// Cells that keep what they have although the object is leaving them: workspace and name.
pub fn staying_in(record: &Object) -> impl Iterator<Item = (&str, &str)> {
    let stays = record.items(&["spec", "evictions"]).filter(|told| told["purge"] != "Directly");
    stays.map(|told| (told["workspace"].as_str().unwrap_or_default(), told["name"].as_str().unwrap_or_default()))
}

const RULE: &str = "rule ";
const FOLLOWS: &str = "follows ";

fn why(because: &Because) -> String {
    match because {
        Because::Rule(name) => format!("{RULE}{name}"),
        Because::Follows(by) => format!("{FOLLOWS}{by}"),
    }
}

fn because(text: &str) -> Option<Because> {
    match text.strip_prefix(RULE) {
        Some(name) => Some(Because::Rule(name.to_owned())),
        None => text.strip_prefix(FOLLOWS).map(|by| Because::Follows(by.to_owned())),
    }
}

/// Where a placement wants an object to be, among the cells of a workspace.
pub fn targets_of(record: &Object, home: &Workspace) -> Vec<Target> {
    let here = record.items(&["spec", "cells"]).filter(|cell| cell["workspace"] == home.as_str());
    let target = |cell: &Value| {
        let why = cell["because"].as_array().into_iter().flatten().filter_map(Value::as_str);
        Target {
            cell: cell["name"].as_str().unwrap_or_default().to_owned(),
            replicas: cell["replicas"].as_i64(),
            because: why.filter_map(because).collect(),
        }
    };
    here.map(target).collect()
}

/// What was decided last time for the cells of a workspace.
pub(super) fn before(record: &Object, home: &Workspace) -> Before {
    let mut before = Before { targets: targets_of(record, home), ..Before::default() };
    let word = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
    let groups = record.items(&["spec", "groups"]);
    before.evictions = evictions_of(record, home);
    before.groups = groups.map(|group| (word(group, "rule"), word(group, "group"))).collect::<BTreeMap<_, _>>();
    before
}

/// Whether a record says what it should.
pub(super) fn says(record: &Object, wanted: &Value) -> bool {
    let empty = Value::Object(Map::new());
    ["spec", "status"].iter().all(|part| record.get(part).unwrap_or(&empty) == &wanted[part])
}

pub(super) fn is_empty(record: &Object) -> bool {
    record.items(&["spec", "cells"]).next().is_none() && record.items(&["spec", "evictions"]).next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_names_a_few_cells_and_counts_the_others() {
        let cells =
            |number: usize| -> Vec<Value> { (0..number).map(|at| json!({ "name": format!("c{at}") })).collect() };
        assert_eq!(told(&cells(0)), "");
        assert_eq!(told(&cells(2)), "c0,c1");
        assert_eq!(told(&cells(5)), "c0,c1,c2,c3,c4");
        assert_eq!(told(&cells(100)), "c0,c1,c2,c3,c4,+95");
    }

    #[test]
    fn copies_stay_when_the_last_rule_that_spoke_for_them_said_so() {
        let cell = |name: &str| json!({ "workspace": "w", "name": name, "because": ["rule n/p"] });
        let record = |hold: &str| {
            let manner = json!({ "namespaces": "Same", "hold": hold, "deletion": "Preserve" });
            let rules = json!([{ "workspace": "w", "name": "n/p" }, { "workspace": "root", "name": "other" }]);
            let spec = json!({ "cells": [cell("a"), cell("b")], "rules": rules, "manner": manner, "terms": "t" });
            Object::try_from(json!({ "metadata": { "name": "u" }, "spec": spec, "status": { "where": "a,b" } }))
                .unwrap()
        };
        let (lasting, workspace) = (record("Lasting"), Workspace::new("w"));
        assert_eq!(rules_of(&lasting, &workspace).collect::<Vec<_>>(), ["n/p"]);
        assert_eq!(left(&record("Rules"), |_, _| true), None);
        assert_eq!(left(&lasting, |_, _| false), None, "there is nowhere to stay");
        let kept = left(&lasting, |_, cell| cell == "b").unwrap();
        assert_eq!((&kept["spec"]["cells"], &kept["spec"]["rules"]), (&json!([cell("b")]), &json!([])));
        assert_eq!((&kept["status"]["where"], &kept["spec"]["terms"]), (&json!("b"), &json!("t")));
        let kept = Object::try_from(json!({ "metadata": {}, "spec": kept["spec"], "status": kept["status"] })).unwrap();
        assert!(says(&kept, &left(&kept, |_, _| true).unwrap()), "nothing is written twice");
        let terms = manner_of(&kept).terms(&[]);
        assert!(terms.is_suspended_in("b") && terms.preserve_on_deletion && terms.namespaces == Namespaces::Same);
        let rules = [Rule::default()];
        assert!(!manner_of(&lasting).terms(&rules).is_suspended_in("b"), "somebody speaks for it");
        assert!(manner_of(&lasting).terms(&[]).is_suspended_in("b"), "nobody does, which is not written down yet");
        assert!(!manner_of(&record("Rules")).terms(&[]).is_suspended_in("b"), "it follows somebody");
        assert_eq!(manner_of(&lasting).following().hold, Hold::Rules, "what follows goes when nobody refers to it");
    }
}
