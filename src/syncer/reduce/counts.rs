//! Statuses that count replicas: the cells' numbers are added up.

use super::CellStatus;
use super::observed_generation;
use super::said;
use super::set;
use crate::apis;
use crate::apis::Kind;
use serde_json::Map;
use serde_json::Value;

/// The countable fields of a kind.
pub(super) fn fields(kind: &Kind) -> Option<&'static [&'static str]> {
    match kind.name() {
        ("apps", "Deployment") => {
            Some(&["replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "unavailableReplicas"])
        }
        ("apps", "ReplicaSet") => Some(&["replicas", "readyReplicas", "availableReplicas"]),
        ("apps", "StatefulSet") => {
            Some(&["replicas", "readyReplicas", "updatedReplicas", "availableReplicas", "currentReplicas"])
        }
        ("apps", "DaemonSet") => Some(&[
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberAvailable",
            "numberMisscheduled",
            "numberReady",
            "updatedNumberScheduled",
            "numberUnavailable",
        ]),
        ("autoscaling", "HorizontalPodAutoscaler") => Some(&["currentReplicas", "desiredReplicas"]),
        _ => None,
    }
}

/// Zeros are said too: that nothing runs is news.
pub(super) fn reduce(source: &Value, mut status: Value, cells: &[&CellStatus], fields: &[&str]) -> Value {
    add_up(&mut status, cells, fields);
    if Kind::of(source).group() == "apps"
        && let Some(generation) = observed_generation(source, cells)
    {
        set(&mut status, "observedGeneration", generation);
    }
    status
}

fn add_up(status: &mut Value, cells: &[&CellStatus], fields: &[&str]) {
    for field in fields {
        let numbers = said(cells).filter_map(|(_, status)| apis::number(status, &[field]));
        set(status, field, numbers.fold(0_i64, i64::saturating_add));
    }
}

/// Pods that are being disrupted are told apart by their cells.
pub(super) fn budget(mut status: Value, cells: &[&CellStatus]) -> Value {
    add_up(&mut status, cells, &["currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed"]);
    let mut disrupted = Map::new();
    for (cell, status) in said(cells) {
        for (pod, since) in apis::map(status, &["disruptedPods"]).into_iter().flatten() {
            disrupted.insert(format!("{cell}/{pod}"), since.clone());
        }
    }
    set(&mut status, "disruptedPods", disrupted);
    status
}
