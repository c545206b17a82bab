//! `RuntimeClass`: what a pod's runtime costs by itself, and where it is found.

use super::Attempt;
use crate::amount::amounts;
use crate::error::ApiError;
use crate::object::{Object, child, list};
use serde_json::Value;

const CLASSES: (&str, &str) = ("node.k8s.io", "runtimeclasses");
const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";

pub(super) fn apply(pod: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.makes("", "pods") {
        return Ok(());
    }
    let Some(class) = class_of(pod, attempt)? else { return Ok(()) };
    if let Some(overhead) = class.get("overhead") {
        let said = amounts(pod.pointer(&["spec", "overhead"]));
        if !said.is_empty() && said != amounts(overhead.get("podFixed")) {
            return Err(attempt.forbidden(pod, MISMATCH));
        }
        let overhead = overhead.get("podFixed").cloned().unwrap_or_default();
        pod.spec_mut().insert("overhead".to_owned(), overhead);
    }
    match class.get("scheduling") {
        Some(scheduling) => schedule(pod, scheduling, attempt),
        None => Ok(()),
    }
}

fn class_of(pod: &Object, attempt: &Attempt<'_>) -> Result<Option<Object>, ApiError> {
    let Some(name) = pod.pointer(&["spec", "runtimeClassName"]).and_then(Value::as_str) else { return Ok(None) };
    match attempt.look.one(CLASSES, "", name)? {
        None => Err(attempt.forbidden(pod, &format!("pod rejected: RuntimeClass {name:?} not found"))),
        found => Ok(found),
    }
}

fn schedule(pod: &mut Object, scheduling: &Value, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let labels = scheduling.get("nodeSelector").and_then(Value::as_object);
    for (key, value) in labels.into_iter().flatten() {
        let said = pod.pointer(&["spec", "nodeSelector", key]).cloned();
        if let Some(said) = said.filter(|said| said != value) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let (class, said) = (text(value), text(&said));
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {class}; pod.spec.nodeSelector[{key}] = {said}"
            );
            return Err(attempt.forbidden(pod, &why));
        }
        child(pod.spec_mut(), "nodeSelector").insert(key.clone(), value.clone());
    }
    let theirs = scheduling.get("tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
    let tolerations = list(pod.spec_mut(), "tolerations");
    let all: Vec<Value> = std::mem::take(tolerations).into_iter().chain(theirs).collect();
    *tolerations = merged(&all);
    Ok(())
}

/// Leaves out what another one covers; of two equal ones, the second.
fn merged(all: &[Value]) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for (at, toleration) in all.iter().enumerate() {
        let later = &all[at + 1..];
        let covered = kept.iter().any(|other| covers(other, toleration))
            || later.iter().any(|other| other != toleration && covers(other, toleration));
        if !covered {
            kept.push(toleration.clone());
        }
    }
    kept
}

fn covers(wide: &Value, narrow: &Value) -> bool {
    let text = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let same = |field: &str| text(wide, field) == text(narrow, field);
    let is_any = |field: &str| text(wide, field).is_empty();
    let exists = text(wide, "operator") == "Exists";
    if wide == narrow {
        return true;
    }
    if !(same("key") || is_any("key") && exists) || !(same("effect") || is_any("effect")) {
        return false;
    }
    if text(wide, "effect") == "NoExecute" {
        let secs = |value: &Value| value["tolerationSeconds"].as_i64();
        match (secs(wide), secs(narrow)) {
            (Some(_), None) => return false,
            (Some(wide), Some(narrow)) if wide < narrow => return false,
            _ => {}
        }
    }
    match &*text(wide, "operator") {
        "Exists" => true,
        "" | "Equal" => text(narrow, "operator") == "Equal" && same("value"),
        _ => false,
    }
}

/// Whatever changed the pod since, its overhead is the class's.
pub(super) fn check_overhead(pod: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if !attempt.makes("", "pods") {
        return Ok(());
    }
    let class = class_of(pod, attempt)?;
    let overhead = pod.pointer(&["spec", "overhead"]);
    match class.as_ref().and_then(|class| class.pointer(&["overhead"])) {
        Some(fixed) if amounts(fixed.get("podFixed")) != amounts(overhead) => Err(attempt.forbidden(pod, MISMATCH)),
        None if overhead.is_some() => {
            let why = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";
            Err(attempt.forbidden(pod, why))
        }
        _ => Ok(()),
    }
}
