//! Objects that are changed, or not.

use super::stage::{everything, mutate, policy};
use crate::hooks::tests::stage::{Scene, scene};
use serde_json::{Value, json};

const WEB: &str = "CREATE apps/v1/deployments n/web";

fn deployment() -> Scene {
    let mut scene = scene(WEB);
    for object in [&mut scene.object, &mut scene.old].into_iter().flatten() {
        object["spec"] = json!({ "replicas": 1 });
    }
    scene
}

fn applying(name: &str, expression: &str, more: Value) -> Value {
    changing(
        name,
        json!({ "patchType": "ApplyConfiguration", "applyConfiguration": { "expression": expression } }),
        more,
    )
}

fn patching(name: &str, expression: &str, more: Value) -> Value {
    changing(name, json!({ "patchType": "JSONPatch", "jsonPatch": { "expression": expression } }), more)
}

fn changing(name: &str, mutation: Value, more: Value) -> Value {
    let mut policy = policy(name, more);
    policy["spec"]["mutations"] = json!([mutation]);
    policy
}

#[track_caller]
fn changed(scene: &Scene, policies: &[Value]) -> Value {
    mutate(scene, policies).unwrap().object.unwrap().into()
}

#[track_caller]
fn replicas(policies: &[Value]) -> Value {
    changed(&deployment(), policies)["spec"]["replicas"].clone()
}

#[track_caller]
fn refused(policies: &[Value], code: u16, reason: &str, message: &str) {
    let error = mutate(&deployment(), policies).expect_err("it was not refused");
    assert_eq!((error.code(), error.reason(), error.message()), (code, reason, message));
}

/// What the conformance tests of mutation do.
#[test]
fn deployments_are_annotated_and_scaled() {
    let expression = r#"Object{metadata: Object.metadata{annotations: {"mutated-by": "admission-policy"}}}"#;
    let annotated = changed(&deployment(), &[applying("p", expression, json!({}))]);
    assert_eq!(annotated["metadata"]["annotations"], json!({ "mutated-by": "admission-policy" }));
    assert_eq!(annotated["metadata"]["labels"], json!({ "a": "1" }));
    assert_eq!(replicas(&[applying("p", "Object{spec: Object.spec{replicas: 1337}}", json!({}))]), 1337);
}

#[test]
fn patches_are_applied() {
    let patch = "[JSONPatch{op: 'replace', path: '/spec/replicas', value: object.spec.replicas + 6}]";
    assert_eq!(replicas(&[patching("p", patch, json!({}))]), 7);
    let test = "[JSONPatch{op: 'test', path: '/spec/replicas', value: 5}, JSONPatch{op: 'remove', path: '/spec'}]";
    assert_eq!(replicas(&[patching("p", test, json!({}))]), 1);
}

#[test]
fn policies_see_what_those_before_them_did() {
    let double = "Object{spec: Object.spec{replicas: object.spec.replicas * 2}}";
    let more = "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}";
    assert_eq!(replicas(&[applying("a", double, json!({})), applying("b", more, json!({}))]), 3);
    assert_eq!(replicas(&[applying("b", double, json!({})), applying("a", more, json!({}))]), 4);
}

#[test]
fn who_wants_to_is_asked_once_more() {
    let again = json!({ "reinvocationPolicy": "IfNeeded" });
    let more = "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}";
    let note = "Object{metadata: Object.metadata{labels: {'n': string(object.spec.replicas)}}}";
    assert_eq!(replicas(&[applying("p", more, again.clone())]), 3);
    let policies = [applying("a", note, again), applying("b", more, json!({}))];
    let found = changed(&deployment(), &policies);
    assert_eq!((&found["spec"]["replicas"], &found["metadata"]["labels"]["n"]), (&json!(2), &json!("2")));
}

#[test]
fn nothing_is_changed_that_is_not_meant() {
    let more = "Object{spec: Object.spec{replicas: 5}}";
    let mut elsewhere = everything();
    elsewhere["namespaceSelector"] = json!({ "matchLabels": { "in": "m" } });
    assert_eq!(replicas(&[applying("p", more, json!({ "matchConstraints": elsewhere }))]), 1);
    let never = json!({ "matchConditions": [{ "name": "n", "expression": "object.spec.replicas > 1" }] });
    assert_eq!(replicas(&[applying("p", more, never)]), 1);
    let same = mutate(&deployment(), &[applying("p", "Object{}", json!({}))]).unwrap();
    assert!(!same.was_changed);
    assert!(mutate(&deployment(), &[applying("p", more, json!({}))]).unwrap().was_changed);
}

#[test]
fn params_are_applied_one_after_another() {
    let expression = "Object{metadata: Object.metadata{labels: {params.metadata.name: params.data.max}}}";
    let more = json!({
        "paramKind": { "apiVersion": "v1", "kind": "ConfigMap" },
        "binding": { "paramRef": { "selector": { "matchLabels": { "size": "small" } } } },
    });
    let labels = changed(&deployment(), &[applying("p", expression, more)])["metadata"]["labels"].clone();
    assert_eq!(labels, json!({ "a": "1", "low": "1", "lower": "0" }));
}

#[test]
fn what_goes_wrong_is_refused_or_ignored() {
    let broken = "Object{spec: Object.spec{replicas: object.nothing}}";
    let message = "policy 'p' with binding 'p-binding' denied request: expression 'Object{spec: Object.spec{replicas: \
                   object.nothing}}' resulted in error: no such key: nothing";
    refused(&[applying("p", broken, json!({}))], 403, "Invalid", message);
    assert_eq!(replicas(&[applying("p", broken, json!({ "failurePolicy": "Ignore" }))]), 1);
    let message = "policy \"p\" denied request: failed to configure policy: policy contained no match constraints, a \
                   required field";
    refused(&[applying("p", "Object{}", json!({ "matchConstraints": null }))], 403, "Forbidden", message);
    let condition = json!({ "matchConditions": [{ "name": "n", "expression": "1 / 0 == 1" }] });
    let message = "policy 'p' with binding 'p-binding' denied request: expression '1 / 0 == 1' resulted in error: \
                   division by zero";
    refused(&[applying("p", "Object{}", condition)], 403, "Invalid", message);
}

#[test]
fn every_policy_that_failed_is_a_cause() {
    let broken = "Object{spec: Object.spec{replicas: object.nothing}}";
    let policies = [applying("a", broken, json!({})), applying("b", broken, json!({}))];
    let error = mutate(&deployment(), &policies).unwrap_err();
    let causes = error.status()["details"]["causes"].as_array().unwrap().len();
    assert_eq!((causes, error.message().starts_with("policy 'a'")), (2, true));
}

#[test]
fn patched_objects_are_completed_and_what_is_unknown_is_refused() {
    let template = "[JSONPatch{op: 'add', path: '/spec/template', value: {'spec': {'containers': [{'name': 'c'}]}}}]";
    let found = changed(&deployment(), &[patching("p", template, json!({}))]);
    assert_eq!(found.pointer("/spec/template/spec/restartPolicy"), Some(&json!("Always")));
    let unknown = "[JSONPatch{op: 'add', path: '/spec/unknown', value: 1}]";
    let error = mutate(&deployment(), &[patching("p", unknown, json!({}))]).unwrap_err();
    assert_eq!((error.code(), error.message().contains("unknown field \"spec.unknown\"")), (500, true));
}

#[test]
fn objects_are_changed_in_the_version_that_is_meant() {
    let rules = json!([{ "operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["events"] }]);
    let mut constraints = everything();
    constraints["resourceRules"] = rules;
    let expression =
        "Object{message: object.apiVersion + ' ' + request.resource.version + ' ' + request.requestKind.group}";
    let mut scene = scene("CREATE events.k8s.io/v1/events n/e");
    scene.object.as_mut().unwrap()["note"] = json!("before");
    let found = changed(&scene, &[applying("p", expression, json!({ "matchConstraints": constraints }))]);
    assert_eq!((&found["apiVersion"], &found["note"]), (&json!("events.k8s.io/v1"), &json!("v1 v1 events.k8s.io")));
}
