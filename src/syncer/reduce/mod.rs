//! What many cells say of an object, as one status of its source.
//!
//! Countable things are added up, of what is good or bad the worst is shown, and conditions that belong to the source
//! are left alone. Built-in kinds are reduced as Karmada does it; of others nothing is known but what every kind has.
//! A cell that has said nothing yet takes nothing away.

mod addresses;
mod conditions;
mod counts;
mod generic;
mod job;
mod phases;

use crate::apis;
use crate::apis::Kind;
use crate::apis::interpret::{InterpretError, Interpreter};
use crate::apis::kinds::Health;
use crate::scheduler::rule::StatusUp;
use serde_json::Value;
use serde_json::json;
use std::borrow::Borrow;
use std::collections::BTreeSet;

/// What one cell says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellStatus {
    pub cell: String,
    /// `None` until it has said something.
    pub status: Option<Value>,
    /// Of the object in the cell.
    pub generation: i64,
    /// Of the source, when the cell last got it.
    pub source_generation: i64,
    /// Whether the cell has it as it should; otherwise why not.
    pub applied: bool,
    pub message: String,
    pub health: Health,
}

impl CellStatus {
    /// As scripts are told of it.
    fn item(&self) -> Value {
        let health = if self.applied { self.health } else { Health::Unknown };
        let mut item = json!({"clusterName": self.cell, "applied": self.applied, "health": health.name()});
        if !self.message.is_empty() {
            set(&mut item, "appliedMessage", self.message.as_str());
        }
        if let Some(status) = &self.status {
            set(&mut item, "status", status.clone());
        }
        item
    }

    /// Whether it speaks of the source as it is now.
    fn is_current(&self, source_generation: i64) -> bool {
        let observed = self.status.as_ref().and_then(|status| apis::number(status, &["observedGeneration"]));
        observed.unwrap_or(0) >= self.generation && self.source_generation >= source_generation
    }
}

/// How statuses are reduced.
#[derive(Clone, Copy, Debug)]
pub struct Manner<'a> {
    pub up: &'a StatusUp,
    /// Conditions of the source that no cell may overwrite.
    pub ours: &'a BTreeSet<String>,
    /// The time of day, for conditions that are made here.
    pub now: &'a str,
    /// Who knows what the source means.
    pub interpreter: &'a Interpreter,
}

/// The whole new status of the source; equal to the old one if there is nothing new. `cells` in any order.
pub fn reduce<C: Borrow<CellStatus>>(
    source: &Value,
    cells: &[C],
    manner: &Manner<'_>,
) -> Result<Value, InterpretError> {
    let before = source.get("status").cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let mut cells: Vec<&CellStatus> = cells.iter().map(Borrow::borrow).collect();
    if *manner.up == StatusUp::Off || cells.iter().all(|cell| cell.status.is_none()) {
        return Ok(before);
    }
    cells.sort_by(|a, b| a.cell.cmp(&b.cell));
    if *manner.up == StatusUp::Known {
        let items = cells.iter().map(|cell| cell.item()).collect();
        if let Some(status) = manner.interpreter.aggregate(source, items)? {
            return Ok(conditions::keep_ours(status, &before, manner.ours));
        }
    }
    Ok(known(source, before, &cells, manner))
}

/// By what is known of the kind.
fn known(source: &Value, before: Value, cells: &[&CellStatus], manner: &Manner<'_>) -> Value {
    let kind = Kind::of(source);
    if let (StatusUp::Known, Some(fields)) = (manner.up, counts::fields(&kind)) {
        return counts::reduce(source, before, cells, fields);
    }
    match (manner.up, kind.name()) {
        (StatusUp::Summed(_), _) => generic::reduce(source, before, cells, manner),
        (_, ("", "Service") | ("networking.k8s.io", "Ingress")) => addresses::reduce(source, before, cells),
        (_, ("batch", "Job")) => job::reduce(before, cells, manner.now),
        (_, ("batch", "CronJob")) => job::reduce_cron(before, cells),
        (_, ("", "Pod")) => phases::pod(before, cells),
        (_, ("", "PersistentVolume")) => phases::volume(before, cells),
        (_, ("", "PersistentVolumeClaim")) => phases::claim(before, cells),
        (_, ("policy", "PodDisruptionBudget")) => counts::budget(before, cells),
        _ => generic::reduce(source, before, cells, manner),
    }
}

/// Those that have said something.
fn said<'a>(cells: &'a [&'a CellStatus]) -> impl Iterator<Item = (&'a str, &'a Value)> {
    cells.iter().filter_map(|cell| Some((cell.cell.as_str(), cell.status.as_ref()?)))
}

/// The source's generation, once every cell speaks of it; until then what was observed before.
fn observed_generation(source: &Value, cells: &[&CellStatus]) -> Option<i64> {
    let generation = apis::number(source, &["metadata", "generation"]).unwrap_or(0);
    if cells.iter().all(|cell| cell.is_current(generation)) {
        return Some(generation);
    }
    apis::number(source, &["status", "observedGeneration"])
}

fn set(status: &mut Value, field: &str, value: impl Into<Value>) {
    apis::map_mut(status, &[]).insert(field.to_owned(), value.into());
}
