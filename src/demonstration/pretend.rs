//! What a workload would tell of itself if there were machines to run it.

use crate::apis::{self, Kind};
use serde_json::{Value, json};

/// The status of an object whose pods have all come up; `None` if nothing of its kind would tell more than it does.
///
/// It is the one that the object has already once everything is told, so telling comes to an end.
pub(super) fn pretend(object: &Value, now: &str) -> Option<Value> {
    let status = match Kind::of(object).name() {
        ("apps", "Deployment") => deployment(object, now),
        ("apps", "StatefulSet") => stateful(object),
        ("apps", "ReplicaSet") => {
            replicas(object, &["replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas"])
        }
        ("apps", "DaemonSet") => daemons(object),
        ("batch", "Job") => job(object, now),
        ("", "Service") if apis::text(object, &["spec", "type"]) == Some("LoadBalancer") => balanced(object),
        _ => return None,
    };
    let differs = |(key, wanted): (&String, &Value)| apis::at(object, &["status", key]) != Some(wanted);
    status.as_object()?.iter().any(differs).then_some(status)
}

/// A status that says of each of these fields that it is as many as are wanted.
fn replicas(object: &Value, fields: &[&str]) -> Value {
    let wanted = apis::number(object, &["spec", "replicas"]).unwrap_or(1);
    let mut status = observed(object);
    for field in fields {
        status[*field] = json!(wanted);
    }
    status
}

fn observed(object: &Value) -> Value {
    json!({ "observedGeneration": apis::number(object, &["metadata", "generation"]).unwrap_or(1) })
}

fn deployment(object: &Value, now: &str) -> Value {
    let mut status = replicas(object, &["replicas", "updatedReplicas", "readyReplicas", "availableReplicas"]);
    let conditions = [
        condition(object, ("Available", "MinimumReplicasAvailable"), now),
        condition(object, ("Progressing", "NewReplicaSetAvailable"), now),
    ];
    status["conditions"] = json!(conditions);
    status
}

fn stateful(object: &Value) -> Value {
    let fields = ["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    replicas(object, &fields)
}

/// There is one machine in a cell.
fn daemons(object: &Value) -> Value {
    let mut status = observed(object);
    let fields = [
        "desiredNumberScheduled",
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberReady",
        "numberAvailable",
    ];
    for field in fields {
        status[field] = json!(1);
    }
    status["numberMisscheduled"] = json!(0);
    status
}

fn job(object: &Value, now: &str) -> Value {
    let wanted = apis::number(object, &["spec", "completions"]).unwrap_or(1);
    let since = |key: &str| apis::text(object, &["status", key]).unwrap_or(now).to_owned();
    let done = [
        condition(object, ("SuccessCriteriaMet", "CompletionsReached"), now),
        condition(object, ("Complete", "CompletionsReached"), now),
    ];
    json!({
        "succeeded": wanted, "startTime": since("startTime"), "completionTime": since("completionTime"),
        "ready": 0, "terminating": 0, "uncountedTerminatedPods": {}, "conditions": done,
    })
}

/// An address of those that are reserved for documentation, the same each time.
fn balanced(object: &Value) -> Value {
    let uid = apis::text(object, &["metadata", "uid"]).unwrap_or_default();
    let ip = format!("198.51.100.{}", 1 + apis::fnv::hash_64(uid.as_bytes()) % 254);
    json!({ "loadBalancer": { "ingress": [{ "ip": ip, "ipMode": "VIP" }] } })
}

/// A condition that holds: the one that the object has, or one that came to be now.
fn condition(object: &Value, (kind, reason): (&str, &str), now: &str) -> Value {
    let holds = |held: &&Value| held["type"] == kind && held["status"] == "True" && held["reason"] == reason;
    match apis::list(object, &["status", "conditions"]).iter().find(holds) {
        Some(held) => held.clone(),
        None => json!({ "type": kind, "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": now, "lastUpdateTime": now, "lastProbeTime": now }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-11-16T12:00:00Z";

    fn object(api_version: &str, kind: &str, spec: Value) -> Value {
        json!({ "apiVersion": api_version, "kind": kind, "metadata": { "generation": 3, "uid": "u" }, "spec": spec })
    }

    #[test]
    fn telling_comes_to_an_end() {
        let all = [
            object("apps/v1", "Deployment", json!({ "replicas": 6 })),
            object("apps/v1", "StatefulSet", json!({ "replicas": 2 })),
            object("apps/v1", "ReplicaSet", json!({})),
            object("apps/v1", "DaemonSet", json!({})),
            object("batch/v1", "Job", json!({ "completions": 4 })),
            object("v1", "Service", json!({ "type": "LoadBalancer" })),
        ];
        for mut object in all {
            object["status"] = pretend(&object, NOW).expect("there is something to tell");
            assert_eq!(pretend(&object, "2027-01-01T00:00:00Z"), None, "{object}");
        }
    }

    #[test]
    fn everything_that_is_wanted_is_there() {
        let status = pretend(&object("apps/v1", "Deployment", json!({ "replicas": 6 })), NOW).unwrap();
        assert_eq!((&status["availableReplicas"], &status["observedGeneration"]), (&json!(6), &json!(3)));
        assert_eq!(status["conditions"][0]["lastTransitionTime"], NOW);
        assert_eq!(pretend(&object("v1", "Service", json!({})), NOW), None);
        assert_eq!(pretend(&object("v1", "ConfigMap", json!({})), NOW), None);
    }
}
