//! Kinds nobody here knows.
//!
//! The cell that is worst off gives the status its shape: it is the one somebody has to look at. Numbers that count
//! replicas, or that the rule names, are added up; conditions are merged.

use super::CellStatus;
use super::Manner;
use super::conditions;
use super::observed_generation;
use super::said;
use super::set;
use crate::apis;
use crate::apis::FieldPath;
use crate::scheduler::rule::StatusUp;
use serde_json::Value;
use std::cmp::Reverse;

pub(super) fn reduce(source: &Value, before: Value, cells: &[&CellStatus], manner: &Manner<'_>) -> Value {
    let badness =
        |status: &Value| apis::list(status, &["conditions"]).iter().map(conditions::badness).max().unwrap_or(0);
    let worst = said(cells).min_by_key(|(cell, status)| (Reverse(badness(status)), *cell));
    let mut status = worst.map_or_else(|| before.clone(), |(_, status)| status.clone());
    keep_what_no_cell_says(&mut status, &before, cells);
    for field in summed(&status, manner.up) {
        let Ok(path) = FieldPath::parse(&field) else { continue };
        add_up(&mut status, &path, cells);
    }
    let merged = conditions::merge(&before, cells, manner.ours);
    if !merged.is_empty() {
        set(&mut status, "conditions", merged);
    }
    if status.get("observedGeneration").is_some() {
        match observed_generation(source, cells) {
            Some(generation) => set(&mut status, "observedGeneration", generation),
            None => drop(apis::remove(&mut status, &["observedGeneration"])),
        }
    }
    status
}

fn keep_what_no_cell_says(status: &mut Value, before: &Value, cells: &[&CellStatus]) {
    for (key, value) in before.as_object().into_iter().flatten() {
        if !said(cells).any(|(_, status)| status.get(key).is_some()) {
            set(status, key, value.clone());
        }
    }
}

/// Those that the rule names, and those that count replicas by their name.
fn summed(status: &Value, up: &StatusUp) -> Vec<String> {
    let counts = |key: &&String| *key == "replicas" || key.ends_with("Replicas");
    let known = status.as_object().into_iter().flatten().map(|(key, _)| key).filter(counts).cloned();
    let mut fields: Vec<String> = known.collect();
    if let StatusUp::Summed(named) = up {
        fields.extend(named.iter().cloned());
    }
    fields.sort();
    fields.dedup();
    fields
}

/// Whole numbers; what is none is left as it is.
fn add_up(status: &mut Value, path: &FieldPath, cells: &[&CellStatus]) {
    let numbers: Vec<i64> = said(cells).filter_map(|(_, status)| path.get(status)?.as_i64()).collect();
    if numbers.is_empty() {
        return;
    }
    let sum = numbers.into_iter().fold(0_i64, i64::saturating_add);
    path.set(status, sum.into());
}
