//! Pods: their phase, their quality of service, and how long they are given to stop.

use crate::object::Object;
use openapi::scalar::quantity;
use serde_json::{Map, Value, json};

pub(super) fn prepare_create(object: &mut Object) {
    let class = quality_of_service(object);
    object.map_mut().insert("status".to_owned(), json!({ "phase": "Pending", "qosClass": class }));
}

/// Only one list of the spec is being written.
pub(super) fn keep_all_but(new: &mut Object, old: &Object, list: &str) {
    let wanted = new.pointer(&["spec", list]).cloned();
    let metadata = new.map_mut().remove("metadata");
    let mut kept = old.clone();
    if let Some(Value::Object(spec)) = kept.map_mut().get_mut("spec") {
        match wanted {
            Some(wanted) => spec.insert(list.to_owned(), wanted),
            None => spec.remove(list),
        };
    }
    if let Some(metadata) = metadata {
        kept.map_mut().insert("metadata".to_owned(), metadata);
    }
    *new = kept;
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

const COUNTED: [&str; 2] = ["cpu", "memory"];

/// `Guaranteed` when every container is limited to what it requests, `BestEffort` when none asks for anything.
fn quality_of_service(pod: &Object) -> &'static str {
    let containers = ["containers", "initContainers"].into_iter();
    let containers = containers.filter_map(|list| pod.pointer(&["spec", list])?.as_array()).flatten();
    let (mut asked, mut guaranteed) = (false, true);
    for container in containers {
        let amounts = |kind: &str| container.pointer(&format!("/resources/{kind}")).and_then(Value::as_object);
        let (requests, limits) = (amounts("requests"), amounts("limits"));
        asked |= COUNTED.iter().any(|name| amount(requests, name).or(amount(limits, name)).is_some());
        guaranteed &= COUNTED.iter().all(|name| {
            let limit = amount(limits, name);
            limit.is_some() && amount(requests, name).is_none_or(|request| Some(request) == limit)
        });
    }
    match (asked, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

/// An amount that is not nothing, in one spelling.
fn amount(amounts: Option<&Map<String, Value>>, name: &str) -> Option<String> {
    let text = amounts?.get(name)?.as_str()?;
    let amount = quantity::canonical(text).ok()?;
    (&*amount != "0").then(|| amount.to_string())
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
        let full = json!({ "resources": { "limits": { "cpu": "1", "memory": "1Gi" }, "requests": { "cpu": "1000m", "memory": "1Gi" } } });
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
