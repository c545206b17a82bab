//! Schemas of custom resources: published as they are in version 3, and reduced to what version 2 can say.

use serde_json::{Map, Value, json};

use super::described::{Kind, Schema};
use super::operations::{META, list_name};
use super::publish::of_any_object;
use super::schemas::{Dialect, Schemas, group_version_kind};
use crate::builtin::{Type, table};

const V3_PLACE: &str = "#/components/schemas/";
const V2_PLACE: &str = "#/definitions/";
const CONVENTIONS: &str = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";

impl Schemas<'_> {
    pub(super) fn add_inline(&mut self, name: &str, value: &Value) {
        if self.has(name) {
            return;
        }
        let mut schema = value.clone();
        let mut referred = Vec::new();
        references(&schema, &mut referred);
        referred.into_iter().for_each(|ty| self.add_type(ty));
        if self.dialect() == Dialect::V2 {
            reduce(&mut schema);
        }
        self.insert(name.to_owned(), schema);
    }

    /// The list of a custom resource, which nobody defines.
    pub(super) fn add_inline_list(&mut self, name: &str, kind: Kind<'_>, plural: &str, selectable: Option<&Value>) {
        let list = format!("{}List", kind.kind);
        self.add_shared_model(&format!("{META}.ListMeta"));
        let reference = self.dialect().reference(&format!("{META}.ListMeta"));
        let mut metadata = match self.dialect() {
            Dialect::V2 => reference,
            Dialect::V3 => json!({"allOf": [reference]}),
        };
        metadata["description"] = format!("Standard list metadata. More info: {CONVENTIONS}#types-kinds").into();
        let mut schema = json!({
            "type": "object",
            "description": format!("{list} is a list of {}", kind.kind),
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string", "description": of_any_object("apiVersion")},
                "kind": {"type": "string", "description": of_any_object("kind")},
                "metadata": metadata,
                "items": {
                    "type": "array",
                    "description": format!("List of {plural}. More info: {CONVENTIONS}"),
                    "items": self.dialect().reference(name),
                },
            },
            "x-kubernetes-group-version-kind": [group_version_kind(Kind { kind: &list, ..kind })],
        });
        if let Some(selectable) = selectable {
            schema["x-kubernetes-selectable-fields"] = selectable.clone();
        }
        self.insert(list_name(&Schema::Inline { name, value: &Value::Null }), schema);
    }

    fn add_shared_model(&mut self, model: &str) {
        if let Some(ty) = type_of(model) {
            self.add_type(ty);
        }
    }
}

fn type_of(model: &str) -> Option<&'static Type> {
    let (package, name) = model.rsplit_once('.')?;
    table().types.iter().find(|ty| ty.name == name && ty.package.model == package)
}

/// The types of the table that a schema refers to.
fn references(schema: &Value, found: &mut Vec<&'static Type>) {
    match schema {
        Value::Object(map) => {
            // What is published for version 2 refers to it in its way already.
            let at = map.get("$ref").and_then(Value::as_str).unwrap_or_default();
            let model = at.strip_prefix(V3_PLACE).or_else(|| at.strip_prefix(V2_PLACE));
            found.extend(model.and_then(type_of));
            map.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

/// Leaves of a schema what version 2 has words for and kubectl can read: alternatives go, and what may be null or hold
/// unknown fields may be anything.
pub(crate) fn reduce(schema: &mut Value) {
    let Value::Object(map) = schema else { return };
    if is(map, "x-kubernetes-preserve-unknown-fields") && map.contains_key("x-kubernetes-group-version-kind") {
        // An object, and no word more: kubectl would refuse what is not said.
        map.retain(|name, _| name == "x-kubernetes-group-version-kind" || name == "x-kubernetes-selectable-fields");
        map.insert("type".to_owned(), "object".into());
        return;
    }
    reduce_inner(map);
}

fn is(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name) == Some(&Value::Bool(true))
}

fn reduce_inner(map: &mut Map<String, Value>) {
    unwrap_reference(map);
    for name in ["allOf", "oneOf", "anyOf", "not", "default"] {
        map.remove(name);
    }
    let embedded = is(map, "x-kubernetes-embedded-resource");
    let open = is(map, "x-kubernetes-preserve-unknown-fields");
    let nullable = is(map, "nullable");
    map.remove("nullable");
    if open || nullable {
        map.remove("items");
        let properties = map.remove("properties");
        if embedded && !open {
            map.extend(properties.map(own_properties).map(|properties| ("properties".to_owned(), properties)));
        }
    }
    if embedded && open {
        require_without(map, |name| matches!(name, "kind" | "apiVersion"));
    }
    let word = map.get("type").and_then(Value::as_str).unwrap_or_default();
    if nullable || (open && word == "object") || (word == "array" && !map.contains_key("items")) {
        map.remove("type");
    }
    require_no_nullable(map);
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(reduce_inner);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(Value::Object(inner)) = map.get_mut(name) {
            reduce_inner(inner);
        }
    }
}

/// What an embedded resource says of itself, whatever else it may be.
fn own_properties(properties: Value) -> Value {
    let Value::Object(mut properties) = properties else { return properties };
    properties.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
    Value::Object(properties)
}

fn require_without(map: &mut Map<String, Value>, gone: impl Fn(&str) -> bool) {
    if let Some(Value::Array(required)) = map.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !gone(name)));
        if required.is_empty() {
            map.remove("required");
        }
    }
}

/// A reference with something beside it stands alone in `allOf` in version 3, and beside it in version 2.
fn unwrap_reference(map: &mut Map<String, Value>) {
    let wrapped = map.get("allOf").and_then(|all| all.get(0)).and_then(|first| first.get("$ref")).cloned();
    let reference = wrapped.or_else(|| map.get("$ref").cloned());
    let model = reference.as_ref().and_then(Value::as_str).and_then(|at| at.strip_prefix(V3_PLACE));
    if let Some(model) = model {
        map.insert("$ref".to_owned(), format!("{V2_PLACE}{model}").into());
    }
}

fn require_no_nullable(map: &mut Map<String, Value>) {
    let is_nullable = |schema: &Value| schema.get("nullable") == Some(&Value::Bool(true));
    if map.get("additionalProperties").is_some_and(is_nullable) {
        map.remove("required");
        return;
    }
    let properties = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    let nullable: Vec<String> =
        properties.filter(|(_, schema)| is_nullable(schema)).map(|(name, _)| name.clone()).collect();
    require_without(map, |name| nullable.iter().any(|other| other == name));
}
