//! Namespaces of cells: there before anything goes into them, and gone when nothing is left that would need them.

use apiserver::object::Object;
use serde_json::{Value, json};

/// Whether a record is about a namespace.
pub(super) fn is_one(record: &Object) -> bool {
    record.text(&["spec", "object", "resource"]) == "namespaces" && record.text(&["spec", "object", "group"]).is_empty()
}

/// A namespace of ours, as far as its copies depend on it.
pub(super) fn source(name: &str, uid: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "uid": uid } })
}
