//! What may not change when only a part of an object is written.

use super::{Part, pods};
use crate::catalog::ResourceDef;
use crate::object::Object;
use openapi::FieldError;
use serde_json::Value;

/// The part has rules of its own, instead of those for a change of the whole.
pub fn has_own_rules(part: Part) -> bool {
    matches!(part, Part::EphemeralContainers | Part::Resize)
}

pub fn check_change(resource: &ResourceDef, part: Part, new: &Object, old: &Object) -> Vec<FieldError> {
    match (&*resource.group, &*resource.plural, part) {
        ("", "pods", Part::EphemeralContainers) => check_ephemeral(new, old),
        ("", "pods", Part::Resize) => check_sizes(new, old),
        ("certificates.k8s.io", "certificatesigningrequests", part) => check_verdicts(part, new, old),
        _ => Vec::new(),
    }
}

fn check_ephemeral(new: &Object, old: &Object) -> Vec<FieldError> {
    const FIELD: &str = "spec.ephemeralContainers";
    let path = ["spec", "ephemeralContainers"];
    let refusal = |before: &Value| {
        let name = before["name"].as_str().unwrap_or_default();
        let verb = match new.items(&path).find(|container| container["name"] == name) {
            None => "removed",
            Some(now) if now != before => "changed",
            Some(_) => return None,
        };
        Some(FieldError::forbidden(FIELD, format!("existing ephemeral containers {name:?} may not be {verb}\n")))
    };
    old.items(&path).filter_map(refusal).collect()
}

fn check_sizes(new: &Object, old: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let before = old.text(&["status", "qosClass"]);
    if !before.is_empty() && pods::quality_of_service(new) != before {
        errors.push(FieldError::invalid("spec", before, "Pod QOS Class may not change as a result of resizing"));
    }
    let names = |pod: &Object| {
        let lists = ["containers", "initContainers"].map(|list| pod.items(&["spec", list]).collect::<Vec<_>>());
        lists.map(|list| list.iter().map(|container| container["name"].clone()).collect::<Vec<_>>())
    };
    if names(new) != names(old) {
        errors.push(FieldError::forbidden("spec", "only cpu and memory resources are mutable"));
    }
    errors
}

/// Verdicts are made at one door, certificates at another, and neither is ever taken back.
fn check_verdicts(part: Part, new: &Object, old: &Object) -> Vec<FieldError> {
    let count = |object: &Object, kind: &str| {
        object.items(&["status", "conditions"]).filter(|condition| condition["type"] == kind).count()
    };
    let mut errors = Vec::new();
    let mut refuse = |why: String| errors.push(FieldError::forbidden("status.conditions", why));
    for kind in ["Approved", "Denied", "Failed"] {
        if count(new, kind) < count(old, kind) {
            refuse(format!("updates may not remove a condition of type {kind:?}"));
        }
    }
    for kind in ["Approved", "Denied"] {
        if part != Part::Approval && count(new, kind) > count(old, kind) {
            refuse(format!("updates may not add a condition of type {kind:?}"));
        }
    }
    let certificate = |object: &Object| object.text(&["status", "certificate"]).to_owned();
    if certificate(new) != certificate(old) && !certificate(old).is_empty() {
        let why = "updates may not modify existing certificate content";
        errors.push(FieldError::forbidden("status.certificate", why));
    }
    errors
}
