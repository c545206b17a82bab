//! Laws that hold for every tree, and the bounds.

use openapi::builtin::{Type, kind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn pod() -> &'static Type {
    kind("", "v1", "Pod").unwrap()
}

/// Trees whose names mean something to a strategic merge patch of a pod.
fn tree() -> impl Strategy<Value = Value> {
    let names = [
        "metadata",
        "spec",
        "containers",
        "name",
        "finalizers",
        "env",
        "x",
        "$patch",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/finalizers",
        "$setElementOrder/",
        "$deleteFromPrimitiveList/finalizers",
        "$deleteFromPrimitiveList/env",
    ];
    let name = prop::sample::select(names.to_vec()).prop_map(str::to_owned);
    let word = prop::sample::select(&["a", "b", "replace", "delete", "merge", "name"][..]);
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2i64..3).prop_map(Value::from),
        (-2.0..2.0f64).prop_map(Value::from),
        word.prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 30, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Value> {
    tree().prop_map(|inner| if inner.is_object() { inner } else { json!({"spec": inner}) })
}

/// Kubernetes keeps a `null` in a list that replaces an object, and drops it when the list replaces that list.
fn without_nulls_in_lists(value: &mut Value) {
    match value {
        Value::Array(_) => super::merge::drop_nulls(value),
        Value::Object(fields) => fields.values_mut().for_each(without_nulls_in_lists),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn merging_twice_is_merging_once(mut target in tree(), mut patch in object()) {
        without_nulls_in_lists(&mut patch);
        merge(&mut target, &patch);
        let once = target.clone();
        merge(&mut target, &patch);
        prop_assert_eq!(target, once);
    }

    #[test]
    fn an_object_merged_into_itself_only_loses_nulls(mut target in object()) {
        super::merge::drop_nulls(&mut target);
        let before = target.clone();
        merge(&mut target, &before);
        prop_assert_eq!(target, before);
    }

    #[test]
    fn an_empty_patch_changes_nothing(target in object()) {
        let mut patched = target.clone();
        strategic(&mut patched, &json!({}), pod()).unwrap();
        prop_assert_eq!(&patched, &target);
        prop_assert_eq!(json(&target, b"[]").unwrap(), target);
    }

    #[test]
    fn no_tree_is_too_strange(mut target in tree(), patch in tree()) {
        let _ = json(&target, patch.to_string().as_bytes());
        let _ = strategic(&mut target, &patch, pod());
    }

    #[test]
    fn no_operation_is_too_strange(
        target in tree(),
        operations in prop::collection::vec(("add|remove|replace|move|copy|test|x", "(/[a-z0-9-]{0,2}|/metadata|/spec){0,3}", "/[a-z]?", tree()), 0..4),
    ) {
        let patch: Vec<Value> =
            operations.iter().map(|(op, path, from, value)| json!({"op": op, "path": path, "from": from, "value": value})).collect();
        let _ = json(&target, Value::from(patch).to_string().as_bytes());
    }
}

fn refused(target: &Value, patch: &Value) -> PatchError {
    json(target, patch.to_string().as_bytes()).unwrap_err()
}

#[test]
fn a_json_patch_has_bounds() {
    let operations = |count| Value::from(vec![json!({"op": "test", "path": "/a"}); count]);
    assert_eq!(json(&json!({}), operations(OPERATIONS_MAX).to_string().as_bytes()), Ok(json!({})));
    let too_many = refused(&json!({}), &operations(OPERATIONS_MAX + 1));
    assert_eq!(too_many, PatchError::TooManyOperations(10_001));
    assert_eq!(too_many.to_string(), "The allowed maximum operations in a JSON patch is 10000, got 10001");

    let doubling = Value::from(vec![json!({"op": "copy", "from": "/a", "path": "/a/-"}); 40]);
    let text =
        "Unable to complete the copy, the accumulated size increase of copy is 6291430, exceeding the limit 3145728";
    assert_eq!(refused(&json!({"a": [1, 2]}), &doubling), PatchError::Unprocessable(text.to_owned()));
}

#[test]
fn a_long_list_is_not_moved_about_without_end() {
    let shifting = Value::from(vec![json!({"op": "add", "path": "/a/0", "value": 1}); OPERATIONS_MAX]);
    let text =
        PatchError::Unprocessable("error in add for path: '/a/0': the patch takes more than 67108864 steps".to_owned());
    assert_eq!(refused(&json!({"a": vec![1; 100_000]}), &shifting), text);
    assert!(json(&json!({"a": vec![1; 100]}), shifting.to_string().as_bytes()).is_ok());
}

#[test]
fn no_patch_makes_a_tree_too_deep_to_read() {
    let mut nested = Value::from(1);
    for _ in 0..60 {
        nested = json!([nested]);
    }
    let into = |times: usize| json!({"op": "add", "path": "/0".repeat(60 * times + 1).replacen("/0", "/a", 1), "value": nested});
    let two = Value::from(vec![json!({"op": "add", "path": "/a", "value": nested}), into(1)]);
    let deep = json(&json!({}), two.to_string().as_bytes()).unwrap();
    assert!(serde_json::from_str::<Value>(&deep.to_string()).is_ok());
    let three = Value::from(vec![json!({"op": "add", "path": "/a", "value": nested}), into(1), into(2)]);
    let text = "error in add for path: '/a/0";
    assert!(refused(&json!({}), &three).to_string().starts_with(text));

    let fold = [
        json!({"op": "add", "path": "/b", "value": {}}),
        json!({"op": "move", "from": "/a", "path": "/b/a"}),
        json!({"op": "move", "from": "/b", "path": "/a"}),
    ];
    let folding = Value::from(vec![fold; 1000].concat());
    assert!(refused(&json!({"a": [1]}), &folding).to_string().ends_with("would be more than 127 levels deep"));
}

#[test]
fn what_is_no_patch_is_malformed() {
    for patch in ["", "[", "{}", "1", "[{\"op\":[]}]"] {
        assert!(matches!(json(&json!({}), patch.as_bytes()), Err(PatchError::Malformed(_))), "{patch}");
    }
    let text = "json: cannot unmarshal array into Go value of type map[string]interface {}";
    assert_eq!(strategic(&mut json!({}), &json!([]), pod()), Err(PatchError::Malformed(text.to_owned())));
}

#[test]
fn fields_that_no_kind_has_merge_like_plain_objects() {
    let mut target = json!({"spec": {"new": {"a": 1, "list": [1, 2], "in": {"x": 1}}}});
    strategic(&mut target, &json!({"spec": {"new": {"b": 2, "list": [3], "in": {"x": null}}}}), pod()).unwrap();
    assert_eq!(target, json!({"spec": {"new": {"a": 1, "b": 2, "list": [3], "in": {}}}}));
}
