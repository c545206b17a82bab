//! Pods that get their node.

use crate::object::{Object, child, list, timestamp};
use openapi::scalar::time::Instant;
use serde_json::{Map, Value, json};

/// Why a pod cannot be assigned to a node any more, or not yet.
pub fn may_be_bound(pod: &Object) -> Result<(), String> {
    let (name, node) = (pod.name(), pod.text(&["spec", "nodeName"]));
    if pod.is_deleting() {
        return Err(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    if !node.is_empty() {
        return Err(format!("pod {name} is already assigned to node {node:?}"));
    }
    if pod.items(&["spec", "schedulingGates"]).next().is_some() {
        return Err(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    Ok(())
}

/// The pod on its node. It takes the annotations of the binding, and those of its labels that it does not have.
pub fn bound(pod: &Object, node: &str, binding: &Object, now: Instant) -> Object {
    let mut new = pod.clone();
    new.spec_mut().insert("nodeName".to_owned(), node.into());
    let said = |field: &str| binding.pointer(&["metadata", field]).and_then(Value::as_object).cloned();
    for (name, value) in said("annotations").unwrap_or_default() {
        child(new.metadata_mut(), "annotations").insert(name, value);
    }
    for (name, value) in said("labels").unwrap_or_default() {
        child(new.metadata_mut(), "labels").entry(name).or_insert(value);
    }
    schedule(child(new.map_mut(), "status"), now);
    new
}

fn schedule(status: &mut Map<String, Value>, now: Instant) {
    let conditions = list(status, "conditions");
    conditions.retain(|condition| condition["type"] != "PodScheduled");
    conditions.push(json!({
        "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": timestamp(now),
    }));
}
