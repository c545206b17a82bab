//! Objects in, objects out; what the Go code says to thousands of them is in `tests/go/structural.rs`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Pattern, Structural};

fn pruned(schema: Value, mut object: Value) -> (Value, Vec<String>) {
    let found = Structural::read(&schema).prune(&mut object);
    (object, found)
}

fn defaulted(schema: Value, mut object: Value) -> Value {
    let structural = Structural::read(&schema);
    structural.drop_nulls(&mut object);
    structural.default(&mut object);
    object
}

fn of(properties: Value) -> Value {
    json!({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})
}

#[test]
fn unspecified_fields_are_taken_out_and_named() {
    let schema = of(json!({
        "list": {"type": "array", "items": {"type": "object", "properties": {"y": {"type": "string"}}}},
        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"a": {"type": "string"}}}},
    }));
    let object = json!({
        "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n", "nam": 1}, "status": {},
        "spec": {"foo": 1, "list": [{"x": 1, "y": "2"}], "any": {"b": {"c": 1}}, "map": {"k": {"a": "1", "b": 2}}},
    });
    let (object, found) = pruned(schema, object);
    assert_eq!(found, ["metadata.nam", "spec.foo", "spec.list[0].x", "spec.map.k.b", "status"]);
    let expected = json!({
        "apiVersion": "a/v1", "kind": "K", "metadata": {"name": "n"},
        "spec": {"list": [{"y": "2"}], "any": {"b": {"c": 1}}, "map": {"k": {"a": "1"}}},
    });
    assert_eq!(object, expected);
}

#[test]
fn embedded_resources_keep_what_every_object_has() {
    let schema = of(json!({"template": {
        "type": "object", "x-kubernetes-embedded-resource": true, "properties": {"data": {"type": "string"}}
    }}));
    let template =
        json!({"apiVersion": "v1", "kind": "A", "metadata": {"labels": {"a": "b"}, "x": 1}, "data": "", "y": 1});
    let (object, found) = pruned(schema, json!({"spec": {"template": template}}));
    assert_eq!(found, ["spec.template.y", "spec.template.metadata.x"]);
    assert_eq!(object["spec"]["template"]["metadata"], json!({"labels": {"a": "b"}}));
}

#[test]
fn defaults_fill_what_is_absent_or_null_without_leave() {
    let schema = of(json!({
        "a": {"type": "integer", "default": 1},
        "b": {"type": "integer", "default": 2, "nullable": true},
        "c": {"type": "integer"},
        "d": {"type": "object", "default": {}, "properties": {"e": {"type": "string", "default": "f"}}},
    }));
    let object = json!({"spec": {"a": null, "b": null, "c": null}});
    assert_eq!(defaulted(schema, object), json!({"spec": {"a": 1, "b": null, "d": {"e": "f"}}}));
}

#[test]
fn defaults_do_not_add_up_without_end() {
    let large = "x".repeat(1 << 20);
    let schema = of(json!({"list": {"type": "array", "items": {
        "type": "object", "properties": {"a": {"type": "string", "default": large}}
    }}}));
    let object = defaulted(schema, json!({"spec": {"list": vec![json!({}); 1000]}}));
    assert!(object.to_string().len() < 20 << 20);
}

#[test]
fn a_schema_of_a_hundred_fields_is_small() {
    let field = |at: usize| (format!("field{at}"), json!({"type": "string", "maxLength": 10, "pattern": "^[a-z]+$"}));
    let fields: serde_json::Map<String, Value> = (0..100).map(field).collect();
    let structural = Structural::read(&of(Value::Object(fields)));
    // Nodes, their names and two bounds each, and the text of a pattern: what a place of the schema is made of.
    let bytes = size_of::<super::Node>() + 2 * size_of::<super::node::Bound>() + size_of::<Pattern>() + 2 * 8;
    assert!(bytes * 100 < 40_000, "{bytes}");
    assert!(structural.root().rules().is_empty());
}

#[test]
fn work_is_bounded() {
    let many = |count: usize, part: Value| {
        of(json!({"l": {"type": "array", "items": {"type": "string", "allOf": vec![part; count]}}}))
    };
    let object = json!({"spec": {"l": vec!["x"; 10_000]}});
    let choices: Vec<String> = (0..10_000).map(|at| format!("{at}x")).collect();
    let schemas = [
        many(1_000, json!({"maxLength": 9})),
        many(1_000, json!({"pattern": "^(x+)+$"})),
        many(1, json!({"not": {"enum": choices}})),
    ];
    for schema in schemas {
        let structural = Structural::read(&schema);
        let errors = super::validate::object_within(structural.root(), &object, 20_000);
        assert_eq!(errors.last().unwrap().detail, "the object takes too long to validate");
    }
}

proptest! {
    #[test]
    fn patterns_that_are_accepted_compile(pattern in "[a-c(){}\\[\\]|*+?.^$\\\\0-9dwsbB,:<>P=!i&~-]{0,12}") {
        if Pattern::steps(&pattern).is_ok() {
            prop_assert!(Pattern::new(&pattern).compiles(), "{pattern}");
        }
    }
}
