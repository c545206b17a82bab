//! Nodes.

use serde_json::Value;

use crate::print::column::{AGE, Column, NAME, text};
use crate::print::look::Look;
use crate::print::subject::Subject;
use crate::print::words::{NONE, UNKNOWN, join, or, or_none};
use crate::print::{Printer, row};

pub(super) const PRINTER: Printer = Printer { kind: "Node", columns: COLUMNS, row: node };

const COLUMNS: &[Column] = &[
    NAME,
    text("Status", "The status of the node"),
    text("Roles", "The roles of the node"),
    AGE,
    text("Version", "Kubelet Version reported by the node."),
    text("Internal-IP", "List of addresses reachable to the node.").wide(),
    text("External-IP", "List of addresses reachable to the node.").wide(),
    text("OS-Image", "OS Image reported by the node").wide(),
    text("Kernel-Version", "Kernel Version reported by the node").wide(),
    text("Container-Runtime", "ContainerRuntime Version reported by the node").wide(),
];

fn node(it: &Subject<'_>) -> Vec<Value> {
    let info = |field: &str| it.text(&format!("status.nodeInfo.{field}"));
    let mut kernel = or(info("kernelVersion"), UNKNOWN).to_owned();
    if !info("architecture").is_empty() {
        kernel = format!("{kernel} ({})", info("architecture"));
    }
    row![
        it.name(),
        status(it),
        or_none(&roles(it)),
        it.age(),
        info("kubeletVersion"),
        address(it, "InternalIP"),
        address(it, "ExternalIP"),
        or(info("osImage"), UNKNOWN),
        kernel,
        or(info("containerRuntimeVersion"), UNKNOWN),
    ]
}

fn status(node: &Value) -> String {
    // Were there two such conditions, the later would count.
    let ready = node.list("status.conditions").iter().rfind(|condition| condition.text("type") == "Ready");
    let ready = match ready.map(|condition| condition.text("status")) {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    };
    let disabled = if node.flag("spec.unschedulable") { ",SchedulingDisabled" } else { "" };
    format!("{ready}{disabled}")
}

fn roles(node: &Value) -> String {
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_owned()),
        None if key == "kubernetes.io/role" => value.as_str().map(str::to_owned),
        None => None,
    };
    let labels = node.map("metadata.labels").into_iter().flatten();
    let mut roles: Vec<String> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    roles.sort();
    roles.dedup();
    join(roles, ",")
}

fn address<'a>(node: &'a Value, kind: &str) -> &'a str {
    let address = node.list("status.addresses").iter().find(|address| address.text("type") == kind);
    address.map_or(NONE, |address| address.text("address"))
}
