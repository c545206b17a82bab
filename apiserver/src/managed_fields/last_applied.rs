//! The annotation by which clients applied before servers could: `kubectl` may take over what it says.

use super::check::{Duplicates, check};
use super::compare::{compare, fields};
use super::conflict::Conflict;
use super::schema::Schema;
use super::set::FieldSet;
use super::step::json;
use serde_json::{Map, Value};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The owner whose applies read the annotation, and keep it up to date.
pub(super) const KUBECTL: &str = "kubectl";

/// All annotations of an object, keys and values, in bytes.
const ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    let text = object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()?;
    Some(text).filter(|text| !text.is_empty())
}

/// What the annotation says of fields that still are as it says.
fn still_applied(live: &Value, api_version: &str, schema: Schema<'_>) -> Option<FieldSet> {
    let said: Value = serde_json::from_str(annotation(live)?).ok()?;
    if said.get("apiVersion").and_then(Value::as_str) != Some(api_version) {
        return None;
    }
    check(live, schema, Duplicates::Refused).ok()?;
    check(&said, schema, Duplicates::Refused).ok()?;
    let found = compare(&said, live, schema);
    Some(fields(&said, schema).difference(&found.modified).difference(&found.added).difference(&found.removed))
}

/// The conflicts that are left when `kubectl` takes over what it applied itself.
pub(super) fn without_own(
    conflicts: Vec<Conflict>,
    live: &Value,
    api_version: &str,
    schema: Schema<'_>,
) -> Vec<Conflict> {
    match still_applied(live, api_version, schema) {
        Some(own) => conflicts.into_iter().filter(|conflict| !own.has(&conflict.path)).collect(),
        None => conflicts,
    }
}

/// Writes what was applied into the annotation of an object that has one.
pub(super) fn keep_up(object: &mut Value, config: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut said = config.clone();
    if let Some(metadata) = said.get_mut("metadata").and_then(Value::as_object_mut) {
        match metadata.get_mut("annotations") {
            Some(Value::Object(annotations)) => drop(annotations.remove(ANNOTATION)),
            _ => drop(metadata.remove("annotations")),
        }
    }
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else { return };
    annotations.insert(ANNOTATION.to_owned(), format!("{}\n", json(&said)).into());
    if bytes(annotations) > ANNOTATIONS_BYTES_MAX {
        annotations.remove(ANNOTATION);
    }
}

fn bytes(annotations: &Map<String, Value>) -> usize {
    annotations.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum()
}
