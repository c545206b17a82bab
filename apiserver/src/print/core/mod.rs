//! Kinds of the core group that need few words; the others have a file each.

mod event;
mod node;
mod pod;
mod service;
mod volume;

use serde_json::Value;

use super::column::{AGE, CONTAINERS, Column, IMAGES, NAME, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{amount, containers, join, labels};
use super::{Printer, row};

pub(super) use event::EVENTS;
pub(super) use pod::completed;

pub(super) const PRINTERS: &[Printer] = &[
    pod::PRINTER,
    node::PRINTER,
    service::SERVICE,
    service::ENDPOINTS,
    volume::PERSISTENT_VOLUME,
    volume::PERSISTENT_VOLUME_CLAIM,
    event::CORE,
    Printer {
        kind: "Namespace",
        columns: &[NAME, text("Status", "The status of the namespace"), AGE],
        row: |it| row![it.name(), it.text("status.phase"), it.age()],
    },
    Printer {
        kind: "ConfigMap",
        columns: &[NAME, text("Data", "Data contains the configuration data."), AGE],
        row: |it| row![it.name(), it.count("data") + it.count("binaryData"), it.age()],
    },
    Printer {
        kind: "Secret",
        columns: &[
            NAME,
            text("Type", "Used to facilitate programmatic handling of secret data."),
            text("Data", "Data contains the secret data."),
            AGE,
        ],
        row: |it| row![it.name(), it.text("type"), it.count("data"), it.age()],
    },
    Printer { kind: "ServiceAccount", columns: &[NAME, AGE], row: |it| row![it.name(), it.age()] },
    Printer {
        kind: "PodTemplate",
        columns: &[NAME, CONTAINERS, IMAGES, text("Pod Labels", "The labels for the pod template.")],
        row: pod_template,
    },
    Printer { kind: "ReplicationController", columns: REPLICATION_CONTROLLER, row: replication_controller },
    Printer {
        kind: "ResourceQuota",
        columns: &[
            NAME,
            text("Request", "Request represents a minimum amount of cpu/memory that a container may consume."),
            text("Limit", "Limits control the maximum amount of cpu/memory that a container may use"),
            AGE,
        ],
        row: resource_quota,
    },
    Printer {
        kind: "ComponentStatus",
        columns: &[
            NAME,
            text("Status", "Status of the component conditions"),
            text("Message", "Message of the component conditions"),
            text("Error", "Error of the component conditions"),
        ],
        row: component_status,
    },
];

const REPLICATION_CONTROLLER: &[Column] = &[
    NAME,
    integer("Desired", "Replicas is the number of desired replicas."),
    integer("Current", "Replicas is the most recently observed number of replicas."),
    integer("Ready", "The number of ready replicas for this replication controller."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    text("Selector", "Selector is a label query over pods that should match the Replicas count.").wide(),
];

fn replication_controller(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("spec.template.spec.containers"));
    row![
        it.name(),
        it.number("spec.replicas"),
        it.number("status.replicas"),
        it.number("status.readyReplicas"),
        it.age(),
        names,
        images,
        labels(it.map("spec.selector")),
    ]
}

fn pod_template(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("template.spec.containers"));
    row![it.name(), names, images, labels(it.map("template.metadata.labels"))]
}

fn resource_quota(it: &Subject<'_>) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (resource, hard) in it.map("status.hard").into_iter().flatten() {
        let used = amount(it.entry("status.used", resource));
        let column = if resource.starts_with("limits.") { &mut limits } else { &mut requests };
        column.push(format!("{resource}: {used}/{}", amount(Some(hard))));
    }
    row![it.name(), join(requests, ", "), join(limits, ", "), it.age()]
}

fn component_status(it: &Subject<'_>) -> Vec<Value> {
    let Some(healthy) = it.list("conditions").iter().find(|condition| condition.text("type") == "Healthy") else {
        return row![it.name(), "Unknown", "", ""];
    };
    let status = if healthy.text("status") == "True" { "Healthy" } else { "Unhealthy" };
    row![it.name(), status, healthy.text("message"), healthy.text("error")]
}
