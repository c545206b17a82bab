//! lifecycle.k8s.io: evictions, and who asked for them.

use serde_json::Value;

use super::column::{AGE, Column, NAME, text};
use super::look::Look;
use super::subject::{Subject, instant};
use super::words::{UNKNOWN, UNSET, first_few, or};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "EvictionRequest", columns: REQUEST, row: request },
    Printer { kind: "Eviction", columns: EVICTION, row: eviction },
];

const TARGET: Column = text("Target", "target contains a reference to an object");
const TARGET_TYPE: Column = text("Target Type", "target contains a reference to an object");
const STATUS: Column = text("Status", "conditions contain information about the eviction request.");

const REQUEST: &[Column] = &[
    NAME,
    TARGET,
    TARGET_TYPE,
    STATUS,
    text("Requester", "requester allows you to identify the entity, that requested the eviction of the target."),
    text("Intent", "intent specifies the action that should be taken for the specified target."),
    AGE,
];

const EVICTION: &[Column] = &[
    NAME,
    TARGET,
    TARGET_TYPE,
    STATUS,
    text("Active Responder", "state specifies a state that is assigned by the evictionrequest-controller."),
    text("Responder Status", "ResponderStatus represents the last observed status of the eviction process"),
    text(
        "Responder Expected Finish",
        "expectedCompletionTime is the time at which the eviction process step is expected",
    ),
    text("Requesters", "requesters allow you to identify the entities, that requested the eviction of the target."),
    AGE,
    text("Responder Heartbeat", "heartbeatTime is the last time at which the eviction process was reported").wide(),
    text("Responder Status Message", "message provides human-readable details about the state of the responder").wide(),
];

fn request(it: &Subject<'_>) -> Vec<Value> {
    let (target, kind) = target(it);
    row![it.name(), target, kind, status(it), it.text("spec.requester"), it.text("spec.intent"), it.age()]
}

fn eviction(it: &Subject<'_>) -> Vec<Value> {
    let (target, kind) = target(it);
    let responders = it.list("status.targetResponders");
    let is_active = |responder: &&Value| responder.text("state") == "Active";
    let is_over = |responder: &&Value| matches!(responder.text("state"), "Canceled" | "Interrupted" | "Completed");
    let begun = responders.iter().filter(|responder| is_active(responder) || is_over(responder)).count();
    let shown = responders.iter().rfind(is_active).or_else(|| responders.iter().rfind(is_over));
    let name = shown.map_or(UNSET, |responder| responder.text("name"));
    let told = it.list("status.responders").iter().find(|told| shown.is_some() && told.text("name") == name);
    let (progress, finish) = match (shown, told) {
        (Some(shown), Some(told)) => progress(it, shown.text("state"), told),
        _ => (UNSET.to_owned(), UNKNOWN.to_owned()),
    };
    let heartbeat = told.filter(|told| told.has("heartbeatTime"));
    let heartbeat = heartbeat.map(|told| format!("{} ago", it.passed(told.text("heartbeatTime"))));
    row![
        it.name(),
        target,
        kind,
        status(it),
        format!("{name} ({begun}/{})", responders.len()),
        progress,
        finish,
        requesters(it),
        it.age(),
        heartbeat.unwrap_or_else(|| UNSET.to_owned()),
        or(told.map_or("", |told| told.text("message").trim()), UNSET),
    ]
}

fn target(object: &Value) -> (&str, &'static str) {
    match object.at("spec.target.pod") {
        Some(pod) => (pod.text("name"), "Pod"),
        None => (UNSET, UNSET),
    }
}

fn status(object: &Value) -> String {
    for kind in ["TargetEvicted", "Failed"] {
        if object.is_true(kind) {
            let reason = object.condition(kind).map_or("", |condition| condition.text("reason"));
            return format!("{kind} ({reason})");
        }
    }
    if object.number("status.observedGeneration") > 0 { "Progressing" } else { "Pending" }.to_owned()
}

/// How far a responder is, and when it will be done.
fn progress(it: &Subject<'_>, state: &str, told: &Value) -> (String, String) {
    let ago = |field| it.passed(told.text(field));
    match state {
        "Active" if told.has("startTime") => (format!("Started ({} ago)", ago("startTime")), expected(it, told)),
        "Canceled" | "Interrupted" => (state.to_owned(), "-".to_owned()),
        "Completed" if told.has("completionTime") => {
            (format!("{state} ({} ago)", ago("completionTime")), "-".to_owned())
        }
        "Completed" => (state.to_owned(), "-".to_owned()),
        _ => (state.to_owned(), UNKNOWN.to_owned()),
    }
}

fn expected(it: &Subject<'_>, told: &Value) -> String {
    let Some(end) = instant(told.text("expectedCompletionTime")) else { return UNKNOWN.to_owned() };
    if (end.seconds, end.nanos) > (it.now.seconds, it.now.nanos) {
        format!("in {}", it.remaining(end))
    } else {
        format!("{} ago", it.elapsed(end))
    }
}

fn requesters(eviction: &Value) -> String {
    let all = eviction.list("status.requesters");
    let asking = all.iter().filter(|requester| requester.text("intent") != "Withdrawn");
    let mut asking: Vec<&str> = asking.map(|requester| requester.text("name")).collect();
    asking.sort_unstable();
    match (all.is_empty(), asking.is_empty()) {
        (true, _) => "<none>".to_owned(),
        (false, true) => "<withdrawn>".to_owned(),
        (false, false) => or(&first_few(asking, 1, ","), UNSET).to_owned(),
    }
}
