//! Jobs: a selector of their own, so that no two jobs count the same pods.

use crate::object::Object;
use serde_json::{Map, Value, json};

const LABELS: [(&str, &str); 4] = [
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
    ("controller-uid", "uid"),
    ("job-name", "name"),
];

pub(super) fn prepare_create(object: &mut Object) {
    if object.pointer(&["spec", "manualSelector"]).and_then(Value::as_bool).unwrap_or(false) {
        return;
    }
    let (uid, name) = (object.uid().to_owned(), object.name().to_owned());
    let Some(Value::Object(spec)) = object.map_mut().get_mut("spec") else { return };
    let labels = entry(entry(entry(spec, "template"), "metadata"), "labels");
    for (label, what) in LABELS {
        let value = if what == "uid" { &uid } else { &name };
        labels.entry(label).or_insert_with(|| value.as_str().into());
    }
    entry(entry(spec, "selector"), "matchLabels").insert(LABELS[0].0.to_owned(), uid.into());
}

/// What was generated when the job was made need not be said again.
pub(super) fn prepare_update(new: &mut Object, old: &Object) {
    let selector = old.pointer(&["spec", "selector"]).cloned();
    if let (Some(Value::Object(spec)), Some(selector)) = (new.map_mut().get_mut("spec"), selector) {
        spec.entry("selector").or_insert(selector);
    }
}

/// The object under `field`; made if there is none.
fn entry<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(field).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}
