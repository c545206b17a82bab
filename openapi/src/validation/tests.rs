//! Replays the vectors that `generate/validation` wrote: what Kubernetes says to each of them, we say.

use serde_json::Value;

use super::{create, update, update_status};
use crate::builtin::{Type, kind_in};
use crate::field::FieldError;

/// One object a line, as a merge patch of the base that stands above it.
const VECTORS: &str = include_str!("vectors.txt");

/// `@300` stands for a text of 300 letters.
fn expanded(value: &Value) -> Value {
    let count = value.as_str().and_then(|text| text.strip_prefix('@')).and_then(|count| count.parse().ok());
    count.map_or_else(|| value.clone(), |count| "x".repeat(count).into())
}

fn patched(base: &Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return expanded(patch) };
    let nothing = serde_json::Map::new();
    let before = base.as_object().unwrap_or(&nothing);
    let mut merged = before.clone();
    for (name, change) in changes {
        match (change, before.get(name)) {
            (Value::Null, _) => drop(merged.remove(name)),
            (_, Some(old)) => drop(merged.insert(name.clone(), patched(old, change))),
            (_, None) => drop(merged.insert(name.clone(), patched(&Value::Null, change))),
        }
    }
    Value::Object(merged)
}

fn said(error: &FieldError) -> String {
    format!("{}|{}|{}", error.field, error.wrong.reason(), error.body())
}

/// Kubernetes shows its own Go types where the vector has an ellipsis.
fn agrees(expected: &str, found: &str) -> bool {
    match expected.split_once('…') {
        None => expected == found,
        Some((head, tail)) => found.starts_with(head) && found.ends_with(tail),
    }
}

/// What we say to a vector, if it is not what Kubernetes says.
fn judge(base: &Value, vector: &Value, ty: &'static Type) -> Option<String> {
    let object = |name: &str| vector.get(name).map(|patch| patched(base, patch));
    let old = object("old").unwrap_or_else(|| base.clone());
    let found = match (object("update"), object("status"), object("create")) {
        (Some(new), _, _) => update(&new, &old, ty),
        (_, Some(new), _) => update_status(&new, &old, ty),
        (_, _, new) => create(&new.unwrap_or_else(|| base.clone()), ty),
    };
    let found: Vec<String> = found.iter().map(said).collect();
    let expected: Vec<&str> = vector["errors"].as_array()?.iter().filter_map(Value::as_str).collect();
    let same =
        found.len() == expected.len() && expected.iter().zip(&found).all(|(expected, found)| agrees(expected, found));
    let lines = |list: Vec<String>| list.join("\n      ");
    let expected = expected.into_iter().map(str::to_owned).collect();
    (!same).then(|| format!("expected:\n      {}\n    found:\n      {}", lines(expected), lines(found)))
}

#[test]
fn every_vector_is_judged_as_kubernetes_judges_it() {
    let (mut base, mut ty, mut wrong) = (Value::Null, None, Vec::new());
    for (at, line) in VECTORS.lines().enumerate() {
        let vector: Value = serde_json::from_str(line).unwrap();
        if let Some((version, name)) = vector["kind"].as_str().and_then(|kind| kind.split_once(' ')) {
            base = vector["base"].clone();
            ty = kind_in(version, name);
        }
        let ty = ty.unwrap();
        if let Some(difference) = judge(&base, &vector, ty) {
            let mut shown = vector.clone();
            shown.as_object_mut().unwrap().remove("errors");
            wrong.push(format!("{}: {} {shown}\n    {difference}", at + 1, ty.name));
        }
    }
    let of = VECTORS.lines().count();
    assert!(of > 0 && wrong.is_empty(), "{} of {of} differ:\n{}", wrong.len(), wrong.join("\n"));
}
