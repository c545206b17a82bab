//! Rules and objects that are made to take long.

use std::time::{Duration, Instant};

use openapi::structural::Structural;
use serde_json::{Value, json};

use super::super::{ERRORS_MAX, Rules};

/// Far more than any of them takes, even unoptimised beside other work; far less than they are made to take.
const PATIENCE: Duration = Duration::from_secs(300);

/// The errors of an object whose `list` has the rule, and of what stands in it. Checks that it does not take long.
fn errors(list: Value, value: Value, old: Option<Value>) -> Vec<String> {
    let begun = Instant::now();
    let schema = Structural::read(&json!({ "type": "object", "properties": { "list": list } }));
    let rules = Rules::compile(&schema).unwrap();
    let (object, old) = (json!({ "list": value }), old.map(|old| json!({ "list": old })));
    let errors = rules.validate(&schema, &object, old.as_ref(), &[]);
    assert!(begun.elapsed() < PATIENCE, "{:?}", begun.elapsed());
    errors.errors.iter().map(ToString::to_string).collect()
}

fn list_with(rule: &str) -> Value {
    json!({ "type": "array", "items": { "type": "string" }, "x-kubernetes-validations": [{ "rule": rule }] })
}

#[track_caller]
fn check(rule: &str, value: Value, expect: &str) {
    let found = errors(list_with(rule), value, None);
    assert!(found.len() == 1 && found[0].contains(expect), "{found:?}");
}

fn texts(count: usize, length: usize) -> Value {
    (0..count).map(|index| format!("{index}{}", "a".repeat(length))).collect()
}

const TOO_MUCH: &str = "call cost exceeds limit";

#[test]
fn loops_in_loops_end() {
    check("self.all(a, self.all(b, self.all(c, a != b + c)))", texts(1000, 1), TOO_MUCH);
    check("self.map(a, self.map(b, self.map(c, a + b + c))).size() > 0", texts(1000, 1), TOO_MUCH);
}

#[test]
fn texts_that_double_end() {
    let doubled = (0..24).fold("self[0]".to_owned(), |text, at| {
        let name = char::from(b'a' + at);
        format!("[{text}].map({name}, {name} + {name})[0]")
    });
    check(&format!("{doubled}.size() == 0"), texts(1, 1000), TOO_MUCH);
    check("self.map(a, self.join()).join().size() == 0", texts(10_000, 10), TOO_MUCH);
}

#[test]
fn patterns_end() {
    check("self.all(a, a.matches('(a|aa|aaa|aaaa)*b'))", texts(1, 2_000_000), TOO_MUCH);
    let found = errors(list_with("self.all(a, a.matches('((a{1,1000}){1,1000}){1,1000}'))"), texts(1, 10), None);
    assert!(found.len() == 1 && found[0].contains("rule compile error"), "{found:?}");
}

#[test]
fn all_calls_together_end() {
    let rule = json!([{ "rule": "self.all(a, self.all(b, self.all(c, a + b + c >= 0)))" }]);
    let items = json!({ "type": "array", "items": { "type": "integer" }, "x-kubernetes-validations": rule });
    let value = json!(vec![(0..40).collect::<Vec<_>>(); 10_000]);
    let found = errors(json!({ "type": "array", "items": items }), value, None);
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("running out of cost budget"), "{found:?}");
}

#[test]
fn what_breaks_rules_everywhere_is_told_so_often_and_no_more() {
    let rule = json!([{ "rule": "false", "message": "no" }]);
    let items = json!({ "type": "integer", "x-kubernetes-validations": rule });
    let list = json!({ "type": "array", "items": items });
    let many = json!((0..500_000).collect::<Vec<_>>());
    assert_eq!(errors(list.clone(), many.clone(), None).len(), ERRORS_MAX);
    assert!(errors(list, many.clone(), Some(many)).is_empty());
}
