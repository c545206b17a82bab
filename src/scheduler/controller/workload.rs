//! What there is to divide of an object, if it is of a kind that has replicas.

use crate::apis::interpret::{InterpretError, Interpreter};
use crate::scheduler::Workload;
use serde_json::Value;

pub(super) fn of(object: &Value, interpreter: &Interpreter) -> Result<Option<Workload>, InterpretError> {
    let replicas = interpreter.replicas(object)?;
    Ok(replicas.map(|replicas| Workload {
        replicas: replicas.number,
        request: replicas.request,
        ..Workload::default()
    }))
}
