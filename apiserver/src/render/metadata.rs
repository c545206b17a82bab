//! Objects without anything but their metadata.

use serde_json::{Value, json};

pub(super) const API_VERSION: &str = "meta.k8s.io/v1";

pub(super) fn of_object(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({ "apiVersion": API_VERSION, "kind": "PartialObjectMetadata", "metadata": metadata })
}
