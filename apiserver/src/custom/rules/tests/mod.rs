//! What Kubernetes makes of the same rules. The lines are written by `make generate`.

mod bombs;

use openapi::structural::Structural;
use openapi::validation::definition;
use serde_json::Value;

use super::{Rules, check_rules};

fn lines(text: &'static str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap())
}

/// Go goes through maps in any order.
fn sorted(errors: Vec<openapi::FieldError>) -> Vec<String> {
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.sort();
    texts
}

fn expected(vector: &Value) -> Vec<String> {
    vector["errors"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn difference(of: &Value, found: &[String], expected: &[String]) -> Option<String> {
    let lacks = |all: &[String], text: &String| !all.contains(text);
    let missing: Vec<&String> = expected.iter().filter(|text| lacks(found, text)).collect();
    let surplus: Vec<&String> = found.iter().filter(|text| lacks(expected, text)).collect();
    let count = found.len() != expected.len();
    (count || !missing.is_empty() || !surplus.is_empty())
        .then(|| format!("{of}\n   Go: {missing:#?}\n here: {surplus:#?}"))
}

#[track_caller]
fn assert_none(count: usize, least: usize, wrong: &[String]) {
    assert!(count >= least, "only {count} vectors");
    assert!(wrong.is_empty(), "{} of {count}\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn objects_are_held_to_rules_as_in_go() {
    let mut schema = Structural::read(&Value::Null);
    let mut rules = None;
    let (mut count, mut wrong) = (0, Vec::new());
    for vector in lines(include_str!("objects.jsonl")) {
        if let Some(next) = vector.get("schema") {
            schema = Structural::read(next);
            rules = Rules::compile(&schema);
            continue;
        }
        let rules = rules.as_ref().unwrap();
        let (object, old) = (&vector["object"], vector.get("old"));
        let mut errors = schema.validate(object, old, openapi::validation::embedded_metadata);
        errors.extend(rules.validate(&schema, object, old, &errors).errors);
        let of = serde_json::json!({ "object": object, "old": old });
        wrong.extend(difference(&of, &sorted(errors), &expected(&vector)));
        count += 1;
    }
    assert_none(count, 150, &wrong);
}

#[test]
fn rules_of_definitions_are_judged_as_in_go() {
    let (mut count, mut wrong) = (0, Vec::new());
    for vector in lines(include_str!("definitions.jsonl")) {
        let (crd, old) = (&vector["definition"], vector.get("old"));
        let mut errors = definition::validate(crd, old);
        errors.extend(check_rules(crd, old, &errors));
        let rules = Value::from(rules_in(crd));
        wrong.extend(difference(&rules, &sorted(errors), &expected(&vector)));
        count += 1;
    }
    assert_none(count, 60, &wrong);
}

/// The rules of a definition, for whoever reads of a difference.
fn rules_in(tree: &Value) -> Vec<Value> {
    match tree {
        Value::Object(map) => map
            .iter()
            .flat_map(|(name, inner)| match name.as_str() {
                "x-kubernetes-validations" => vec![inner.clone()],
                _ => rules_in(inner),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(rules_in).collect(),
        _ => Vec::new(),
    }
}
