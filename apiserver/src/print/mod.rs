//! The columns that `kubectl get` shows, kind by kind.
//!
//! A row is what a Kubernetes API server puts into a `Table`: one JSON value a column, wide columns included. Objects
//! are read as they are stored, defaulted and checked; whatever is missing or of another type counts as empty. The
//! clock is handed in, because most rows end in an age.

mod age;
mod column;
mod look;
mod subject;
mod words;

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod autoscaling;
mod batch;
mod certificates;
mod coordination;
mod core;
pub mod custom;
mod discovery;
mod flowcontrol;
mod internal;
mod lifecycle;
mod networking;
mod node;
mod policy;
mod rbac;
mod resource;
mod scheduling;
mod storage;
mod storagemigration;

use openapi::scalar::time::Instant;
use serde_json::Value;

pub use age::human_duration;
pub use column::Column;
use column::{CREATED_AT, NAME};
use look::Look;
use subject::Subject;

/// How the objects of one kind are shown.
struct Printer {
    kind: &'static str,
    columns: &'static [Column],
    row: fn(&Subject<'_>) -> Vec<Value>,
}

macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$(serde_json::Value::from($value)),*] };
}
use row;

const GROUPS: &[(&str, &[Printer])] = &[
    ("", core::PRINTERS),
    ("admissionregistration.k8s.io", admissionregistration::PRINTERS),
    ("apiextensions.k8s.io", apiextensions::PRINTERS),
    ("apiregistration.k8s.io", apiregistration::PRINTERS),
    ("apps", apps::PRINTERS),
    ("autoscaling", autoscaling::PRINTERS),
    ("batch", batch::PRINTERS),
    ("certificates.k8s.io", certificates::PRINTERS),
    ("coordination.k8s.io", coordination::PRINTERS),
    ("discovery.k8s.io", discovery::PRINTERS),
    ("events.k8s.io", core::EVENTS),
    ("flowcontrol.apiserver.k8s.io", flowcontrol::PRINTERS),
    ("internal.apiserver.k8s.io", internal::PRINTERS),
    ("lifecycle.k8s.io", lifecycle::PRINTERS),
    ("networking.k8s.io", networking::PRINTERS),
    ("node.k8s.io", node::PRINTERS),
    ("policy", policy::PRINTERS),
    ("rbac.authorization.k8s.io", rbac::PRINTERS),
    ("resource.k8s.io", resource::PRINTERS),
    ("scheduling.k8s.io", scheduling::PRINTERS),
    ("storage.k8s.io", storage::PRINTERS),
    ("storagemigration.k8s.io", storagemigration::PRINTERS),
];

/// What a kind without a printer shows: its name, and when it was made rather than how old it is.
const DEFAULT: Printer = Printer { kind: "", columns: &[NAME, CREATED_AT], row: |it| row![it.name(), it.created()] };

fn printer(group: &str, kind: &str) -> &'static Printer {
    let printers = GROUPS.iter().find(|(name, _)| *name == group).map_or(&[][..], |(_, printers)| printers);
    printers.iter().find(|printer| printer.kind == kind).unwrap_or(&DEFAULT)
}

/// The columns of a kind, in the order of the values in its rows.
pub fn columns(group: &str, kind: &str) -> &'static [Column] {
    printer(group, kind).columns
}

/// The row of one object: a value for each column. Kubernetes itself gives an `IPAddress` a third value, its age,
/// beside two columns; so do we.
pub fn cells(group: &str, version: &str, kind: &str, object: &Value, now: Instant) -> Vec<Value> {
    (printer(group, kind).row)(&Subject { object, version, now })
}

/// What a row says of its object besides: that a pod is done.
pub fn conditions(group: &str, kind: &str, object: &Value) -> Option<Value> {
    match (group, kind) {
        ("", "Pod") => core::completed(object),
        _ => None,
    }
}

/// The rows of a list, each with the position of its object: flow schemas come in the order in which they are tried,
/// and the storage class that counts as the default is marked. Neither is seen in one object alone.
pub fn rows(group: &str, version: &str, kind: &str, objects: &[&Value], now: Instant) -> Vec<(usize, Vec<Value>)> {
    let row = |(at, object): (usize, &&Value)| (at, cells(group, version, kind, object, now));
    let mut rows: Vec<_> = objects.iter().enumerate().map(row).collect();
    match (group, kind) {
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => {
            rows.sort_by_cached_key(|(at, _)| flowcontrol::precedence(objects[*at]))
        }
        ("storage.k8s.io", "StorageClass") => {
            if let Some(at) = storage::default_class(objects) {
                rows[at].1[0] = format!("{} (default)", objects[at].text("metadata.name")).into();
            }
        }
        _ => {}
    }
    rows
}

#[cfg(test)]
mod tests;
