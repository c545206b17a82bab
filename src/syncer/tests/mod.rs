//! The syncer by data: templates, inventories and statuses in; objects, steps and a status out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod overrides;
mod reduce;
mod render;

use super::*;
use crate::apis::interpret::Interpreter;
use crate::scheduler::Because;
use crate::scheduler::Cell;
use crate::scheduler::Target;
use crate::scheduler::Terms;
use serde_json::Value;
use serde_json::json;
use std::collections::BTreeSet;

const OWNER: &str = "hub-1";

fn origin() -> Origin {
    Origin { owner: OWNER.to_owned(), workspace: "root:a".to_owned() }
}

fn cell(name: &str) -> Cell {
    Cell { name: name.to_owned(), ready: true, ..Cell::default() }
}

fn target(cell: &str, replicas: Option<i64>) -> Target {
    Target { cell: cell.to_owned(), replicas, because: BTreeSet::from([Because::Rule("r".to_owned())]) }
}

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "default", "name": "web", "uid": "u-1", "generation": 3, "resourceVersion": "7"},
        "spec": {"replicas": 5, "template": {"spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}},
        "status": {"replicas": 5}})
}

fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "uid": "n-1"}})
}

/// Renders for cell `m1` of `targets`.
fn rendered(template: &Value, targets: &[Target], terms: &Terms) -> Result<Rendered, RenderError> {
    let (cell, origin, namespace) = (cell("m1"), origin(), namespace());
    let namespace = apis_namespace(template).then_some(&namespace);
    let interpreter = &Interpreter::default();
    render(&Order { template, targets, cell: &cell, terms, origin: &origin, namespace, interpreter })
}

fn apis_namespace(template: &Value) -> bool {
    template["metadata"].get("namespace").is_some()
}
