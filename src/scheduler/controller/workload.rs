//! How many replicas an object asks for, if it is of a kind that has any.

use crate::apis;
use crate::scheduler::Workload;
use serde_json::Value;

pub(super) fn of(object: &Value) -> Option<Workload> {
    let kind = apis::Kind::of(object);
    let count = |field: &str| apis::number(object, &["spec", field]).unwrap_or(1);
    let replicas = match kind.name() {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") => count("replicas"),
        ("batch", "Job") => count("parallelism"),
        ("", "Pod") => 1,
        _ => return None,
    };
    Some(Workload { replicas, ..Workload::default() })
}
