//! Schemas as JSON: questions that are asked of every part of one.

use std::collections::HashSet;

use serde_json::{Map, Value};

pub(super) const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

pub(super) fn text<'a>(schema: &'a Map<String, Value>, name: &str) -> &'a str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn is(schema: &Map<String, Value>, name: &str) -> bool {
    schema.get(name) == Some(&Value::Bool(true))
}

/// Whether the question is answered with yes for a schema or any inside of it.
pub(super) fn any(schema: &Value, ask: &mut dyn FnMut(&Map<String, Value>) -> bool) -> bool {
    let Value::Object(map) = schema else { return false };
    ask(map) || inner(map).into_iter().any(|schema| any(schema, ask))
}

/// The schemas that a schema holds.
fn inner(map: &Map<String, Value>) -> Vec<&Value> {
    let mut found = Vec::new();
    for name in ["items", "allOf", "anyOf", "oneOf", "not", "additionalProperties", "additionalItems"] {
        match map.get(name) {
            Some(Value::Array(all)) => found.extend(all),
            Some(one @ Value::Object(_)) => found.push(one),
            _ => {}
        }
    }
    for name in ["properties", "patternProperties", "definitions", "dependencies"] {
        found.extend(map.get(name).and_then(Value::as_object).into_iter().flat_map(Map::values));
    }
    found
}

pub(super) fn has_odd_type(schema: &Map<String, Value>) -> bool {
    let ty = text(schema, "type");
    !ty.is_empty() && !TYPES.contains(&ty)
}

/// Something of a schema that structural ones do not know at all.
pub(super) fn unreadable(schema: &Value) -> Option<&'static str> {
    let given = |map: &Map<String, Value>, name: &str| match map.get(name) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(entries)) => !entries.is_empty() || name == "additionalItems",
        Some(_) => true,
    };
    let mut found = None;
    any(schema, &mut |map| {
        let names = ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];
        found = names.into_iter().find(|name| given(map, name));
        let odd = map.get("items").is_some_and(Value::is_array)
            || map.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false));
        if found.is_none() && odd {
            found = Some("items");
        }
        found.is_some()
    });
    found
}

/// A set whose items are neither scalars nor atomic.
pub(super) fn has_granular_set(schema: &Map<String, Value>) -> bool {
    let Some(Value::Object(items)) = schema.get("items") else { return false };
    if text(schema, "x-kubernetes-list-type") != "set" {
        return false;
    }
    match text(items, "type") {
        "array" => !matches!(text(items, "x-kubernetes-list-type"), "" | "atomic"),
        "object" => text(items, "x-kubernetes-map-type") != "atomic",
        _ => false,
    }
}

/// The names that a list of names holds.
pub(super) fn names<'a>(schema: &'a Map<String, Value>, name: &str) -> Vec<&'a str> {
    schema.get(name).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// A set or map with items that may be null, or with keys that may be absent or null.
pub(super) fn has_improper_keys(schema: &Map<String, Value>) -> bool {
    let Some(Value::Object(items)) = schema.get("items") else { return false };
    let list = text(schema, "x-kubernetes-list-type");
    let null_item = matches!(list, "set" | "map") && is(items, "nullable");
    let required: HashSet<&str> = names(items, "required").into_iter().collect();
    let improper = |key: &&str| match items.get("properties").and_then(|all| all.get(*key)) {
        Some(Value::Object(property)) => {
            let defaulted = property.get("default").is_some_and(|value| !value.is_null());
            (!required.contains(key) && !defaulted) || is(property, "nullable")
        }
        _ => false,
    };
    null_item || (list == "map" && names(schema, "x-kubernetes-list-map-keys").iter().any(improper))
}
