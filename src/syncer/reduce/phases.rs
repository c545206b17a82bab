//! Statuses that are a phase: the one furthest from what is wanted is shown.

use super::CellStatus;
use super::said;
use super::set;
use crate::apis;
use serde_json::Map;
use serde_json::Value;

/// The first of `order` that a cell is in; a cell that has said nothing is in `silent`.
fn worst(cells: &[&CellStatus], order: &[&'static str], silent: Option<&str>) -> Option<&'static str> {
    let is_in = |cell: &&&CellStatus, phase: &str| match &cell.status {
        Some(status) => apis::text(status, &["phase"]) == Some(phase),
        None => silent == Some(phase),
    };
    order.iter().find(|phase| cells.iter().any(|cell| is_in(&cell, phase))).copied()
}

pub(super) fn pod(mut status: Value, cells: &[&CellStatus]) -> Value {
    let phase = worst(cells, &["Failed", "Pending", "Running", "Succeeded"], Some("Pending"));
    if let Some(phase) = phase {
        set(&mut status, "phase", phase);
    }
    for list in ["containerStatuses", "initContainerStatuses"] {
        let all = said(cells).flat_map(|(_, status)| apis::list(status, &[list]));
        let containers: Vec<Value> = all.map(running).collect();
        if list == "containerStatuses" || !containers.is_empty() {
            set(&mut status, list, containers);
        }
    }
    status
}

/// Whether a container is ready and what it does; what it is called is the same everywhere.
fn running(container: &Value) -> Value {
    let kept = ["ready", "state"].into_iter();
    let kept = kept.filter_map(|key| Some((key.to_owned(), container.get(key)?.clone())));
    Value::Object(kept.collect::<Map<_, _>>())
}

pub(super) fn volume(mut status: Value, cells: &[&CellStatus]) -> Value {
    let order = ["Failed", "Pending", "Available", "Bound", "Released"];
    if let Some(phase) = worst(cells, &order, Some("Pending")) {
        set(&mut status, "phase", phase);
    }
    status
}

pub(super) fn claim(mut status: Value, cells: &[&CellStatus]) -> Value {
    set(&mut status, "phase", worst(cells, &["Lost", "Pending"], None).unwrap_or("Bound"));
    status
}
