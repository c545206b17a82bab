//! Namespaces: held by the finalizers in their spec until they are empty, and labelled with their own name.

use crate::object::Object;
use serde_json::{Value, json};

/// Held until everything in the namespace is gone.
const CONTENT: &str = "kubernetes";
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn prepare_create(object: &mut Object) {
    let mut finalizers = finalizers(object);
    if !finalizers.iter().any(|name| name == CONTENT) {
        finalizers.push(CONTENT.into());
    }
    set_finalizers(object, finalizers);
    object.map_mut().insert("status".to_owned(), json!({ "phase": "Active" }));
    label(object);
}

/// The label follows the name, whatever its author says.
fn label(object: &mut Object) {
    let name = object.name().to_owned();
    let labels = object.metadata_mut().entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

fn finalizers(object: &Object) -> Vec<Value> {
    object.pointer(&["spec", "finalizers"]).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn set_finalizers(object: &mut Object, finalizers: Vec<Value>) {
    let spec = object.map_mut().entry("spec").or_insert_with(|| json!({}));
    if let Value::Object(spec) = spec {
        if finalizers.is_empty() {
            spec.remove("finalizers");
        } else {
            spec.insert("finalizers".to_owned(), Value::Array(finalizers));
        }
    }
}

/// The finalizers of the spec have a door of their own.
pub(super) fn keep_finalizers(new: &mut Object, old: &Object) {
    set_finalizers(new, finalizers(old));
    label(new);
}

pub(super) fn keep_all_but_finalizers(new: &mut Object, old: &Object) {
    let wanted = finalizers(new);
    let metadata = new.map_mut().remove("metadata");
    let mut kept = old.clone();
    set_finalizers(&mut kept, wanted);
    if let Some(metadata) = metadata {
        kept.map_mut().insert("metadata".to_owned(), metadata);
    }
    *new = kept;
}

pub(super) fn is_held(object: &Object) -> bool {
    object.kind() == "Namespace" && object.api_version() == "v1" && !finalizers(object).is_empty()
}

pub(super) fn mark_deleted(object: &mut Object) {
    let status = object.map_mut().entry("status").or_insert_with(|| json!({}));
    if let Value::Object(status) = status {
        status.insert("phase".to_owned(), "Terminating".into());
    }
}
