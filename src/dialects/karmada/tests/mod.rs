//! Karmada's policies by data: what they compile to, whom they speak for, and what clients see.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod claims;
mod documents;
mod overriding;
mod policies;
mod views;

use super::policy::Policy;
use super::policy::compile;
use super::*;
use crate::scheduler::Before;
use crate::scheduler::Cell;
use crate::scheduler::Mode;
use crate::scheduler::Placement;
use crate::scheduler::Rule;
use crate::scheduler::Seen;
use crate::scheduler::Workload;
use crate::scheduler::plan;
use crate::scheduler::rule::Namespaces;
use serde_json::Value;
use serde_json::json;

fn nginx() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"namespace": "default", "name": "nginx", "uid": "u-1", "resourceVersion": "7", "labels": {"app": "nginx"}},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "nginx", "image": "nginx:1"}]}}}})
}

/// A policy of namespace `default` for `nginx`, with this placement.
fn propagation(placement: Value) -> Value {
    json!({"apiVersion": "policy.karmada.io/v1alpha1", "kind": "PropagationPolicy",
        "metadata": {"namespace": "default", "name": "nginx-propagation"},
        "spec": {"placement": placement,
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "nginx"}]}})
}

fn policy(object: &Value) -> Policy {
    compile(object, Namespaces::Same, Compat::Mended).unwrap()
}

fn placed(object: &Value, rule: &Rule, cells: &[Cell], before: &Before) -> Placement {
    let replicas = crate::apis::kinds::replicas(object);
    let workload = replicas.map(|replicas| Workload { replicas: replicas.number, ..Workload::default() });
    let rules = std::slice::from_ref(rule);
    plan(&Seen {
        object,
        rules,
        cells,
        workload: workload.as_ref(),
        before,
        followed: &[],
        brings_definition: false,
        mode: Mode::Steady,
        unclear: None,
    })
}

fn cells(names: &[&str]) -> Vec<Cell> {
    names.iter().map(|name| Cell { name: (*name).to_owned(), ready: true, ..Cell::default() }).collect()
}
