//! What the scheduler needs to know of a cell, read from its object.

use crate::apis::Kind;
use crate::scheduler::cell::{Capacity, Cell, Effect, Serves, Taint};
use apiserver::object::Object;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub fn facts_of(cell: &Object) -> Cell {
    let texts = |path: &[&str]| cell.items(path).filter_map(Value::as_str).map(str::to_owned).collect();
    let ready =
        cell.items(&["status", "conditions"]).any(|found| found["type"] == "Ready" && found["status"] == "True");
    Cell {
        name: cell.name().to_owned(),
        labels: cell.labels().cloned().unwrap_or_default(),
        region: cell.text(&["spec", "region"]).to_owned(),
        provider: cell.text(&["spec", "provider"]).to_owned(),
        zones: texts(&["spec", "zones"]),
        taints: cell.items(&["spec", "taints"]).filter_map(taint).collect(),
        ready,
        leaving: cell.is_deleting(),
        serves: serves(cell),
        capacity: capacity(cell),
    }
}

fn taint(tree: &Value) -> Option<Taint> {
    let word = |key: &str| tree[key].as_str().unwrap_or_default();
    let effect = Effect::parse(word("effect"))?;
    Some(Taint { key: word("key").to_owned(), value: word("value").to_owned(), effect })
}

fn serves(cell: &Object) -> Serves {
    let mut kinds = BTreeSet::new();
    for version in cell.items(&["status", "apiEnablements"]) {
        let api_version = version["groupVersion"].as_str().unwrap_or_default();
        let resources = version["resources"].as_array().into_iter().flatten();
        let named = resources.filter_map(|resource| resource["kind"].as_str());
        kinds.extend(named.map(|kind| Kind::new(api_version, kind)));
    }
    Serves::Listed(kinds)
}

/// Whole numbers by resource, as the syncer of capacities writes them.
fn capacity(cell: &Object) -> Option<Capacity> {
    let free = cell.pointer(&["status", "capacity"])?.as_object()?;
    let amounts: BTreeMap<String, i64> =
        free.iter().filter_map(|(name, amount)| Some((name.clone(), amount.as_i64()?))).collect();
    let pods = amounts.get("pods").copied().unwrap_or_default();
    Some(Capacity { pods, resources: amounts, models: Vec::new() })
}
