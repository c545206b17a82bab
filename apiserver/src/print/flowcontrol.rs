//! flowcontrol.apiserver.k8s.io: who waits for whom.

use serde_json::Value;

use super::column::{AGE, Column, NAME, text};
use super::look::Look;
use super::subject::Subject;
use super::words::NONE;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "FlowSchema", columns: FLOW_SCHEMA, row: flow_schema },
    Printer { kind: "PriorityLevelConfiguration", columns: PRIORITY_LEVEL, row: priority_level },
];

const FLOW_SCHEMA: &[Column] = &[
    NAME,
    text("PriorityLevel", "`name` is the name of the priority level configuration being referenced"),
    text(
        "MatchingPrecedence",
        "`matchingPrecedence` is used to choose among the FlowSchemas that match a given request.",
    ),
    text("DistinguisherMethod", "`distinguisherMethod` defines how to compute the flow distinguisher for requests"),
    AGE,
    text("MissingPL", "references a broken or non-existent PriorityLevelConfiguration"),
];

const PRIORITY_LEVEL: &[Column] = &[
    NAME,
    text("Type", "`type` indicates whether this priority level is subject to limitation on request execution."),
    text("NominalConcurrencyShares", "`nominalConcurrencyShares` (NCS) contributes to the computation"),
    text("Queues", "`queues` is the number of queues for this priority level."),
    text(
        "HandSize",
        "`handSize` is a small positive number that configures the shuffle sharding of requests into queues.",
    ),
    text("QueueLengthLimit", "`queueLengthLimit` is the maximum number of requests allowed to be waiting"),
    AGE,
];

/// Flow schemas are tried by precedence, then by name.
pub(super) fn precedence(schema: &Value) -> (i64, String) {
    (schema.number("spec.matchingPrecedence"), schema.text("metadata.name").to_owned())
}

fn flow_schema(it: &Subject<'_>) -> Vec<Value> {
    row![
        it.name(),
        it.text("spec.priorityLevelConfiguration.name"),
        it.number("spec.matchingPrecedence"),
        it.at("spec.distinguisherMethod").map_or(NONE, |method| method.text("type")),
        it.age(),
        it.condition("Dangling").map_or("?", |condition| condition.text("status")),
    ]
}

fn priority_level(it: &Subject<'_>) -> Vec<Value> {
    let number_if = |exists: &str, path: &str| {
        if it.has(exists) { Value::from(it.number(&format!("{exists}.{path}"))) } else { Value::from(NONE) }
    };
    let queuing = "spec.limited.limitResponse.queuing";
    row![
        it.name(),
        it.text("spec.type"),
        number_if("spec.limited", "nominalConcurrencyShares"),
        number_if(queuing, "queues"),
        number_if(queuing, "handSize"),
        number_if(queuing, "queueLengthLimit"),
        it.age(),
    ]
}
