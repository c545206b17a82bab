//! A schema as OpenAPI documents show it.

use serde_json::{Map, Value, json};

use crate::document::{Kind, reduce};

/// Of the OpenAPI document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    V2,
    V3,
}

pub(crate) const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should \
    convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
pub(crate) const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer \
    this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More \
    info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const OBJECT_META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The schema of a version as it is published: with what every object has, and what its kind is. Descriptions are not
/// kept in a [`Structural`](super::Structural), so this takes `openAPIV3Schema` as the definition has it, and the
/// version's selectable fields (`.spec.color`).
pub fn published(schema: Option<&Value>, kind: Kind<'_>, selectable: &[&str], version: Version) -> Value {
    let mut published =
        schema.filter(|schema| schema.is_object()).cloned().unwrap_or_else(|| json!({"type": "object"}));
    if schema.is_some() {
        inside(&mut published, &mut tidy);
        unfold(&mut published);
        says(&mut published, API_VERSION, KIND);
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
    properties["metadata"] = json!({"allOf": [{"$ref": OBJECT_META}], "description": METADATA});
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
