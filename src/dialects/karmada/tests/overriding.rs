//! Override policies: which concern an object, in which order, and what they change.

use super::*;
use crate::dialects::karmada::overrides::OverridePolicy;
use crate::dialects::karmada::overrides::compile;
use crate::dialects::karmada::overrides::concerning;
use crate::scheduler::change::Change;

fn overriding(namespace: Option<&str>, name: &str, selectors: Value, rule: Value) -> OverridePolicy {
    let mut object =
        json!({"metadata": {"name": name}, "spec": {"resourceSelectors": selectors, "overrideRules": [rule]}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = namespace.into();
    }
    compile(&object).unwrap()
}

fn nothing() -> Value {
    json!({"overriders": {}})
}

#[test]
fn the_loosest_of_the_cluster_comes_first_and_the_closest_of_the_namespace_last() {
    let deployment = |more: Value| {
        let mut selector = json!({"apiVersion": "apps/v1", "kind": "Deployment"});
        selector.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!([selector])
    };
    let policies = [
        overriding(Some("default"), "named", deployment(json!({"name": "nginx"})), nothing()),
        overriding(Some("default"), "b-all", deployment(json!({})), nothing()),
        overriding(Some("default"), "a-all", Value::Null, nothing()),
        overriding(
            Some("default"),
            "labels",
            deployment(json!({"labelSelector": {"matchLabels": {"app": "nginx"}}})),
            nothing(),
        ),
        overriding(Some("other"), "elsewhere", Value::Null, nothing()),
        overriding(None, "cluster-named", deployment(json!({"name": "nginx"})), nothing()),
        overriding(None, "cluster-all", Value::Null, nothing()),
        overriding(None, "cluster-other", deployment(json!({"name": "other"})), nothing()),
    ];
    let names: Vec<&str> = concerning(&nginx(), policies.iter()).iter().map(|policy| policy.name.as_str()).collect();
    assert_eq!(names, ["cluster-all", "cluster-named", "a-all", "b-all", "labels", "named"]);
}

#[test]
fn all_sorts_of_overriders_are_read_in_karmadas_order() {
    let rule = json!({"targetCluster": {"clusterNames": ["member1"]}, "overriders": {
        "plaintext": [{"path": "/spec/replicas", "operator": "replace", "value": 3}],
        "fieldOverrider": [{"fieldPath": "/data/x", "yaml": [{"subPath": "/a", "operator": "remove"}]}],
        "annotationsOverrider": [{"operator": "add", "value": {"a": "b"}}],
        "labelsOverrider": [{"operator": "add", "value": {"a": "b"}}],
        "argsOverrider": [{"containerName": "c", "operator": "add", "value": ["-v"]}],
        "commandOverrider": [{"containerName": "c", "operator": "remove", "value": ["x"]}],
        "imageOverrider": [{"component": "Tag", "operator": "replace", "value": "2"}]}});
    let policy = overriding(None, "all", Value::Null, rule);
    let order: Vec<&str> = policy.overrides[0]
        .changes
        .iter()
        .map(|change| match change {
            Change::Image(_) => "image",
            Change::Command(change) if change.remove => "command",
            Change::Args(change) if !change.remove => "args",
            Change::Labels(_) => "labels",
            Change::Annotations(_) => "annotations",
            Change::Document(_) => "document",
            Change::Field(_) => "field",
            _ => "wrong",
        })
        .collect();
    assert_eq!(order, ["image", "command", "args", "labels", "annotations", "document", "field"]);
    let admits = |name: &str| policy.overrides[0].cells.admits(&cells(&[name])[0]);
    assert!(admits("member1") && !admits("member2"));
}

#[test]
fn the_form_of_old_is_still_read() {
    let object = json!({"metadata": {"name": "old"}, "spec": {"targetCluster": {"clusterNames": ["member1"]},
        "overriders": {"plaintext": [{"path": "/spec", "operator": "remove"}]}}});
    let policy = compile(&object).unwrap();
    assert_eq!((policy.overrides.len(), policy.overrides[0].changes.len()), (1, 1));
    assert_eq!(policy.overrides[0].cells.names, ["member1"]);
}
