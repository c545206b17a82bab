//! Pods: their phase, their quality of service, and how long they are given to stop.

mod binding;
mod resources;

pub use binding::{bound, may_be_bound};

use crate::amount::{Amounts, Sums};
use crate::object::{Object, child, list, timestamp};
use openapi::scalar::time::Instant;
use serde_json::{Map, Value, json};

pub(super) fn prepare_create(pod: &mut Object, now: Instant) {
    spread_labels(pod);
    let mut status = json!({ "phase": "Pending" });
    if pod.items(&["spec", "schedulingGates"]).next().is_some() {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": timestamp(now),
        }]);
    }
    resources::complete(pod.spec_mut());
    status["qosClass"] = quality_of_service(pod).into();
    pod.map_mut().insert("status".to_owned(), status);
}

/// Keys of labels whose values are the pod's own become part of the selectors they belong to.
fn spread_labels(pod: &mut Object) {
    let labels = pod.labels().cloned().unwrap_or_default();
    let spec = pod.spec_mut();
    if let Some(Value::Array(constraints)) = spec.get_mut("topologySpreadConstraints") {
        constraints.iter_mut().for_each(|constraint| select_own(constraint, &labels));
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let Some(Value::Object(affinity)) = spec.get_mut("affinity").and_then(|all| all.get_mut(kind)) else {
            continue;
        };
        if let Some(Value::Array(terms)) = affinity.get_mut("requiredDuringSchedulingIgnoredDuringExecution") {
            terms.iter_mut().for_each(|term| select_own(term, &labels));
        }
        if let Some(Value::Array(terms)) = affinity.get_mut("preferredDuringSchedulingIgnoredDuringExecution") {
            terms
                .iter_mut()
                .filter_map(|term| term.get_mut("podAffinityTerm"))
                .for_each(|term| select_own(term, &labels));
        }
    }
}

fn select_own(term: &mut Value, labels: &Map<String, Value>) {
    for (field, operator) in [("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")] {
        let keys: Vec<Value> = term.get(field).and_then(Value::as_array).cloned().unwrap_or_default();
        let Some(Value::Object(selector)) = term.get_mut("labelSelector") else { return };
        for key in keys {
            if let Some(value) = key.as_str().and_then(|key| labels.get(key)) {
                let own = json!({ "key": key, "operator": operator, "values": [value] });
                list(selector, "matchExpressions").push(own);
            }
        }
    }
}

/// What a pod asks for as a whole stays unless it is said anew.
pub(super) fn keep_resources(new: &mut Object, old: &Object) {
    if let (None, Some(resources)) = (new.pointer(&["spec", "resources"]), old.pointer(&["spec", "resources"])) {
        new.spec_mut().insert("resources".to_owned(), resources.clone());
    }
}

/// What only some writers of a status know is not lost by the others.
pub(super) fn prepare_status(new: &mut Object, old: &Object) {
    for field in ["qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus", "observedGeneration"] {
        let unsaid = new.pointer(&["status", field]).is_none_or(|value| value == "" || *value == 0);
        if let (true, Some(value)) = (unsaid, old.pointer(&["status", field])) {
            child(new.map_mut(), "status").insert(field.to_owned(), value.clone());
        }
    }
    let mut before: Vec<&Value> = old.items(&["status", "conditions"]).collect();
    let Some(Value::Array(conditions)) =
        new.map_mut().get_mut("status").and_then(|status| status.get_mut("conditions"))
    else {
        return;
    };
    for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
        let same = before.iter().position(|old| Some(&old["type"]) == condition.get("type"));
        let Some(old) = same.map(|at| before.remove(at)) else { continue };
        let unsaid = condition.get("observedGeneration").is_none_or(|value| *value == 0);
        if let (true, Some(generation)) = (unsaid, old.get("observedGeneration")) {
            condition.insert("observedGeneration".to_owned(), generation.clone());
        }
    }
}

/// Only the containers that somebody looks around with are being written.
pub(super) fn keep_all_but_ephemeral(new: &mut Object, old: &Object) {
    let wanted = new.pointer(&["spec", "ephemeralContainers"]).cloned();
    new.take_from(old, "status");
    new.take_from(old, "spec");
    match wanted {
        Some(wanted) => new.spec_mut().insert("ephemeralContainers".to_owned(), wanted),
        None => new.spec_mut().remove("ephemeralContainers"),
    };
}

/// Only sizes are being written. Containers that were added, taken away or renamed are for validation to refuse.
pub(super) fn keep_all_but_sizes(new: &mut Object, old: &Object) {
    const LISTS: [&str; 2] = ["containers", "initContainers"];
    let count = |pod: &Object, list: &str| pod.items(&["spec", list]).count();
    if LISTS.iter().any(|list| count(new, list) != count(old, list)) {
        return;
    }
    let sized = LISTS.map(|list| (list, resources::sized(new, old, list)));
    let whole = new.pointer(&["spec", "resources"]).cloned();
    new.take_from(old, "status");
    new.take_from(old, "spec");
    let spec = new.spec_mut();
    if let Some(whole) = whole {
        spec.insert("resources".to_owned(), whole);
        resources::complete(spec);
    }
    for (list, containers) in sized.into_iter().filter(|(_, containers)| !containers.is_empty()) {
        spec.insert(list.to_owned(), Value::Array(containers));
    }
}

/// How long a pod is given to stop. One that no node runs needs no time.
pub fn grace_secs(pod: &Object, asked: Option<i64>) -> i64 {
    let scheduled = !pod.text(&["spec", "nodeName"]).is_empty();
    let finished = matches!(pod.text(&["status", "phase"]), "Succeeded" | "Failed");
    if !scheduled || finished {
        return 0;
    }
    let own = pod.pointer(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64).unwrap_or(30);
    match asked.unwrap_or(own) {
        negative if negative < 0 => 1,
        secs => secs,
    }
}

/// `Guaranteed` when everything is limited to what it requests, `BestEffort` when nothing asks for anything. What the
/// pod says as a whole takes the place of what its containers say.
pub(crate) fn quality_of_service(pod: &Object) -> &'static str {
    let spec = pod.get("spec").unwrap_or(&Value::Null);
    let counted = |mut amounts: Amounts| {
        amounts.retain(|name, amount| matches!(&**name, "cpu" | "memory") && !amount.is_zero());
        amounts
    };
    let (requests, limits) = (Sums::requests(spec), Sums::limits(spec));
    let whole = (counted(requests.said()), counted(limits.said()));
    let (requests, limits, all_limited) = if whole.0.is_empty() && whole.1.is_empty() {
        let mut containers = pod.items(&["spec", "containers"]).chain(pod.items(&["spec", "initContainers"]));
        let all = containers.all(|container| counted(limits_of(container)).len() == 2);
        (counted(requests.in_all()), counted(limits.in_all()), all)
    } else {
        let all = whole.1.len() == 2;
        (whole.0, whole.1, all)
    };
    if requests.is_empty() && limits.is_empty() {
        return "BestEffort";
    }
    let met = requests.iter().all(|(name, request)| limits.get(name) == Some(request));
    if all_limited && met && requests.len() == limits.len() { "Guaranteed" } else { "Burstable" }
}

fn limits_of(container: &Value) -> Amounts {
    Sums::limits(&json!({ "containers": [container] })).in_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(containers: Value, expected: &str) {
        let pod = json!({ "spec": { "containers": containers } });
        assert_eq!(quality_of_service(&pod.try_into().unwrap()), expected);
    }

    #[test]
    fn the_class_follows_requests_and_limits() {
        check(json!([{}]), "BestEffort");
        check(json!([{ "resources": { "requests": { "cpu": "0" } } }]), "BestEffort");
        check(json!([{ "resources": { "requests": { "cpu": "1" } } }]), "Burstable");
        let full = json!({ "resources": {
            "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "1000m", "memory": "1Gi" },
        } });
        check(json!([full]), "Guaranteed");
        check(json!([full, {}]), "Burstable");
    }

    #[test]
    fn a_pod_that_nothing_runs_goes_at_once() {
        let pod = |tree: Value| tree.try_into().unwrap();
        assert_eq!(grace_secs(&pod(json!({ "spec": {} })), Some(30)), 0);
        let running = json!({ "spec": { "nodeName": "n", "terminationGracePeriodSeconds": 7 } });
        assert_eq!(grace_secs(&pod(running.clone()), None), 7);
        assert_eq!(grace_secs(&pod(running), Some(-5)), 1);
    }
}
