//! What an object in a cell says about where it came from.

use crate::apis::fnv;
use crate::fleet::kube::FIELD_MANAGER;
use serde_json::{Value, json};

/// The label by which a hub finds what is its own.
pub(super) const HUB: &str = "federation.hanse.dev/hub";
/// The annotation that names the UID of what an object is a copy of.
pub(super) const SOURCE: &str = "federation.hanse.dev/source-uid";

pub(super) fn mark(object: &mut Value, hub: &str, source: &str) {
    let metadata = crate::apis::map_mut(object, &["metadata", "labels"]);
    metadata.insert(HUB.to_owned(), json!(hub));
    crate::apis::map_mut(object, &["metadata", "annotations"]).insert(SOURCE.to_owned(), json!(source));
}

pub(super) fn selector(hub: &str) -> String {
    format!("{HUB}={hub}")
}

pub(super) fn source_of(object: &Value) -> Option<&str> {
    object["metadata"]["annotations"][SOURCE].as_str()
}

pub(super) fn hub_of(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][HUB].as_str()
}

/// A hash of the fields that are ours. Whoever changes one of them takes it from us, and this changes.
pub(super) fn fields_of(object: &Value) -> String {
    let managers = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let ours = |entry: &&Value| {
        entry["manager"] == FIELD_MANAGER && entry["operation"] == "Apply" && entry.get("subresource").is_none()
    };
    let fields = managers.filter(ours).map(|entry| entry["fieldsV1"].to_string()).collect::<String>();
    if fields.is_empty() { String::new() } else { format!("{:016x}", fnv::hash_64(fields.as_bytes())) }
}
