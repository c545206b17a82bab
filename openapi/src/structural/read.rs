//! Reads a schema as a `CustomResourceDefinition` holds it. Nothing fails: what makes no sense is as if it were absent.

use serde_json::{Map, Value};

use super::node::{Additional, Bound, Edge, ListType, MapType, Node, Preset, Rule, Type};
use super::pattern::Pattern;

/// Places deeper than this say nothing. A definition that was parsed as JSON cannot reach half of it.
const DEPTH_MAX: usize = 200;

pub(super) fn node(schema: &Value) -> Node {
    at_depth(schema, 0)
}

fn at_depth(schema: &Value, depth: usize) -> Node {
    let Value::Object(map) = schema else { return Node::default() };
    if depth >= DEPTH_MAX {
        return Node { preserve: true, ..Node::default() };
    }
    Node {
        ty: text(map, "type").and_then(Type::named),
        nullable: is(map, "nullable"),
        preserve: is(map, "x-kubernetes-preserve-unknown-fields"),
        embedded: is(map, "x-kubernetes-embedded-resource"),
        int_or_string: is(map, "x-kubernetes-int-or-string"),
        list_type: text(map, "x-kubernetes-list-type").and_then(list_type),
        map_type: text(map, "x-kubernetes-map-type").and_then(map_type),
        properties: properties(map, depth),
        additional: additional(map, depth),
        items: map.get("items").filter(|items| items.is_object()).map(|items| Box::new(at_depth(items, depth + 1))),
        preset: map.get("default").filter(|value| !value.is_null()).map(preset),
        list_keys: texts(map, "x-kubernetes-list-map-keys"),
        rules: rules(map),
        bounds: bounds(map, depth),
    }
}

fn is(map: &Map<String, Value>, name: &str) -> bool {
    map.get(name) == Some(&Value::Bool(true))
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    map.get(name)?.as_str().filter(|text| !text.is_empty())
}

fn texts(map: &Map<String, Value>, name: &str) -> Box<[Box<str>]> {
    let items = map.get(name).and_then(Value::as_array).into_iter().flatten();
    items.filter_map(Value::as_str).map(Box::from).collect()
}

fn list_type(name: &str) -> Option<ListType> {
    Some(match name {
        "atomic" => ListType::Atomic,
        "set" => ListType::Set,
        "map" => ListType::Map,
        _ => return None,
    })
}

fn map_type(name: &str) -> Option<MapType> {
    Some(match name {
        "atomic" => MapType::Atomic,
        "granular" => MapType::Granular,
        _ => return None,
    })
}

fn properties(map: &Map<String, Value>, depth: usize) -> Box<[(Box<str>, Node)]> {
    let known = map.get("properties").and_then(Value::as_object).into_iter().flatten();
    let mut known: Vec<_> = known.map(|(name, schema)| (name.as_str().into(), at_depth(schema, depth + 1))).collect();
    known.sort_unstable_by(|(a, _): &(Box<str>, Node), (b, _)| a.cmp(b));
    known.into()
}

fn additional(map: &Map<String, Value>, depth: usize) -> Additional {
    match map.get("additionalProperties") {
        Some(Value::Bool(any)) => Additional::Any(*any),
        Some(schema @ Value::Object(_)) => Additional::Schema(Box::new(at_depth(schema, depth + 1))),
        _ => Additional::Unspecified,
    }
}

fn preset(value: &Value) -> Box<Preset> {
    Box::new(Preset { value: value.clone(), weight: weight(value) })
}

/// About as many bytes as the value takes up in memory.
fn weight(value: &Value) -> usize {
    let inner = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(entries) => entries.iter().map(|(name, value)| name.len() + weight(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + inner
}

fn rules(map: &Map<String, Value>) -> Box<[Rule]> {
    let all = map.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_object).map(rule).collect()
}

fn rule(map: &Map<String, Value>) -> Rule {
    let given = |name: &str| Box::from(text(map, name).unwrap_or_default());
    Rule {
        rule: given("rule"),
        message: given("message"),
        message_expression: given("messageExpression"),
        reason: map.get("reason").and_then(Value::as_str).map(Box::from),
        field_path: given("fieldPath"),
        optional_old_self: map.get("optionalOldSelf").and_then(Value::as_bool),
    }
}

fn bounds(map: &Map<String, Value>, depth: usize) -> Box<[Bound]> {
    let number = |name: &str| map.get(name).and_then(Value::as_f64);
    let edge = |name: &str, exclusive: &str| number(name).map(|value| Edge { value, exclusive: is(map, exclusive) });
    let whole = |name: &str| map.get(name).and_then(Value::as_i64);
    let many = |name: &str| nodes(map, name, depth);
    let list = |name: &str| map.get(name).and_then(Value::as_array).filter(|list| !list.is_empty());
    [
        text(map, "format").map(|format| Bound::Format(format.into())),
        edge("maximum", "exclusiveMaximum").map(Bound::Maximum),
        edge("minimum", "exclusiveMinimum").map(Bound::Minimum),
        number("multipleOf").map(Bound::MultipleOf),
        whole("maxLength").map(Bound::MaxLength),
        whole("minLength").map(Bound::MinLength),
        whole("maxItems").map(Bound::MaxItems),
        whole("minItems").map(Bound::MinItems),
        whole("maxProperties").map(Bound::MaxProperties),
        whole("minProperties").map(Bound::MinProperties),
        is(map, "uniqueItems").then_some(Bound::UniqueItems),
        text(map, "pattern").map(|pattern| Bound::Pattern(Box::new(Pattern::new(pattern)))),
        list("enum").map(|values| Bound::Enum(values.as_slice().into())),
        list("required").map(|_| Bound::Required(texts(map, "required"))),
        many("allOf").map(Bound::AllOf),
        many("anyOf").map(Bound::AnyOf),
        many("oneOf").map(Bound::OneOf),
        map.get("not").filter(|not| not.is_object()).map(|not| Bound::Not(Box::new(at_depth(not, depth + 1)))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn nodes(map: &Map<String, Value>, name: &str, depth: usize) -> Option<Box<[Node]>> {
    let all = map.get(name)?.as_array().filter(|all| !all.is_empty())?;
    Some(all.iter().map(|schema| at_depth(schema, depth + 1)).collect())
}
