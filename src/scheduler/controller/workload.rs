//! What there is to divide of an object, if it is of a kind that has replicas.

use crate::apis::kinds;
use crate::scheduler::Workload;
use serde_json::Value;

pub(super) fn of(object: &Value) -> Option<Workload> {
    let replicas = kinds::replicas(object)?;
    Some(Workload { replicas: replicas.number, request: replicas.request, ..Workload::default() })
}
