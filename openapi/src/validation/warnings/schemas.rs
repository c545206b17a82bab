//! What the author of a definition is told of its schemas: what is there and has no effect.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Told;
use crate::structural::is_known_format;
use crate::validation::tree::Node;

/// What is odd about a definition, and was not before.
pub(super) fn definition(told: &mut Told, new: &Node<'_>, old: Option<&Node<'_>>) {
    let before = old.map(|old| oddities(old.value())).unwrap_or_default();
    oddities(new.value()).into_iter().filter(|odd| !before.contains(odd)).for_each(|odd| told.say(odd));
}

/// Formats first, in the order in which they come; then what lists of sets hold.
fn oddities(definition: &Value) -> Vec<String> {
    let (mut formats, mut sets) = (Vec::new(), BTreeSet::new());
    for version in definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten() {
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            visit(schema, &mut |schema| {
                formats.extend(unknown_format(schema));
                sets.extend(set_of_no_scalars(schema));
            });
        }
    }
    formats.into_iter().chain(sets).collect()
}

fn unknown_format(schema: &Value) -> Option<String> {
    let format = schema.get("format")?.as_str().filter(|format| !format.is_empty())?;
    let ty = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    (!is_known_format(ty, format)).then(|| format!("unrecognized format {format:?}"))
}

fn set_of_no_scalars(schema: &Value) -> Option<String> {
    let is_set = schema.get("x-kubernetes-list-type")? == "set";
    let ty = schema.pointer("/items/type")?.as_str().filter(|ty| matches!(*ty, "object" | "array"))?;
    let text = format!(
        "x-kubernetes-list-type: set for items of type {ty:?} is not supported by server-side apply or CEL validation rules"
    );
    is_set.then_some(text)
}

/// Visits a schema and all that are in it. It is as deep as `serde_json` reads.
fn visit(schema: &Value, each: &mut impl FnMut(&Value)) {
    let Some(map) = schema.as_object() else { return };
    each(schema);
    for (word, inside) in map {
        match word.as_str() {
            "items" | "not" | "additionalProperties" | "additionalItems" => visit(inside, each),
            "allOf" | "anyOf" | "oneOf" => inside.as_array().into_iter().flatten().for_each(|one| visit(one, each)),
            "properties" | "patternProperties" | "definitions" | "dependencies" => {
                inside.as_object().into_iter().flat_map(|map| map.values()).for_each(|one| visit(one, each));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::warnings;
    use serde_json::json;

    fn definition(properties: Value) -> Value {
        let schema = json!({ "type": "object", "properties": properties });
        let version = json!({ "name": "v1", "schema": { "openAPIV3Schema": schema } });
        let (group, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
        json!({ "apiVersion": group, "kind": kind, "spec": { "versions": [version] } })
    }

    #[test]
    fn what_has_no_effect_is_told_once_it_comes() {
        let odd = json!({
            "a": { "type": "string", "format": "nonsense" }, "b": { "type": "string", "format": "date-time" },
            "c": { "type": "integer", "format": "date" }, "d": { "type": "array", "x-kubernetes-list-type": "set",
            "items": { "type": "object", "properties": { "e": { "type": "boolean", "format": "int32" } } } },
        });
        let told = [
            "unrecognized format \"nonsense\"",
            "unrecognized format \"date\"",
            "unrecognized format \"int32\"",
            "x-kubernetes-list-type: set for items of type \"object\" is not supported by server-side apply or CEL \
             validation rules",
        ];
        assert_eq!(warnings(&definition(odd.clone()), None), told);
        assert!(warnings(&definition(odd.clone()), Some(&definition(odd.clone()))).is_empty());
        let fewer = json!({ "a": { "type": "string", "format": "nonsense" } });
        assert_eq!(warnings(&definition(odd), Some(&definition(fewer))), told[1..]);
    }
}
