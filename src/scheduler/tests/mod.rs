//! The scheduler by data: cells and rules in, placements out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod division;
mod evict;
mod explain;
mod properties;
mod spread;
mod union;

use super::affinity::Affinity;
use super::cell::Capacity;
use super::cell::Effect;
use super::cell::Serves;
use super::cell::Taint;
use super::rule::Division;
use super::rule::Group;
use super::rule::Rule;
use super::rule::Spread;
use super::rule::SpreadBy;
use super::rule::Ties;
use super::*;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Cells and what was decided about them: `m1 free=10 region=eu now=2 | m2 taint=gpu city=dfw`. Words that mean nothing
/// else are labels; `now` without a number is an object without replicas.
#[derive(Debug)]
struct Fleet {
    cells: Vec<Cell>,
    before: Before,
}

fn fleet(text: &str) -> Fleet {
    let mut fleet = Fleet { cells: Vec::new(), before: Before::default() };
    for line in text.split('|').map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let mut cell = Cell { name: words.next().unwrap().to_owned(), ready: true, ..Cell::default() };
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            describe(&mut cell, &mut fleet.before, key, value);
        }
        fleet.cells.push(cell);
    }
    fleet
}

fn describe(cell: &mut Cell, before: &mut Before, key: &str, value: &str) {
    match key {
        "free" => cell.capacity = Some(Capacity { pods: value.parse().unwrap(), ..Capacity::default() }),
        "region" => value.clone_into(&mut cell.region),
        "provider" => value.clone_into(&mut cell.provider),
        "zone" => cell.zones = value.split(',').map(str::to_owned).collect(),
        "taint" => {
            cell.taints.push(Taint {
                key: value.to_owned(),
                value: String::new(),
                effect: Effect::NoSchedule,
                added: None,
            });
        }
        "silent" => cell.ready = false,
        "leaving" => cell.leaving = true,
        "barren" => cell.serves = Serves::Listed(Arc::default()),
        "evicted" => {
            before.evicted.insert(cell.name.clone());
        }
        "now" => {
            let because = BTreeSet::from([Because::Rule("r".to_owned())]);
            before.targets.push(Target { cell: cell.name.clone(), replicas: value.parse().ok(), because });
        }
        label => {
            cell.labels.insert(label.to_owned(), value.into());
        }
    }
}

fn object() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {
        "namespace": "default", "name": "web", "labels": {"city": "dfw", "class": "gpu"}}})
}

fn workload(replicas: i64) -> Workload {
    Workload { replicas, ..Workload::default() }
}

fn rule() -> Rule {
    let mut rule = Rule { name: "r".to_owned(), ..Rule::default() };
    rule.cells.ties = Ties::ByName;
    rule
}

fn dividing(division: Division) -> Rule {
    Rule { replicas: Some(division), ..rule() }
}

fn group(name: &str, cells: &[&str]) -> Group {
    Group { name: name.to_owned(), affinity: Affinity::named(cells), overflow: Vec::new() }
}

fn spread(by: SpreadBy, least: usize, most: Option<usize>) -> Spread {
    Spread { by, least, most }
}

fn planned(fleet: &Fleet, rules: &[Rule], workload: Option<&Workload>, mode: Mode) -> Placement {
    let object = object();
    let (cells, before) = (fleet.cells.as_slice(), &fleet.before);
    plan(&Seen {
        object: &object,
        rules,
        cells,
        workload,
        before,
        followed: &[],
        brings_definition: false,
        mode,
        unclear: None,
    })
}

/// `m1=3 m2=2`, without numbers where there are none.
fn targets(placement: &Placement) -> String {
    let target = |target: &Target| match target.replicas {
        Some(replicas) => format!("{}={replicas}", target.cell),
        None => target.cell.clone(),
    };
    placement.targets.iter().map(target).collect::<Vec<_>>().join(" ")
}

/// Plans and compares the targets, and the reasons of what went wrong.
#[track_caller]
fn check(cells: &str, rules: &[Rule], replicas: Option<i64>, expect: &str) -> Placement {
    check_mode(cells, rules, replicas, Mode::Steady, expect)
}

#[track_caller]
fn check_mode(cells: &str, rules: &[Rule], replicas: Option<i64>, mode: Mode, expect: &str) -> Placement {
    let workload = replicas.map(workload);
    let placement = planned(&fleet(cells), rules, workload.as_ref(), mode);
    let mut found = targets(&placement);
    for trouble in &placement.troubles {
        found += &format!(" !{}", trouble.reason());
    }
    assert_eq!(found.trim(), expect, "{cells}: {placement:#?}");
    placement
}
