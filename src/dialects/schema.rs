//! A short way to write structural schemas and the definitions that carry them.

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

/// Fields whose name ends with `!` are required.
pub(super) fn object(fields: &[(&str, Value)]) -> Value {
    let plain = |name: &str| name.trim_end_matches('!').to_owned();
    let properties: Map<String, Value> = fields.iter().map(|(name, schema)| (plain(name), schema.clone())).collect();
    let required: Vec<String> =
        fields.iter().filter(|(name, _)| name.ends_with('!')).map(|(name, _)| plain(name)).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn time() -> Value {
    json!({"type": "string", "format": "date-time"})
}

/// Nothing but one of these.
pub(super) fn one_of(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

pub(super) fn whole() -> Value {
    json!({"type": "integer", "format": "int64"})
}

/// A whole number that is at least `least`.
pub(super) fn at_least(least: i64) -> Value {
    json!({"type": "integer", "format": "int64", "minimum": least})
}

pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

pub(super) fn list(item: Value) -> Value {
    json!({"type": "array", "items": item})
}

pub(super) fn texts() -> Value {
    list(text())
}

pub(super) fn map(value: Value) -> Value {
    json!({"type": "object", "additionalProperties": value})
}

/// `100m`, `1Gi` or a number.
pub(super) fn quantities() -> Value {
    map(json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}))
}

/// Any object, kept as it is.
pub(super) fn open() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Anything at all, kept as it is.
pub(super) fn anything() -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true})
}

pub(super) fn or_else(mut schema: Value, default: Value) -> Value {
    schema["default"] = default;
    schema
}

pub(super) fn label_selector() -> Value {
    object(&[("matchLabels", map(text())), ("matchExpressions", list(requirement()))])
}

pub(super) fn requirement() -> Value {
    object(&[("key!", text()), ("operator!", text()), ("values", texts())])
}

pub(super) fn toleration() -> Value {
    object(&[
        ("key", text()),
        ("operator", text()),
        ("value", text()),
        ("effect", text()),
        ("tolerationSeconds", whole()),
    ])
}

pub(super) fn taint() -> Value {
    object(&[("key!", text()), ("effect!", text()), ("value", text()), ("timeAdded", time())])
}

pub(super) fn conditions() -> Value {
    let condition = object(&[
        ("type!", text()),
        ("status!", one_of(&["True", "False", "Unknown"])),
        ("reason", text()),
        ("message", text()),
        ("lastTransitionTime", time()),
        ("observedGeneration", whole()),
    ]);
    let mut list = list(condition);
    list["x-kubernetes-list-type"] = "map".into();
    list["x-kubernetes-list-map-keys"] = json!(["type"]);
    list
}

/// A kind that is served.
pub(super) struct Defined<'a> {
    pub(super) group: &'a str,
    /// The stored version first; all with the same schema.
    pub(super) versions: &'a [&'a str],
    pub(super) kind: &'a str,
    pub(super) plural: &'a str,
    pub(super) short: &'a [&'a str],
    pub(super) categories: &'a [&'a str],
    pub(super) namespaced: bool,
    pub(super) spec: Value,
    /// With one, there is a subresource.
    pub(super) status: Option<Value>,
    /// Name, type and path of each column.
    pub(super) columns: &'a [(&'a str, &'a str, &'a str)],
}

/// The `CustomResourceDefinition`.
pub(super) fn definition(of: &Defined<'_>) -> Value {
    let column = |(name, kind, path): &(&str, &str, &str)| json!({"name": name, "type": kind, "jsonPath": path});
    let age = ("Age", "date", ".metadata.creationTimestamp");
    let columns: Vec<Value> = of.columns.iter().chain([&age]).map(column).collect();
    let mut fields = vec![("apiVersion", text()), ("kind", text()), ("metadata", json!({"type": "object"}))];
    fields.push(("spec!", of.spec.clone()));
    fields.extend(of.status.clone().map(|status| ("status", status)));
    let schema = object(&fields);
    let version = |(at, name): (usize, &&str)| {
        let mut version = json!({"name": name, "served": true, "storage": at == 0,
            "schema": {"openAPIV3Schema": schema}, "additionalPrinterColumns": columns});
        if of.status.is_some() {
            version["subresources"] = json!({"status": {}});
        }
        version
    };
    let versions: Vec<Value> = of.versions.iter().enumerate().map(version).collect();
    let scope = if of.namespaced { "Namespaced" } else { "Cluster" };
    let names = json!({"kind": of.kind, "listKind": format!("{}List", of.kind), "plural": of.plural,
        "singular": of.kind.to_lowercase(), "shortNames": of.short, "categories": of.categories});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{}.{}", of.plural, of.group)},
        "spec": {"group": of.group, "scope": scope, "names": names, "versions": versions},
    })
}
