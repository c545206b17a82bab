//! Definitions and objects that mean harm: whatever they are, what is done with them ends, and with a word.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use openapi::document::{Kind, Version, published};
use openapi::structural::Structural;
use openapi::validation::{definition, embedded_metadata};
use proptest::prelude::*;
use serde_json::{Value, json};

fn of(properties: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
}

fn definition_of(schema: &Value) -> Value {
    json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
        "status": {"storedVersions": ["v1"]},
    })
}

/// Everything that is done with a schema and an object, whatever they are.
fn endure(schema: &Value, object: &Value) {
    let crd = definition_of(schema);
    definition::validate(&crd, None);
    definition::validate(&crd, Some(&definition_of(object)));
    let structural = Structural::read(schema);
    structural.validate(object, None, embedded_metadata);
    structural.validate(object, Some(object), embedded_metadata);
    structural.validate_status(object, object);
    let mut shaped = object.clone();
    structural.prune(&mut shaped);
    structural.default(&mut shaped);
    let kind = Kind { group: "a", version: "b", kind: "c" };
    published(Some(schema), kind, &[".a"], Version::V2);
}

fn keyword() -> impl Strategy<Value = String> {
    const WORDS: &str = "type format properties additionalProperties items allOf anyOf oneOf not enum default nullable \
        required pattern maxLength minimum multipleOf maxItems a b x-kubernetes-list-type x-kubernetes- \
        list-map-keys x-kubernetes-map-type x-kubernetes-int-or-string x-kubernetes-preserve-unknown- \
        fields x-kubernetes-embedded-resource x-kubernetes-validations rule fieldPath metadata kind \
        apiVersion spec status $ref";
    let words: Vec<String> = WORDS.split(' ').map(str::to_owned).collect();
    prop::sample::select(words)
}

fn anything() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(&["object", "array", "string", "integer", "map", "set", "a", "(", "x{2}"][..]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        "[ -~\\PC]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 80, 6, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from);
        let map = prop::collection::btree_map(keyword(), inner, 0..6)
            .prop_map(|entries| Value::Object(entries.into_iter().collect()));
        prop_oneof![1 => list, 3 => map]
    })
}

proptest! {
    #[test]
    fn nothing_panics(schema in anything(), object in anything()) {
        endure(&schema, &object);
    }

}

/// A schema around another, so many times.
fn nested(times: usize, around: impl Fn(Value) -> Value) -> Value {
    (0..times).fold(json!({"type": "string"}), |inner, _| around(inner))
}

#[test]
fn depth_is_bounded() {
    let wrap: [fn(Value) -> Value; 4] = [
        |inner| json!({"type": "object", "properties": {"a": inner}}),
        |inner| json!({"type": "array", "items": inner}),
        |inner| json!({"type": "object", "allOf": [inner.clone()]}),
        |inner| json!({"type": "object", "additionalProperties": inner}),
    ];
    for around in wrap {
        let schema = nested(400, around);
        endure(&schema, &nested(100, |inner| json!({"a": [inner]})));
    }
}

/// Checks an object that is as bad as can be, once.
fn refuse(schema: &Value, object: &Value) {
    definition::validate(&definition_of(schema), None);
    assert!(!Structural::read(schema).validate(object, None, embedded_metadata).is_empty());
}

#[test]
fn patterns_are_bounded() {
    let field = |pattern: &str| of(json!({"a": {"type": "string", "pattern": pattern}}));
    let object = json!({"spec": {"a": "a".repeat(1 << 20) + "!"}});
    for pattern in [&"a".repeat(1 << 20), &"(".repeat(1 << 20), &"[a-z]".repeat(1 << 17)] {
        refuse(&field(pattern), &object);
    }
    refuse(&field(&("^".to_owned() + &"(a|a)*".repeat(1000) + "$")), &object);
    refuse(&field("^((a{0,10}){0,10}){0,10}$"), &object);
}
