//! What rules make of objects, and what is wrong with rules.

use super::*;
use crate::custom::Interned;
use serde_json::json;

/// Widgets in two versions, as in the documentation of kcp.
fn definition() -> Object {
    let text = json!({ "type": "string", "maxLength": 64 });
    let of =
        |spec: Value| json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": spec } } });
    let name = json!({ "type": "object", "properties": { "first": text, "last": text, "lastUpper": text } });
    let new = json!({ "type": "object", "properties": { "hello": text } });
    let one = json!({ "firstName": text, "lastName": text, "size": { "type": "integer" }, "name": text, "same": text,
        "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
    let two = json!({ "name": name, "someNewField": new, "size": text, "same": text, "width": { "type": "number" } });
    let version = |name: &str, spec: Value| json!({ "name": name, "schema": { "openAPIV3Schema": of(spec) } });
    let spec = json!({ "versions": [version("v1", one), version("v2", two)] });
    Object::try_from(json!({ "spec": spec })).unwrap()
}

fn there() -> Value {
    json!({ "from": "v1", "to": "v2", "rules": [
        { "field": ".spec.firstName", "destination": ".spec.name.first" },
        { "field": ".spec.lastName", "destination": ".spec.name.last", "transformation": "self" },
        { "field": ".spec.lastName", "destination": ".spec.name.lastUpper", "transformation": "self.upperAscii()" },
        { "field": ".spec.size", "destination": ".spec.size", "transformation": "string(self)" },
    ] })
}

fn back() -> Value {
    json!({ "from": "v2", "to": "v1", "preserve": [".spec.someNewField", ".spec.name"], "rules": [
        { "field": ".spec.name.first", "destination": ".spec.firstName" },
        { "field": ".spec.name.last", "destination": ".spec.lastName" },
        { "field": ".spec.size", "destination": ".spec.size", "transformation": "int(self)" },
    ] })
}

fn compiled(conversions: &Value) -> Conversions {
    let (definition, interned) = (definition(), Interned::default());
    assert_eq!(check_conversions(conversions, &definition), []);
    let versions = definition.items(&["spec", "versions"]);
    let versions = versions.map(|version| (version["name"].as_str().unwrap().to_owned(), interned.get(version)));
    Conversions::compile(conversions.as_array().unwrap(), &versions.collect())
}

/// The object in another version, before that takes out what it does not know.
fn converted(conversions: &Value, object: Value, version: &str) -> Result<Value, Failure> {
    let mut object = Object::try_from(object).unwrap();
    compiled(conversions).convert(&mut object, version, &mut { ANSWER_COST })?;
    object.map_mut().insert("apiVersion".to_owned(), format!("example.io/{version}").into());
    Ok(Value::from(object))
}

#[test]
fn fields_become_others_as_they_are_or_by_an_expression() {
    let both = json!([there(), back()]);
    let bob = json!({ "apiVersion": "example.io/v1", "spec": { "firstName": "Bob", "lastName": "Jones", "size": 3,
        "same": "x", "name": "a text in the way" } });
    let seen = converted(&both, bob, "v2").unwrap();
    assert_eq!(seen["spec"]["name"], json!({ "first": "Bob", "last": "Jones", "lastUpper": "JONES" }));
    assert_eq!((&seen["spec"]["size"], &seen["spec"]["same"]), (&json!("3"), &json!("x")));
    let nameless = json!({ "apiVersion": "example.io/v1", "spec": { "firstName": "Bob" } });
    let seen = converted(&both, nameless, "v2").unwrap();
    assert_eq!(seen["spec"]["name"], json!({ "first": "Bob" }), "what is not there becomes nothing");
}

#[test]
fn what_the_other_version_does_not_know_comes_back_except_what_was_said_since() {
    let both = json!([there(), back()]);
    let alice = json!({ "apiVersion": "example.io/v2", "metadata": { "annotations": { "own": "yes" } }, "spec": {
        "name": { "first": "Alice", "last": "Smith" }, "someNewField": { "hello": "world" } } });
    let mut kept = converted(&both, alice, "v1").unwrap();
    let text = kept["metadata"]["annotations"]["preserve.conversion.apis.kcp.io/v2"].as_str().unwrap().to_owned();
    let expected =
        json!({ "spec.name": { "first": "Alice", "last": "Smith" }, "spec.someNewField": { "hello": "world" } });
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    kept["spec"]["firstName"] = json!("Robot");
    let again = converted(&both, kept, "v2").unwrap();
    assert_eq!(again["spec"]["someNewField"], json!({ "hello": "world" }));
    assert_eq!(again["spec"]["name"]["first"], "Robot", "what was kept is older than what is there");
    assert_eq!(again["metadata"]["annotations"], json!({ "own": "yes" }));
}

#[test]
fn what_was_kept_cannot_become_what_is_the_servers() {
    let forged = r#"{"metadata.name":"other","spec.someNewField":{"hello":"x"},"":1,"spec..x":1}"#;
    let object = json!({ "apiVersion": "example.io/v1", "metadata": { "name": "a",
        "annotations": { "preserve.conversion.apis.kcp.io/v2": forged } }, "spec": {} });
    let seen = converted(&json!([there(), back()]), object, "v2").unwrap();
    assert_eq!(seen["metadata"], json!({ "name": "a" }));
    assert_eq!(seen["spec"], json!({ "someNewField": { "hello": "x" } }));
}

#[test]
fn an_expression_that_fails_says_where_and_why() {
    let odd = json!({ "apiVersion": "example.io/v2", "spec": { "size": "large" } });
    let failure = converted(&json!([there(), back()]), odd, "v1").unwrap_err();
    assert_eq!(failure.field, "spec.size");
    assert!(failure.why.contains("type conversion error from 'string' to 'int'"), "{}", failure.why);
}

#[test]
fn what_conversions_cost_is_bounded() {
    let object = json!({ "apiVersion": "example.io/v1", "spec": { "lastName": "Jones" } });
    let rules = compiled(&json!([there()]));
    let mut left = ANSWER_COST;
    rules.convert(&mut Object::try_from(object.clone()).unwrap(), "v2", &mut left).unwrap();
    assert!(left < ANSWER_COST);
    let mut spent = 0;
    let failure = rules.convert(&mut Object::try_from(object).unwrap(), "v2", &mut spent).unwrap_err();
    assert!(failure.why.contains("cost limit exceeded"), "{}", failure.why);
}

#[track_caller]
fn refused(rule: Value, field: &str, told: &str) {
    let conversions = json!([{ "from": "v1", "to": "v2", "rules": [rule] }]);
    let errors = check_conversions(&conversions, &definition());
    assert!(
        errors.iter().any(|error| error.field == format!("spec.conversions[0].{field}") && error.detail.contains(told)),
        "{errors:?}"
    );
}

#[test]
fn rules_are_held_to_the_schemas_of_both_versions() {
    let rule = |field: &str, destination: &str, how: &str| json!({ "field": field, "destination": destination, "transformation": how });
    refused(rule(".spec.nothing", ".spec.same", ""), "rules[0].field", "the schema has no field spec.nothing");
    refused(rule(".spec.same", ".spec.nothing", ""), "rules[0].destination", "the schema has no field");
    refused(rule(".spec.same", ".metadata.name", ""), "rules[0].destination", "what every object has");
    refused(rule(".spec.same", ".spec['same']", ""), "rules[0].destination", "names of fields");
    refused(rule(".spec.size", ".spec.same", ""), "rules[0].transformation", "of type integer and the destination");
    refused(
        rule(".spec.size", ".spec.same", "self + 1"),
        "rules[0].transformation",
        "must evaluate to string, not int",
    );
    refused(rule(".spec.size", ".spec.same", "self.x"), "rules[0].transformation", "compilation failed");
    refused(rule(".spec.size", ".spec.same", "other"), "rules[0].transformation", "undeclared reference");
    let fine = |rule: Value| {
        let conversions = json!([{ "from": "v1", "to": "v2", "rules": [rule] }]);
        assert_eq!(check_conversions(&conversions, &definition()), []);
    };
    fine(rule(".spec.size", ".spec.width", ""));
    fine(rule(".spec.free.any.thing", ".spec.same", "string(self)"));
    fine(rule(".spec", ".spec.same", "has(self.firstName) ? self.firstName : 'nobody'"));
}

#[test]
fn conversions_are_between_two_versions_that_there_are_and_said_once() {
    let errors = check_conversions(
        &json!([{ "from": "v1", "to": "v3", "rules": [] }, { "from": "v1", "to": "v1", "rules": [] }, there(), there()]),
        &definition(),
    );
    let fields: Vec<&str> = errors.iter().map(|error| &*error.field).collect();
    assert_eq!(fields, ["spec.conversions[0].to", "spec.conversions[1].to", "spec.conversions[3]"]);
}

#[test]
fn expressions_that_could_cost_too_much_are_refused_when_they_are_written() {
    let names = json!({ "type": "array", "items": { "type": "string" } });
    let of =
        |spec: Value| json!({ "type": "object", "properties": { "spec": { "type": "object", "properties": spec } } });
    let version = |name: &str| json!({ "name": name, "schema": { "openAPIV3Schema": of(json!({ "names": names })) } });
    let definition = json!({ "spec": { "versions": [version("v1"), version("v2")] } });
    let how = "self.filter(a, self.all(b, self.exists(c, c == a + b)))";
    let rule = json!({ "field": ".spec.names", "destination": ".spec.names", "transformation": how });
    let conversions = json!([{ "from": "v1", "to": "v2", "rules": [rule] }]);
    let errors = check_conversions(&conversions, &Object::try_from(definition).unwrap());
    assert!(errors.iter().any(|error| error.detail.contains("exceeds budget by factor of")), "{errors:?}");
}
