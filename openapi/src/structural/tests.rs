//! Objects in, objects out; what the Go code says to thousands of them is in `tests/go/structural.rs`.

use serde_json::{Value, json};

use super::Structural;

fn pruned(schema: Value, mut object: Value) -> (Value, Vec<String>) {
    let found = Structural::read(&schema).prune(&mut object);
    (object, found)
}

fn defaulted(schema: Value, mut object: Value) -> Value {
    Structural::read(&schema).default(&mut object);
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
