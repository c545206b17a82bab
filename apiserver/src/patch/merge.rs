//! JSON merge patch: RFC 7386, with one habit of Kubernetes'.

use serde_json::Value;

/// Merges `patch` into `target`: objects field by field, everything else as a whole; `null` removes.
///
/// Inside of lists that are new, or that replace something other than an object, Kubernetes removes the `null`s of
/// objects too, where the RFC would keep them.
pub fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        let was_object = target.is_object();
        *target = patch.clone();
        if !was_object {
            drop_nulls(target);
        }
        return;
    };
    let Value::Object(fields) = target else {
        *target = patch.clone();
        drop_nulls(target);
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            fields.remove(name);
        } else {
            merge(fields.entry(name.as_str()).or_insert(Value::Null), change);
        }
    }
}

/// Removes fields that are `null` from every object in `value`; items of lists stay.
pub(super) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
