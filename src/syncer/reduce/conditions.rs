//! Conditions of several cells as one list: of each type the worst.

use super::CellStatus;
use super::said;
use crate::apis;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeSet;

/// Types that are bad when they are true, by how they end or what they contain. All others are good.
const BAD: [&str; 9] =
    ["Degraded", "Error", "Failed", "Failing", "Failure", "Pressure", "Stalled", "Terminating", "Unavailable"];

/// 2 is worst.
pub(super) fn badness(condition: &Value) -> u8 {
    let kind = apis::text(condition, &["type"]).unwrap_or_default();
    let is_bad = BAD.iter().any(|bad| kind.contains(bad));
    match apis::text(condition, &["status"]) {
        Some("True") => {
            if is_bad {
                2
            } else {
                0
            }
        }
        Some("False") => {
            if is_bad {
                0
            } else {
                2
            }
        }
        _ => 1,
    }
}

/// In the order of the source, then of the cells. Those of `ours`, and those no cell speaks of, stay as they are.
pub(super) fn merge(before: &Value, cells: &[&CellStatus], ours: &BTreeSet<String>) -> Vec<Value> {
    let mut merged: Vec<Value> = apis::list(before, &["conditions"]).to_vec();
    let mut done = BTreeSet::new();
    for (_, status) in said(cells) {
        for condition in apis::list(status, &["conditions"]) {
            let Some(kind) = apis::text(condition, &["type"]) else { continue };
            if ours.contains(kind) || !done.insert(kind.to_owned()) {
                continue;
            }
            let worst = worst(kind, cells);
            match merged.iter_mut().find(|known| apis::text(known, &["type"]) == Some(kind)) {
                Some(known) => *known = worst,
                None => merged.push(worst),
            }
        }
    }
    merged
}

/// Puts back conditions that are ours into a status that somebody made anew.
pub(super) fn keep_ours(mut status: Value, before: &Value, ours: &BTreeSet<String>) -> Value {
    let is_ours = |condition: &&Value| apis::text(condition, &["type"]).is_some_and(|kind| ours.contains(kind));
    let kept: Vec<Value> = apis::list(before, &["conditions"]).iter().filter(is_ours).cloned().collect();
    if !kept.is_empty() {
        let others = apis::list(&status, &["conditions"]).iter().filter(|condition| !is_ours(condition)).cloned();
        let all: Vec<Value> = others.chain(kept).collect();
        super::set(&mut status, "conditions", all);
    }
    status
}

fn worst(kind: &str, cells: &[&CellStatus]) -> Value {
    let of_kind = |condition: &&Value| apis::text(condition, &["type"]) == Some(kind);
    let find = |(cell, status): (&'_ str, &'_ Value)| {
        Some((cell.to_owned(), apis::list(status, &["conditions"]).iter().find(of_kind)?.clone()))
    };
    let all: Vec<(String, Value)> = said(cells).filter_map(find).collect();
    let most = all.iter().map(|(_, condition)| badness(condition)).max().unwrap_or(0);
    let worst: Vec<_> = all.iter().filter(|(_, condition)| badness(condition) == most).collect();
    let Some((_, first)) = worst.first() else { return json!({"type": kind, "status": "Unknown"}) };
    let mut result = first.clone();
    let same = worst.len() == all.len() && worst.iter().all(|(_, condition)| message(condition) == message(first));
    if all.len() > 1 && !same {
        let messages: Vec<_> =
            worst.iter().map(|(cell, condition)| format!("{cell}: {}", message(condition))).collect();
        super::set(&mut result, "message", messages.join("; "));
    }
    let times = worst.iter().filter_map(|(_, condition)| apis::text(condition, &["lastTransitionTime"]));
    if let Some(last) = times.max() {
        super::set(&mut result, "lastTransitionTime", last);
    }
    result
}

fn message(condition: &Value) -> &str {
    apis::text(condition, &["message"]).or(apis::text(condition, &["reason"])).unwrap_or_default()
}
