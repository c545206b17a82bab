//! How what is ours is found in a cell, and which of its fields are ours.

use crate::apis::fnv;
use crate::fleet::kube::FIELD_MANAGER;
use crate::syncer::mark;
use serde_json::Value;

/// Selects what this server has put into a cell.
pub(super) fn selector(hub: &str) -> String {
    format!("{}={}", mark::OWNER, mark::label_value(hub))
}

/// The UID of what an object says it is a copy of.
pub(super) fn source_of(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][mark::SOURCE_UID].as_str()
}

/// A hash of the fields that are ours. Whoever changes one of them takes it from us, and this changes.
pub(super) fn fields_of(object: &Value) -> String {
    owned(object, None)
}

/// The same for the fields of its status.
pub(super) fn status_fields_of(object: &Value) -> String {
    owned(object, Some("status"))
}

fn owned(object: &Value, subresource: Option<&str>) -> String {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let ours = |entry: &&Value| {
        let part = entry.get("subresource").and_then(Value::as_str).filter(|part| !part.is_empty());
        entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply" && part == subresource
    };
    let fields = managers.filter(ours).map(|entry| entry["fieldsV1"].to_string()).collect::<String>();
    if fields.is_empty() { String::new() } else { format!("{:016x}", fnv::hash_64(fields.as_bytes())) }
}
