//! A schema as OpenAPI documents show it.

use serde_json::{Map, Value, json};

use super::Kind;
use super::descriptions;
use super::inline::reduce;

/// Of the OpenAPI document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    V2,
    V3,
}

/// What embedded resources say of themselves.
const EMBEDDED_API_VERSION: &str = "The version of the schema that this object is written in.";
const EMBEDDED_KIND: &str = "What this object is, in one word.";
const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The schema of a version as it is published: with what every object has, and what its kind is. Descriptions are not
/// kept in a compiled schema, so this takes `openAPIV3Schema` as the definition has it, and the
/// version's selectable fields (`.spec.color`).
pub fn published(schema: Option<&Value>, kind: Kind<'_>, selectable: &[&str], version: Version) -> Value {
    let mut published =
        schema.filter(|schema| schema.is_object()).cloned().unwrap_or_else(|| json!({"type": "object"}));
    if schema.is_some() {
        inside(&mut published, &mut tidy);
        unfold(&mut published);
        says(&mut published, of_any_object("apiVersion"), of_any_object("kind"));
        inside(&mut published, &mut embed);
    }
    published["x-kubernetes-group-version-kind"] =
        json!([{"group": kind.group, "version": kind.version, "kind": kind.kind}]);
    if !selectable.is_empty() {
        let fields = selectable.iter().map(|path| json!({"fieldPath": path.strip_prefix('.').unwrap_or(path)}));
        published["x-kubernetes-selectable-fields"] = fields.collect();
    }
    if version == Version::V2 {
        reduce(&mut published);
    }
    published
}

/// What is said of a field that every object has, in the words in which any kind says it.
pub(super) fn of_any_object(field: &str) -> &'static str {
    descriptions::of("io.k8s.api.core.v1.ConfigMap").and_then(|texts| texts.field(field)).unwrap_or_default()
}

/// Visits the schemas that specify what is inside of this one.
fn inside(schema: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    let Value::Object(map) = schema else { return };
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        for property in properties.values_mut() {
            inside(property, visit);
            if let Value::Object(property) = property {
                visit(property);
            }
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(name) {
            inside(inner, visit);
            if let Value::Object(inner) = inner {
                visit(inner);
            }
        }
    }
}

/// What says nothing is not published.
fn tidy(map: &mut Map<String, Value>) {
    let nothing = |name: &str, value: &Value| match value {
        Value::Object(entries) => name == "properties" && entries.is_empty(),
        _ => value.is_null(),
    };
    map.retain(|name, value| !nothing(name, value));
}

/// Says of every int-or-string that it is an integer or a string, where it does not say so itself.
fn unfold(root: &mut Value) {
    let either = json!([{"type": "integer"}, {"type": "string"}]);
    inside(root, &mut |map| {
        let said = map.get("anyOf") == Some(&either)
            || map.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("anyOf")) == Some(&either);
        if map.get("x-kubernetes-int-or-string") != Some(&Value::Bool(true)) || said {
            return;
        }
        if !map.contains_key("anyOf") {
            map.insert("anyOf".to_owned(), either.clone());
        } else if let Value::Array(all) = map.entry("allOf").or_insert_with(|| json!([])) {
            all.insert(0, json!({"anyOf": either}));
        }
    });
}

/// Adds what every object says of itself.
fn says(schema: &mut Value, api_version: &str, kind: &str) {
    let Value::Object(map) = schema else { return };
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    if !properties.is_object() {
        *properties = json!({});
    }
    properties["apiVersion"] = json!({"type": "string", "description": api_version});
    properties["kind"] = json!({"type": "string", "description": kind});
    properties["metadata"] = json!({"allOf": [{"$ref": OBJECT_META}], "description": of_any_object("metadata")});
}

fn embed(map: &mut Map<String, Value>) {
    if map.get("x-kubernetes-embedded-resource") != Some(&Value::Bool(true)) {
        return;
    }
    let mut schema = Value::Object(std::mem::take(map));
    says(&mut schema, EMBEDDED_API_VERSION, EMBEDDED_KIND);
    if let Value::Object(said) = schema {
        *map = said;
    }
    if let Value::Array(required) = map.entry("required").or_insert_with(|| json!([])) {
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|other| other == name) {
                required.push(name.into());
            }
        }
    }
}
