//! scheduling.k8s.io: who goes first, and who goes together.

use serde_json::Value;

use super::column::{AGE, Column, NAME, boolean, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::NONE;
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        kind: "PriorityClass",
        columns: &[
            NAME,
            integer("Value", "value represents the integer value of this priority class."),
            boolean(
                "Global-Default",
                "globalDefault specifies whether this PriorityClass should be considered as the default",
            ),
            AGE,
            text("PreemptionPolicy", "preemptionPolicy is the Policy for preempting pods with lower priority."),
        ],
        row: priority_class,
    },
    Printer { kind: "Workload", columns: &[NAME, AGE], row: |it| row![it.name(), it.age()] },
    Printer {
        kind: "PodGroup",
        columns: &[
            NAME,
            text("Policy", "schedulingPolicy defines the scheduling policy for this instance of the PodGroup."),
            WORKLOAD,
            text("Status", "Status of the PodGroup"),
            AGE,
        ],
        row: |it| row![it.name(), policy(it), workload(it), status(it), it.age()],
    },
    Printer {
        kind: "CompositePodGroup",
        columns: &[
            NAME,
            text(
                "Policy",
                "schedulingPolicy defines the scheduling policy for this instance of the CompositePodGroup.",
            ),
            WORKLOAD,
            AGE,
        ],
        row: |it| row![it.name(), policy(it), workload(it), it.age()],
    },
];

const WORKLOAD: Column = text("Workload", "Name of the referenced Workload object");

fn priority_class(it: &Subject<'_>) -> Vec<Value> {
    row![it.name(), it.number("value"), it.flag("globalDefault"), it.age(), it.text("preemptionPolicy")]
}

fn policy(group: &Value) -> &'static str {
    if group.has("spec.schedulingPolicy.gang") { "Gang" } else { "Basic" }
}

fn workload(group: &Value) -> &str {
    group.at("spec.workloadRef").map_or(NONE, |workload| workload.text("workloadName"))
}

fn status(group: &Value) -> &str {
    // Were there two conditions of a type, the later would count.
    let last = |kind| group.list("status.conditions").iter().rfind(|condition| condition.text("type") == kind);
    match (last("DisruptionTarget"), last("PodGroupInitiallyScheduled")) {
        (Some(disrupted), _) => disrupted.text("reason"),
        (None, Some(scheduled)) if scheduled.text("status") == "True" => "Scheduled",
        (None, Some(_)) => "Unschedulable",
        (None, None) => "Pending",
    }
}
