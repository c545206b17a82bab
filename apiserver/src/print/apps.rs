//! apps: what keeps pods running.

use serde_json::Value;

use super::column::{AGE, CONTAINERS, Column, IMAGES, NAME, integer, text};
use super::look::Look;
use super::subject::Subject;
use super::words::{NONE, containers, labels, qualified, selector, selector_text};
use super::{Printer, row};

pub(super) const PRINTERS: &[Printer] = &[
    Printer { kind: "Deployment", columns: DEPLOYMENT, row: deployment },
    Printer { kind: "ReplicaSet", columns: REPLICA_SET, row: replica_set },
    Printer { kind: "StatefulSet", columns: STATEFUL_SET, row: stateful_set },
    Printer { kind: "DaemonSet", columns: DAEMON_SET, row: daemon_set },
    Printer { kind: "ControllerRevision", columns: CONTROLLER_REVISION, row: controller_revision },
];

const READY: Column = text("Ready", "Number of the pod with ready state");

const DEPLOYMENT: &[Column] = &[
    NAME,
    READY,
    text("Up-to-date", "Total number of non-terminating pods targeted by this deployment"),
    text("Available", "Total number of available non-terminating pods (ready for at least minReadySeconds)"),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    text("Selector", "Label selector for pods.").wide(),
];

const REPLICA_SET: &[Column] = &[
    NAME,
    integer("Desired", "Replicas is the number of desired pods."),
    integer("Current", "Replicas is the most recently observed number of non-terminating pods."),
    integer("Ready", "The number of non-terminating pods targeted by this ReplicaSet with a Ready Condition."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    text("Selector", "Selector is a label query over pods that should match the replica count.").wide(),
];

const STATEFUL_SET: &[Column] = &[NAME, READY, AGE, CONTAINERS.wide(), IMAGES.wide()];

const DAEMON_SET: &[Column] = &[
    NAME,
    integer("Desired", "The total number of nodes that should be running the daemon pod"),
    integer("Current", "The number of nodes that are running at least 1 daemon pod"),
    integer("Ready", "numberReady is the number of nodes that should be running the daemon pod"),
    integer("Up-to-date", "The total number of nodes that are running updated daemon pod"),
    integer("Available", "The number of nodes that should be running the daemon pod"),
    text("Node Selector", "NodeSelector is a selector which must be true for the pod to fit on a node."),
    AGE,
    CONTAINERS.wide(),
    IMAGES.wide(),
    text("Selector", "A label query over pods that are managed by the daemon set.").wide(),
];

const CONTROLLER_REVISION: &[Column] = &[
    NAME,
    text("Controller", "Controller of the object"),
    text("Revision", "Revision indicates the revision of the state represented by Data."),
    AGE,
];

fn ready(it: &Subject<'_>) -> String {
    format!("{}/{}", it.number("status.readyReplicas"), it.number("spec.replicas"))
}

fn deployment(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("spec.template.spec.containers"));
    let selector = selector_text(it.at("spec.selector"));
    row![
        it.name(),
        ready(it),
        it.number("status.updatedReplicas"),
        it.number("status.availableReplicas"),
        it.age(),
        names,
        images,
        selector.unwrap_or_else(|| "<invalid>".to_owned()),
    ]
}

fn replica_set(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("spec.template.spec.containers"));
    row![
        it.name(),
        it.number("spec.replicas"),
        it.number("status.replicas"),
        it.number("status.readyReplicas"),
        it.age(),
        names,
        images,
        selector(it.at("spec.selector")),
    ]
}

fn stateful_set(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("spec.template.spec.containers"));
    row![it.name(), ready(it), it.age(), names, images]
}

fn daemon_set(it: &Subject<'_>) -> Vec<Value> {
    let (names, images) = containers(it.list("spec.template.spec.containers"));
    row![
        it.name(),
        it.number("status.desiredNumberScheduled"),
        it.number("status.currentNumberScheduled"),
        it.number("status.numberReady"),
        it.number("status.updatedNumberScheduled"),
        it.number("status.numberAvailable"),
        labels(it.map("spec.template.spec.nodeSelector")),
        it.age(),
        names,
        images,
        selector(it.at("spec.selector")),
    ]
}

fn controller_revision(it: &Subject<'_>) -> Vec<Value> {
    let owner = it.list("metadata.ownerReferences").iter().find(|owner| owner.flag("controller"));
    row![it.name(), owner.map_or_else(|| NONE.to_owned(), controller), it.number("revision"), it.age()]
}

fn controller(owner: &Value) -> String {
    let group = owner.text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    match qualified(owner.text("kind"), group) {
        kind if kind.is_empty() => owner.text("name").to_owned(),
        kind => format!("{}/{}", kind.to_lowercase(), owner.text("name")),
    }
}
