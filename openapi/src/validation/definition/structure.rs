//! Whether a schema is structural: every place has a type, and alternatives only restrict what is specified outside.

use serde_json::{Map, Value, json};

use super::super::tree::{Errors, Node};
use super::shape::{is, text};
use crate::structural::Pattern;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

pub(super) fn structure(errors: &mut Errors, root: &Node) {
    invariants(errors, root, Level::Root);
    complete(errors, root, root, root);
}

fn invariants(errors: &mut Errors, at: &Node, level: Level) {
    let Value::Object(schema) = at.value() else { return };
    let (items, additional) = (at.at("items"), at.at("additionalProperties"));
    if text(schema, "type") == "array" && !items.exists() {
        errors.required(&items, "must be specified");
    }
    invariants(errors, &items, Level::Item);
    for (name, _) in at.at("properties").entries() {
        invariants(errors, &at.at("properties").key(name), Level::Field);
    }
    if additional.exists() {
        if level == Level::Root {
            errors.forbidden(&additional, "must not be used at the root");
        }
        invariants(errors, &additional, Level::Field);
    }
    extensions(errors, at, schema);
    let either = int_or_string();
    let any_of_is_type = schema.get("anyOf") == Some(&either);
    let first_is_type =
        schema.get("allOf").and_then(|all| all.get(0)).and_then(|all| all.get("anyOf")) == Some(&either);
    values(errors, at, any_of_is_type, first_is_type);
    type_given(errors, at, schema, level);
    what_it_is(errors, at, schema, level);
}

fn int_or_string() -> Value {
    json!([{"type": "integer"}, {"type": "string"}])
}

fn extensions(errors: &mut Errors, at: &Node, schema: &Map<String, Value>) {
    for name in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if is(schema, "x-kubernetes-int-or-string") && is(schema, name) {
            errors.invalid_value(&at.at(name), true, "must be false if x-kubernetes-int-or-string is true");
        }
    }
}

fn type_given(errors: &mut Errors, at: &Node, schema: &Map<String, Value>, level: Level) {
    let (place, ty) = (at.at("type"), text(schema, "type"));
    let embedded = is(schema, "x-kubernetes-embedded-resource");
    let open = is(schema, "x-kubernetes-int-or-string") || is(schema, "x-kubernetes-preserve-unknown-fields");
    if embedded && ty != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        if ty.is_empty() {
            errors.required(&place, detail);
        } else {
            errors.invalid_value(&place, ty, detail);
        }
    } else if ty.is_empty() && !open {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        errors.required(&place, detail);
    }
    if embedded && at.at("additionalProperties").exists() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        errors.forbidden(&at.at("additionalProperties"), detail);
    }
    if level == Level::Root && !ty.is_empty() && ty != "object" {
        errors.invalid_value(&place, ty, "must be object at the root");
    }
}

/// `kind`, `apiVersion` and `metadata` of a resource.
fn what_it_is(errors: &mut Errors, at: &Node, schema: &Map<String, Value>, level: Level) {
    let properties = at.at("properties");
    let embedded = is(schema, "x-kubernetes-embedded-resource");
    let resource = level == Level::Root || embedded;
    for name in ["kind", "apiVersion"] {
        let property = properties.key(name);
        if property.exists() && resource && !property.at("type").is("string") {
            errors.invalid_value(&property.at("type"), property.at("type").text(), "must be string");
        }
    }
    let metadata = properties.key("metadata");
    if metadata.exists() {
        if resource && !metadata.at("type").is("object") {
            errors.invalid_value(&metadata.at("type"), metadata.at("type").text(), "must be object");
        }
        if level == Level::Root && !is_plain_metadata(metadata.value()) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                          specified";
            errors.forbidden(&metadata, detail);
        }
    }
    if embedded && !is(schema, "x-kubernetes-preserve-unknown-fields") && properties.is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        errors.required(&properties, detail);
    }
}

fn is_plain_metadata(schema: &Value) -> bool {
    schema.as_object().into_iter().flatten().all(|(name, value)| match (name.as_str(), value) {
        ("type" | "default", _) | (_, Value::Null | Value::Bool(false)) => {
            name != "additionalProperties" || value.is_null()
        }
        ("properties", Value::Object(properties)) => {
            properties.keys().all(|name| matches!(name.as_str(), "name" | "generateName"))
        }
        (_, Value::String(text)) => text.is_empty(),
        (_, Value::Array(items)) => items.is_empty(),
        _ => false,
    })
}

/// What restricts values: alternatives, and the pattern.
fn values(errors: &mut Errors, at: &Node, any_of_is_type: bool, first_is_type: bool) {
    if !any_of_is_type {
        at.at("anyOf").items().for_each(|nested| self::nested(errors, &nested, false));
    }
    for (index, nested) in at.at("allOf").items().enumerate() {
        self::nested(errors, &nested, first_is_type && index == 0);
    }
    at.at("oneOf").items().for_each(|nested| self::nested(errors, &nested, false));
    nested(errors, &at.at("not"), false);
    let pattern = at.at("pattern");
    if !pattern.is_empty()
        && let Err(error) = Pattern::steps(pattern.text())
    {
        errors.invalid(&pattern, format!("must be a valid regular expression, but isn't: {error}"));
    }
}

/// What may not stand inside of an alternative, and why.
const OUTSIDE_ONLY: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

fn nested(errors: &mut Errors, at: &Node, any_of_is_type: bool) {
    let Value::Object(schema) = at.value() else { return };
    values(errors, at, any_of_is_type, false);
    nested(errors, &at.at("items"), false);
    let properties = at.at("properties");
    for (name, _) in properties.entries() {
        nested(errors, &properties.key(name), false);
    }
    for (name, detail) in OUTSIDE_ONLY {
        let given = match schema.get(name) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty() || name.ends_with("-type") || name == "default",
            Some(Value::Array(items)) => !items.is_empty() || name == "default",
            Some(Value::Bool(true) | Value::Number(_) | Value::Object(_)) => true,
        };
        let given = given || (name == "default" && schema.get(name) == Some(&Value::Bool(false)));
        if given {
            errors.forbidden(&at.at(name), detail);
        }
    }
    if !at.at("x-kubernetes-validations").is_empty() {
        errors.forbidden(&at.at("x-kubernetes-validations"), "must be empty to be structural");
    }
    if properties.key("metadata").exists() {
        errors.forbidden(&properties.key("metadata"), "must not be specified in a nested context");
    }
}

/// Everything that an alternative speaks of is specified outside of it: in `outside`, which errors call `place`.
fn complete(errors: &mut Errors, inside: &Node, outside: &Node, place: &Node) {
    let parts = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|name| inside.at(name).items().collect::<Vec<_>>());
    for part in parts.chain([inside.at("not")]).filter(Node::exists) {
        nested_complete(errors, &part, outside, place);
    }
}

fn nested_complete(errors: &mut Errors, inside: &Node, outside: &Node, place: &Node) {
    if !inside.exists() {
        return;
    }
    if !outside.exists() {
        return errors.required(place, &format!("because it is defined in {}", inside.path()));
    }
    complete(errors, inside, outside, place);
    nested_complete(errors, &inside.at("items"), &outside.at("items"), &place.at("items"));
    let properties = inside.at("properties");
    for (name, _) in properties.entries() {
        let (inside, known) = (properties.key(name), outside.at("properties").key(name));
        nested_complete(errors, &inside, &known, &place.at("properties").key(name));
    }
}
