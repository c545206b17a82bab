//! Single fields, by RFC 6902.

use super::OverrideError;
use crate::scheduler::change::FieldChange;
use crate::scheduler::change::Operation;
use apiserver::patch;
use serde_json::Value;
use serde_json::json;

/// All of them, or none.
pub(super) fn change(object: &mut Value, steps: &[FieldChange]) -> Result<(), OverrideError> {
    let step = |step: &FieldChange| match step.operation {
        Operation::Remove => json!({"op": "remove", "path": step.path}),
        operation => json!({"op": operation.name(), "path": step.path, "value": step.value}),
    };
    let steps_as_patch = Value::from_iter(steps.iter().map(step)).to_string();
    *object = patch::json(object, steps_as_patch.as_bytes()).map_err(|error| OverrideError::Field {
        path: steps.iter().map(|step| step.path.as_str()).collect::<Vec<_>>().join(", "),
        why: error.to_string(),
    })?;
    Ok(())
}
