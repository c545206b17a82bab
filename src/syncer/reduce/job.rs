//! Jobs, which are done when they are done everywhere.

use super::CellStatus;
use super::said;
use super::set;
use crate::apis;
use serde_json::Value;
use serde_json::json;

/// A job that is finished stays as it is.
pub(super) fn reduce(before: Value, cells: &[&CellStatus], now: &str) -> Value {
    if is_true(&before, "Complete") || is_true(&before, "Failed") {
        return before;
    }
    let mut status = json!({});
    for field in ["active", "succeeded", "failed"] {
        let numbers = said(cells).filter_map(|(_, status)| apis::number(status, &[field]));
        set(&mut status, field, numbers.sum::<i64>());
    }
    let conditions = conditions(cells, now);
    if !conditions.is_empty() {
        set(&mut status, "conditions", conditions);
    }
    let times = |field| -> Vec<&str> { said(cells).filter_map(|(_, status)| apis::text(status, &[field])).collect() };
    let started = times("startTime");
    // Times are text of one form: the earliest sorts first.
    let first = started.iter().min().filter(|_| started.len() == cells.len());
    if let Some(start) = apis::text(&before, &["startTime"]).or(first.copied()) {
        set(&mut status, "startTime", start);
    }
    let completed = times("completionTime");
    if let Some(last) = completed.iter().max().filter(|_| completed.len() == cells.len()) {
        set(&mut status, "completionTime", *last);
    }
    status
}

fn conditions(cells: &[&CellStatus], now: &str) -> Vec<Value> {
    let condition = |kind: &str, reason: &str, message: String| {
        json!({"type": kind, "status": "True", "reason": reason, "message": message,
            "lastProbeTime": now, "lastTransitionTime": now})
    };
    let with = |kind: &'static str| said(cells).filter(move |(_, status)| is_true(status, kind)).map(|(cell, _)| cell);
    let mut conditions = Vec::new();
    let failed: Vec<&str> = with("Failed").collect();
    if !failed.is_empty() {
        let message = format!("Job executed failed in member clusters {}", failed.join(","));
        conditions.push(condition("Failed", "JobFailed", message));
    }
    if with("Complete").count() == cells.len() {
        conditions.push(condition("Complete", "Completed", "Job completed".to_owned()));
        if with("SuccessCriteriaMet").count() == cells.len() {
            let message = "All member clusters have met success criteria".to_owned();
            conditions.push(condition("SuccessCriteriaMet", "CompletionsReached", message));
        }
    }
    conditions
}

fn is_true(status: &Value, kind: &str) -> bool {
    let said = |condition: &Value, key| apis::text(condition, &[key]).unwrap_or_default().to_owned();
    let conditions = apis::list(status, &["conditions"]).iter();
    conditions.into_iter().any(|condition| said(condition, "type") == kind && said(condition, "status") == "True")
}

/// What runs anywhere, and when it last did.
pub(super) fn reduce_cron(mut status: Value, cells: &[&CellStatus]) -> Value {
    let active: Vec<Value> = said(cells).flat_map(|(_, status)| apis::list(status, &["active"])).cloned().collect();
    if active.is_empty() {
        apis::remove(&mut status, &["active"]);
    } else {
        set(&mut status, "active", active);
    }
    for field in ["lastScheduleTime", "lastSuccessfulTime"] {
        let last = said(cells).filter_map(|(_, status)| apis::text(status, &[field])).max();
        if let Some(last) = last {
            set(&mut status, field, last);
        }
    }
    status
}
