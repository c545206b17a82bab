//! What is recorded beside what is there: everything that is not as it should be, by name.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// An object of a cell: group, resource, namespace and name.
pub type Place = [String; 4];

/// An object that bears our mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub place: Place,
    pub uid: String,
    /// The UID of what it says it is a copy of.
    pub source: String,
}

/// Everything that is looked at.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Records of copies, as objects.
    pub copies: Vec<Value>,
    pub placements: Vec<Value>,
    /// What bears our mark in each cell, by [`cell_name`]; `None` for a cell that did not answer.
    pub cells: BTreeMap<String, Option<Vec<Found>>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Finding {
    /// It bears our mark, and nobody knows of it.
    Orphan { cell: String, place: Place },
    /// It is recorded as being there, and is not.
    Lost { cell: String, place: Place },
    /// It is recorded as ours, and somebody else's is in its place.
    Stranger { cell: String, place: Place },
    /// The same source is there more than once, or one place has two records.
    Doubled { cell: String, place: Place },
    /// It is recorded, and no placement wants it there.
    Unwanted { cell: String, place: Place },
    /// A placement wants it there, and it is not recorded.
    Missing { cell: String, object: String },
    /// Nobody knows what is in there.
    Silent { cell: String },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, cell, place) = match self {
            Self::Orphan { cell, place } => ("orphan", cell, place),
            Self::Lost { cell, place } => ("lost", cell, place),
            Self::Stranger { cell, place } => ("stranger", cell, place),
            Self::Doubled { cell, place } => ("doubled", cell, place),
            Self::Unwanted { cell, place } => ("unwanted", cell, place),
            Self::Missing { cell, object } => return write!(f, "missing: {object} in cell {cell}"),
            Self::Silent { cell } => return write!(f, "silent: cell {cell} does not answer"),
        };
        let [group, resource, namespace, name] = place;
        let dot = if group.is_empty() { "" } else { "." };
        let slash = if namespace.is_empty() { "" } else { "/" };
        write!(f, "{word}: {resource}{dot}{group} {namespace}{slash}{name} in cell {cell}")
    }
}

/// A cell of a workspace. Others may have one of the same name.
pub fn cell_name(workspace: &str, name: &str) -> String {
    if workspace.is_empty() { name.to_owned() } else { format!("{workspace}/{name}") }
}

/// What a record says.
struct Recorded {
    cell: String,
    place: Place,
    source: String,
    uid: String,
    applied: bool,
    /// It was there before; whose it is says another record, or nobody's.
    found: bool,
    is_namespace: bool,
}

fn word(tree: &Value, path: &[&str]) -> String {
    let found = path.iter().try_fold(tree, |at, step| at.get(step));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Recorded {
    fn read(copy: &Value) -> Self {
        let of = |part: &str, key: &str| word(copy, &["spec", part, key]);
        let place = [of("object", "group"), of("object", "resource"), of("object", "namespace"), of("object", "name")];
        Self {
            cell: cell_name(&of("cell", "workspace"), &of("cell", "name")),
            is_namespace: place[0].is_empty() && place[1] == "namespaces",
            place,
            source: of("source", "uid"),
            uid: word(copy, &["status", "uid"]),
            found: word(copy, &["status", "reason"]) == "Found",
            // What was found in a cell is not ours there.
            applied: word(copy, &["status", "applied"]) == "True" && !word(copy, &["status", "uid"]).is_empty(),
        }
    }
}

/// Everything that is not as it should be, in order. Nothing, if all is well.
pub fn audit(evidence: &Evidence) -> BTreeSet<Finding> {
    let records: Vec<Recorded> = evidence.copies.iter().map(Recorded::read).collect();
    // One API may have joined as several cells; what one of them has, the others show too.
    let known: BTreeSet<&str> = records.iter().map(|record| record.uid.as_str()).collect();
    let mut findings = BTreeSet::new();
    for (cell, found) in &evidence.cells {
        let here: Vec<&Recorded> = records.iter().filter(|record| record.cell == *cell).collect();
        match found {
            None => drop(findings.insert(Finding::Silent { cell: cell.clone() })),
            Some(found) => compare(cell, (&here, &known), found, &mut findings),
        }
    }
    doubled(&records, &mut findings);
    wanted(evidence, &records, &mut findings);
    findings
}

fn compare(
    cell: &str,
    (records, known): (&[&Recorded], &BTreeSet<&str>),
    found: &[Found],
    findings: &mut BTreeSet<Finding>,
) {
    let cell = || cell.to_owned();
    let recorded: BTreeSet<&Place> = records.iter().map(|record| &record.place).collect();
    let is_known = |object: &&Found| recorded.contains(&object.place) || known.contains(object.uid.as_str());
    for object in found.iter().filter(|object| !is_known(object)) {
        findings.insert(Finding::Orphan { cell: cell(), place: object.place.clone() });
    }
    for record in records.iter().filter(|record| record.applied) {
        let place = record.place.clone();
        match found.iter().find(|object| object.place == record.place) {
            None => drop(findings.insert(Finding::Lost { cell: cell(), place })),
            Some(object) if object.source != record.source || object.uid != record.uid => {
                findings.insert(Finding::Stranger { cell: cell(), place });
            }
            Some(_) => {}
        }
    }
    let mut sources = BTreeSet::new();
    for object in found {
        // A namespace can be there by its own name and by the one that tells it from those of others.
        let is_mapped = object.place[1] == "namespaces" && object.place[3] == format!("ns-{}", object.source);
        if !sources.insert((&object.source, &object.place[1], is_mapped)) {
            findings.insert(Finding::Doubled { cell: cell(), place: object.place.clone() });
        }
    }
}

fn doubled(records: &[Recorded], findings: &mut BTreeSet<Finding>) {
    let mut places = BTreeSet::new();
    for record in records.iter().filter(|record| !record.found) {
        if !places.insert((&record.cell, &record.place)) {
            findings.insert(Finding::Doubled { cell: record.cell.clone(), place: record.place.clone() });
        }
    }
}

/// Decisions beside records.
fn wanted(evidence: &Evidence, records: &[Recorded], findings: &mut BTreeSet<Finding>) {
    let mut wanted = BTreeSet::new();
    for placement in &evidence.placements {
        let uid = word(placement, &["spec", "source", "uid"]);
        // What is still in cells that the object is leaving is known; it need not be there.
        for left in placement["spec"]["evictions"].as_array().into_iter().flatten() {
            wanted.insert((cell_name(&word(left, &["workspace"]), &word(left, &["name"])), uid.clone()));
        }
        for cell in placement["spec"]["cells"].as_array().into_iter().flatten() {
            let cell = cell_name(&word(cell, &["workspace"]), &word(cell, &["name"]));
            if !records.iter().any(|record| record.cell == cell && record.source == uid) {
                let object = word(placement, &["spec", "source", "name"]);
                findings.insert(Finding::Missing { cell: cell.clone(), object });
            }
            wanted.insert((cell, uid.clone()));
        }
    }
    // Namespaces are wanted by what is in them.
    for record in records.iter().filter(|record| !record.is_namespace) {
        if !wanted.contains(&(record.cell.clone(), record.source.clone())) {
            findings.insert(Finding::Unwanted { cell: record.cell.clone(), place: record.place.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn place(name: &str) -> Place {
        ["", "configmaps", "n", name].map(str::to_owned)
    }

    fn copy(source: &str, name: &str) -> Value {
        json!({
            "spec": {
                "cell": { "name": "a" }, "source": { "uid": source },
                "object": { "group": "", "resource": "configmaps", "namespace": "n", "name": name },
            },
            "status": { "applied": "True", "uid": format!("{source}-in-a") },
        })
    }

    fn placement(source: &str, name: &str) -> Value {
        json!({ "spec": { "source": { "uid": source, "name": name }, "cells": [{ "name": "a" }] } })
    }

    fn found(source: &str, name: &str) -> Found {
        Found { place: place(name), uid: format!("{source}-in-a"), source: source.to_owned() }
    }

    /// One object `x` in one cell `a`, as it should be.
    fn well() -> Evidence {
        Evidence {
            copies: vec![copy("1", "x")],
            placements: vec![placement("1", "x")],
            cells: BTreeMap::from([("a".to_owned(), Some(vec![found("1", "x")]))]),
        }
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut Evidence, &mut Vec<Found>), expect: &[&str]) {
        let mut evidence = well();
        let mut there = evidence.cells.remove("a").flatten().unwrap();
        change(&mut evidence, &mut there);
        evidence.cells.entry("a".to_owned()).or_insert(Some(there));
        let told: Vec<String> = audit(&evidence).iter().map(ToString::to_string).collect();
        assert_eq!(told, expect);
    }

    #[test]
    fn where_all_is_well_nothing_is_told() {
        check(|_, _| {}, &[]);
    }

    #[test]
    fn whatever_is_not_as_recorded_is_told() {
        check(|_, there| there.push(found("2", "y")), &["orphan: configmaps n/y in cell a"]);
        check(|_, there| there.clear(), &["lost: configmaps n/x in cell a"]);
        check(|_, there| there[0].uid = "other".to_owned(), &["stranger: configmaps n/x in cell a"]);
        check(|evidence, _| evidence.placements.clear(), &["unwanted: configmaps n/x in cell a"]);
        check(|evidence, _| evidence.placements.push(placement("2", "y")), &["missing: y in cell a"]);
        check(|evidence, _| drop(evidence.cells.insert("a".to_owned(), None)), &["silent: cell a does not answer"]);
    }

    #[test]
    fn what_one_brought_and_another_found_is_there_once() {
        let mut found = copy("2", "x");
        found["status"] = json!({ "applied": "True", "reason": "Found" });
        check(
            |evidence, _| {
                evidence.copies.push(found);
                evidence.placements.push(placement("2", "x"));
            },
            &[],
        );
    }

    #[test]
    fn what_is_there_twice_is_told() {
        let twice = |_: &mut Evidence, there: &mut Vec<Found>| there.push(found("1", "y"));
        check(twice, &["doubled: configmaps n/y in cell a"]);
        let other = |_: &mut Evidence, there: &mut Vec<Found>| {
            there.push(Found { uid: "other".to_owned(), ..found("1", "y") });
        };
        check(other, &["orphan: configmaps n/y in cell a", "doubled: configmaps n/y in cell a"]);
    }

    #[test]
    fn what_is_seen_through_another_name_of_the_same_cell_is_no_orphan() {
        let twin = |evidence: &mut Evidence, _: &mut Vec<Found>| {
            evidence.cells.insert("b".to_owned(), Some(vec![found("1", "x")]));
        };
        check(twin, &[]);
    }
}
