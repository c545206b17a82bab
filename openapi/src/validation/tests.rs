//! Replays the vectors that `generate/validation` wrote: what Kubernetes says to each of them, we say.

use proptest::prelude::*;
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
    let mut found: Vec<String> = found.iter().map(said).collect();
    if ty.name == "CustomResourceDefinition" {
        // Go walks the maps of a schema in any order.
        found.sort();
    }
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

/// Anything that JSON can say.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "[-+]?[0-9.]{0,30}[a-zA-Z]{0,2}[0-9]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from);
        let map = prop::collection::btree_map("[a-z]{0,4}", inner, 0..3);
        prop_oneof![list, map.prop_map(|entries| Value::Object(entries.into_iter().collect()))]
    })
}

/// Every leaf of a value.
fn leaves(value: &mut Value) -> Vec<&mut Value> {
    let mut found = Vec::new();
    let mut open = vec![value];
    while let Some(next) = open.pop() {
        match next {
            Value::Array(items) => open.extend(items),
            Value::Object(entries) => open.extend(entries.values_mut()),
            leaf => found.push(leaf),
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What a client sends may be nonsense: it is refused or not, and that is all.
    #[test]
    fn nonsense_is_survived(at in any::<prop::sample::Index>(), value in anything()) {
        let mut base = Value::Null;
        let mut ty = None;
        for vector in VECTORS.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
            if let Some((version, name)) = vector["kind"].as_str().and_then(|kind| kind.split_once(' ')) {
                base = vector["base"].clone();
                ty = kind_in(version, name);
            }
            if at.index(16) != 0 && vector["kind"].is_null() {
                continue;
            }
            let ty = ty.unwrap();
            let patch = ["create", "update", "status"].iter().find_map(|name| vector.get(name));
            let object = patched(&base, patch.unwrap_or(&Value::Null));
            let mut odd = if object.is_object() { object } else { base.clone() };
            let mut leaves = leaves(&mut odd);
            let leaf = at.index(leaves.len());
            *leaves[leaf] = value.clone();
            create(&odd, ty);
            update(&odd, &base, ty);
            update(&base, &odd, ty);
            update_status(&odd, &base, ty);
        }
    }
}

#[test]
fn many_errors_that_repeat_much_are_cut_short() {
    let scopes = vec!["Odd"; 100_000];
    let quota = serde_json::json!({
        "metadata": {"name": "a", "namespace": "b"},
        "spec": {"scopes": scopes, "hard": {"services": "1"}}
    });
    let errors = create(&quota, kind_in("v1", "ResourceQuota").unwrap());
    let bytes: usize = errors.iter().map(|error| error.to_string().len()).sum();
    assert!(!errors.is_empty() && bytes < 4 << 20, "{bytes}");
}
