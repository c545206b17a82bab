//! Laws of applying, and the words in which it is refused. That the rest is as in Kubernetes is shown by `tests/go`.

use super::*;
use openapi::builtin::kind_in;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeSet;

struct ConfigMaps;

impl Kind for ConfigMaps {
    fn schema(&self, api_version: &str) -> Option<Schema<'_>> {
        kind_in(api_version, "ConfigMap").map(Schema::of_kind)
    }

    fn convert<'a>(&self, object: &'a Value, _: &str) -> Option<Cow<'a, Value>> {
        Some(Cow::Borrowed(object))
    }

    fn empty(&self, _: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})
    }
}

/// No data is left out: who says that there is none owns that there is none.
fn config(data: &Value) -> Value {
    let mut config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}});
    if data != &json!({}) {
        config["data"] = data.clone();
    }
    config
}

fn applied(live: &Value, name: &str, data: &Value, force: Force, seconds: i64) -> Result<Value, ApplyError> {
    let reset = FieldSet::default();
    let now = Instant { seconds, nanos: 0 };
    let writer = Writer { kind: &ConfigMaps, name, api_version: "v1", subresource: "", reset: &reset, now };
    writer.apply(live, &config(data), force)
}

fn updated(live: &Value, name: &str, data: &Value, seconds: i64) -> Value {
    let reset = FieldSet::default();
    let now = Instant { seconds, nanos: 0 };
    let writer = Writer { kind: &ConfigMaps, name, api_version: "v1", subresource: "", reset: &reset, now };
    let mut new = config(data);
    new["metadata"]["uid"] = json!("u");
    writer.update(live, &mut new);
    new
}

fn owners(object: &Value) -> Vec<(&str, &str, Value)> {
    let word = |entry: &'_ Value, field: &str| entry[field].as_str().map(str::to_owned).unwrap_or_default();
    let entries = holdings::entries(object).iter();
    entries
        .map(|entry| {
            let name = entry["manager"].as_str().unwrap_or_default();
            let operation = if word(entry, "operation") == "Apply" { "Apply" } else { "Update" };
            (name, operation, entry["fieldsV1"]["f:data"].clone())
        })
        .collect()
}

#[test]
fn what_another_owns_is_refused_and_taken_by_force() {
    let live = updated(&ConfigMaps.empty("v1"), "kubectl-edit", &json!({"a": "1", "b": "2"}), 1);
    let Err(ApplyError::Conflicts(found)) = applied(&live, "ci", &json!({"a": "3"}), Force::No, 2) else {
        panic!("a conflict was expected");
    };
    assert_eq!(found.message, "Apply failed with 1 conflict: conflict with \"kubectl-edit\" using v1: .data.a");
    let cause = Cause { field: ".data.a".to_owned(), message: "conflict with \"kubectl-edit\" using v1".to_owned() };
    assert_eq!(found.causes, [cause]);
    let Err(ApplyError::Conflicts(found)) = applied(&live, "ci", &json!({"a": "3", "b": "4"}), Force::No, 2) else {
        panic!("conflicts were expected");
    };
    let expected = "Apply failed with 2 conflicts: conflicts with \"kubectl-edit\" using v1:\n- .data.a\n- .data.b";
    assert_eq!(found.message, expected);
    let taken = applied(&live, "ci", &json!({"a": "3"}), Force::Yes, 2).unwrap();
    let expected = [("ci", "Apply", json!({"f:a": {}})), ("kubectl-edit", "Update", json!({".": {}, "f:b": {}}))];
    assert_eq!(owners(&taken), expected);
    assert_eq!(taken["data"], json!({"a": "3", "b": "2"}));
}

#[test]
fn owners_that_were_forgotten_come_back_when_somebody_applies() {
    let live = updated(&ConfigMaps.empty("v1"), "one", &json!({"a": "1"}), 1);
    let mut reset = live.clone();
    reset["metadata"]["managedFields"] = json!([{}]);
    let fields = FieldSet::default();
    let now = Instant { seconds: 2, nanos: 0 };
    let writer = Writer { kind: &ConfigMaps, name: "one", api_version: "v1", subresource: "", reset: &fields, now };
    writer.update(&live, &mut reset);
    assert_eq!(owners(&reset), []);
    assert_eq!(owners(&updated(&reset, "two", &json!({"a": "2"}), 3)), []);
    let again = applied(&reset, "ci", &json!({"b": "2"}), Force::No, 4).unwrap();
    let expected = [("ci", "Apply", json!({"f:b": {}})), ("before-first-apply", "Update", json!({".": {}, "f:a": {}}))];
    assert_eq!(owners(&again), expected);
}

#[test]
fn a_crowd_of_updaters_is_taken_together() {
    let mut live = ConfigMaps.empty("v1");
    let mut data = json!({});
    for at in 0..15 {
        data[format!("k{at:02}")] = json!("v");
        live = updated(&live, &format!("m{at:02}"), &data, at);
    }
    let found = owners(&live);
    assert_eq!(found.len(), 10);
    let first: Value =
        (0..6).map(|at| (format!("f:k{at:02}"), json!({}))).chain([(".".to_owned(), json!({}))]).collect();
    assert_eq!(found[0], ("ancient-changes", "Update", first));
}

#[test]
fn nothing_but_times_is_told_apart() {
    let (old, new) = (updated(&ConfigMaps.empty("v1"), "a", &json!({"a": "1"}), 1), json!({"a": "1"}));
    let later = updated(&ConfigMaps.empty("v1"), "a", &new, 2);
    let differ =
        |left: &Value, right: &Value| differ_in_times_only(left.as_object().unwrap(), right.as_object().unwrap());
    assert!(old != later && differ(&old, &later));
    assert!(!differ(&old, &updated(&ConfigMaps.empty("v1"), "a", &json!({"a": "2"}), 2)));
    assert!(!differ(&old, &updated(&ConfigMaps.empty("v1"), "b", &new, 2)));
}

#[test]
fn replicas_written_through_scale_are_owned_through_it() {
    let owner = |name: &str, version: &str, subresource: Option<&str>, fields: Value| {
        let mut entry = json!({
            "manager": name, "operation": "Update", "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields,
        });
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    };
    let both = json!({"f:spec": {"f:paused": {}, "f:replicas": {}}});
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let mut parent = json!({"metadata": {"managedFields": [owner("kubectl", "apps/v1", None, both)]}});
    let mut scale = json!({"apiVersion": "autoscaling/v1", "metadata": {}});
    to_scale(&parent, &["spec", "replicas"], &mut scale, "autoscaling/v1").unwrap();
    let shown = json!([owner("kubectl", "autoscaling/v1", None, replicas.clone())]);
    assert_eq!(scale["metadata"]["managedFields"], shown);
    let before = parent.clone();
    to_parent(&scale, &mut parent, &["spec", "replicas"], "apps/v1").unwrap();
    assert_eq!(parent, before, "who still owns it there owns it here");
    scale["metadata"]["managedFields"] = json!([owner("hpa", "autoscaling/v1", Some("scale"), replicas.clone())]);
    to_parent(&scale, &mut parent, &["spec", "replicas"], "apps/v1").unwrap();
    let expected = json!([
        owner("hpa", "apps/v1", Some("scale"), replicas),
        owner("kubectl", "apps/v1", None, json!({"f:spec": {"f:paused": {}}})),
    ]);
    assert_eq!(parent["metadata"]["managedFields"], expected);
}

type Keys = BTreeSet<String>;

fn keys() -> impl Strategy<Value = Keys> {
    proptest::collection::btree_set("[a-f]", 0..5)
}

/// Everybody wants the same of a key that they want at all.
fn data(keys: &Keys) -> Value {
    keys.iter().map(|key| (key.clone(), json!(key))).collect()
}

proptest! {
    #[test]
    fn applying_again_changes_nothing(before in keys(), wanted in keys()) {
        let live = updated(&ConfigMaps.empty("v1"), "before", &data(&before), 1);
        let once = applied(&live, "ci", &data(&wanted), Force::No, 2).unwrap();
        prop_assert_eq!(applied(&once, "ci", &data(&wanted), Force::No, 3).unwrap(), once);
    }

    #[test]
    fn those_who_do_not_meet_may_come_in_any_order(one in keys(), other in keys()) {
        let other: Keys = other.difference(&one).cloned().collect();
        let live = updated(&ConfigMaps.empty("v1"), "before", &json!({"z": "z"}), 1);
        let both = |first: (&str, &Keys), second: (&str, &Keys)| {
            let once = applied(&live, first.0, &data(first.1), Force::No, 2).unwrap();
            applied(&once, second.0, &data(second.1), Force::No, 2).unwrap()
        };
        prop_assert_eq!(both(("a", &one), ("b", &other)), both(("b", &other), ("a", &one)));
    }

    #[test]
    fn what_is_dropped_goes_if_nobody_else_has_it(script in proptest::collection::vec((0..3usize, keys()), 1..8)) {
        let mut live = ConfigMaps.empty("v1");
        let mut wanted: [Keys; 3] = Default::default();
        for (at, (who, keys)) in (1..).zip(&script) {
            live = applied(&live, &format!("m{who}"), &data(keys), Force::No, at).unwrap();
            wanted[*who].clone_from(keys);
            let expected: Keys = wanted.iter().flatten().cloned().collect();
            let found: Keys = live["data"].as_object().into_iter().flat_map(Map::keys).cloned().collect();
            prop_assert_eq!(found, expected);
        }
    }
}
