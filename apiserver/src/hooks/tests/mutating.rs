//! Hooks that change objects, one after another.

use super::stage::{Scene, answer, hook, patch, scene};
use crate::hooks::call::CallError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Names of hooks; an exclamation mark after one that wants to be asked again.
fn hooks(names: &[&str]) -> Vec<Value> {
    let of = |name: &&str| match name.strip_suffix('!') {
        Some(name) => hook(name, json!({ "reinvocationPolicy": "IfNeeded" })),
        None => hook(name, json!({})),
    };
    names.iter().map(of).collect()
}

/// Who is asked, and which labels the object has in the end.
async fn check(names: &[&str], asked: &[&str], labels: &[&str]) {
    let played = scene("CREATE v1/pods n/w").mutate(&hooks(names)).await;
    assert_eq!(played.asked, asked, "{names:?}");
    let object = played.result.unwrap().object.unwrap();
    assert_eq!(object.labels().unwrap().keys().collect::<Vec<_>>(), labels, "{names:?}");
}

#[tokio::test]
async fn each_sees_what_those_before_have_made() {
    check(&["label-b", "label-c"], &["label-b", "label-c"], &["a", "b", "c"]).await;
    check(&["label-b", "unlabel-b"], &["label-b", "unlabel-b"], &["a"]).await;
    let played = scene("CREATE v1/pods n/w").mutate(&hooks(&["label-b", "allow"])).await;
    assert_eq!(played.reviews[1]["request"]["object"]["metadata"]["labels"], json!({ "a": "1", "b": "yes" }));
}

#[tokio::test]
async fn a_hook_is_asked_again_when_a_later_one_changed_something() {
    check(&["label-b!", "label-c"], &["label-b", "label-c", "label-b"], &["a", "b", "c"]).await;
    check(&["label-b", "label-c"], &["label-b", "label-c"], &["a", "b", "c"]).await;
    // Nothing changed after it was asked.
    check(&["label-b!"], &["label-b"], &["a", "b"]).await;
    check(&["allow!", "allow!"], &["allow", "allow"], &["a"]).await;
    check(&["allow!", "nothing", "same"], &["allow", "nothing", "same"], &["a"]).await;
    // The last one has seen it all, until the second round changes something again.
    check(&["label-b!", "unlabel-b!"], &["label-b", "unlabel-b", "label-b", "unlabel-b"], &["a"]).await;
}

#[tokio::test]
async fn a_hook_is_asked_again_when_a_plugin_changed_something() {
    let mut with_plugin = scene("CREATE v1/pods n/w");
    with_plugin.readmit = |object| {
        object.set_annotation("seen", "twice");
        Ok(())
    };
    let played = with_plugin.mutate(&hooks(&["label-b!"])).await;
    assert_eq!(played.asked, ["label-b", "label-b"]);
    assert_eq!(played.reviews[1]["request"]["object"]["metadata"]["annotations"]["seen"], "twice");
    let object = played.result.unwrap().object.unwrap();
    assert_eq!((object.annotation("seen"), object.labels().unwrap().len()), (Some("twice"), 2));
    // Plugins are only asked again if a hook changed something.
    let played = with_plugin.mutate(&hooks(&["allow!"])).await;
    assert_eq!(played.result.unwrap().object.unwrap().annotation("seen"), None);
}

#[tokio::test]
async fn a_hook_that_was_not_meant_at_first_is_not_asked_later() {
    let selector = json!({ "objectSelector": { "matchLabels": { "b": "yes" } }, "reinvocationPolicy": "IfNeeded" });
    let all = [hook("label-c", selector.clone()), hook("label-b", json!({})), hook("allow", selector)];
    let played = scene("CREATE v1/pods n/w").mutate(&all).await;
    assert_eq!(played.asked, ["label-b", "allow"]);
    let all =
        [hook("unlabel-a", json!({})), hook("deny", json!({ "objectSelector": { "matchLabels": { "a": "1" } } }))];
    assert_eq!(scene("CREATE v1/pods n/w").mutate(&all).await.asked, ["unlabel-a"]);
}

#[tokio::test]
async fn what_was_done_is_noted() {
    let all = [hook("label-b", json!({})), hook("broken", json!({ "failurePolicy": "Ignore" }))];
    let changed = scene("CREATE v1/pods n/w").mutate(&all).await.result.unwrap();
    assert!(changed.was_changed);
    let notes: Vec<_> = changed.told.annotations.into_iter().collect();
    let mutated = |configuration: &str, name: &str, yes: bool| {
        json!({ "configuration": configuration, "webhook": name, "mutated": yes }).to_string()
    };
    let patch = json!({
        "configuration": "c0", "webhook": "label-b.example.com", "patchType": "JSONPatch",
        "patch": [{ "op": "add", "path": "/metadata/labels/b", "value": "yes" }],
    });
    let expect = [
        ("failed-open.mutation.webhook.admission.k8s.io/round_0_index_1", "broken.example.com".to_owned()),
        ("mutation.webhook.admission.k8s.io/round_0_index_0", mutated("c0", "label-b.example.com", true)),
        ("mutation.webhook.admission.k8s.io/round_0_index_1", mutated("c1", "broken.example.com", false)),
        ("patch.webhook.admission.k8s.io/round_0_index_0", patch.to_string()),
    ];
    assert_eq!(notes, expect.map(|(key, value)| (key.to_owned(), value)));
}

#[tokio::test]
async fn one_that_says_no_ends_it() {
    let played = scene("CREATE v1/pods n/w").mutate(&hooks(&["warn-hm", "deny-no", "allow"])).await;
    assert_eq!(played.asked, ["warn-hm", "deny-no"]);
    let error = played.result.unwrap_err();
    assert_eq!(error.message(), "admission webhook \"deny-no.example.com\" denied the request: no");
    assert_eq!((error.code(), error.warnings()), (403, &["hm".to_owned()][..]));
}

/// An object in another version than the hook wants it in.
fn scaler() -> Scene {
    let mut scaler = scene("CREATE autoscaling/v1/horizontalpodautoscalers n/w");
    let target = json!({ "kind": "Deployment", "name": "d", "apiVersion": "apps/v1" });
    scaler.object.as_mut().unwrap()["spec"] =
        json!({ "maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50 });
    scaler
}

#[tokio::test]
async fn a_change_in_another_version_comes_back_in_the_requested_one() {
    let rules = json!([{ "operations": ["*"], "apiGroups": ["*"], "apiVersions": ["v2"], "resources": ["*"] }]);
    let mut scaler = scaler();
    scaler.script = |path, review| {
        let request = &review["request"];
        let found = request["object"].pointer("/spec/metrics/0/resource/target/averageUtilization");
        assert_eq!((path, found), ("v2", Some(&json!(50))));
        Ok(patch(review, json!([{ "op": "replace", "path": "/spec/maxReplicas", "value": 7 }])))
    };
    let changed = scaler.mutate(&[hook("v2", json!({ "rules": rules }))]).await.result.unwrap();
    let object = changed.object.unwrap();
    assert_eq!(object.api_version(), "autoscaling/v1");
    assert_eq!(object.pointer(&["spec", "maxReplicas"]), Some(&json!(7)));
    assert_eq!(object.pointer(&["spec", "targetCPUUtilizationPercentage"]), Some(&json!(50)));
    scaler.script = |_, review| Ok(answer(review, json!({ "allowed": true })));
    let unchanged = scaler.mutate(&[hook("v2", json!({ "rules": rules }))]).await.result.unwrap();
    assert_eq!(Some(Value::from(unchanged.object.unwrap())), scaler.object);
}

/// What a patch of one hook comes to.
async fn patched(operations: &'static str, policy: &str, request: &str) -> Result<Value, (u16, String)> {
    let mut scene = scene(request);
    scene.script = |_, review| {
        let text = review["request"]["options"]["patch"].as_str().unwrap_or_default();
        Ok(answer(review, json!({ "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(text) })))
    };
    scene.options = json!({ "patch": operations });
    let played = scene.mutate(&[hook("h", json!({ "failurePolicy": policy }))]).await;
    match played.result {
        Ok(changed) => Ok(changed.object.map_or(Value::Null, Value::from)),
        Err(error) => Err((error.code(), error.message().to_owned())),
    }
}

#[tokio::test]
async fn a_patch_that_cannot_be_read_is_a_failed_call_and_one_that_does_not_fit_is_an_error() {
    let create = "CREATE v1/pods n/w";
    let text = "Internal error occurred: failed calling webhook \"h.example.com\": received undecodable patch in webhook \
                response: ";
    for garbage in ["{", "{}", "[1]", "\"\""] {
        let (code, message) = patched(garbage, "Fail", create).await.unwrap_err();
        assert_eq!((code, message.starts_with(text)), (500, true), "{garbage}: {message}");
        assert!(patched(garbage, "Ignore", create).await.is_ok(), "{garbage}");
    }
    let missing = r#"[{"op":"remove","path":"/spec/x"}]"#;
    for policy in ["Fail", "Ignore"] {
        let (code, message) = patched(missing, policy, create).await.unwrap_err();
        assert_eq!(code, 500);
        assert!(message.starts_with("Internal error occurred: remove operation does not apply"), "{message}");
        let (code, message) = patched(missing, policy, "DELETE v1/pods n/w").await.unwrap_err();
        let expect = "Internal error occurred: admission webhook \"h.example.com\" attempted to modify the object, which \
                      is not supported for this operation";
        assert_eq!((code, message.as_str()), (500, expect));
    }
    assert_eq!(patched("[]", "Fail", "DELETE v1/pods n/w").await, Ok(Value::Null));
}

#[tokio::test]
async fn a_patched_object_is_one_of_its_kind() {
    let create = "CREATE v1/configmaps n/w";
    let unknown = patched(r#"[{"op":"add","path":"/nonsense","value":1}]"#, "Fail", create).await.unwrap();
    assert_eq!(unknown.get("nonsense"), None);
    let (code, _) = patched(r#"[{"op":"add","path":"/data","value":{"a":1}}]"#, "Fail", create).await.unwrap_err();
    assert_eq!(code, 500);
    let (code, _) = patched(r#"[{"op":"replace","path":"/kind","value":"Pod"}]"#, "Fail", create).await.unwrap_err();
    assert_eq!(code, 500);
    let (code, _) = patched(r#"[{"op":"replace","path":"","value":[]}]"#, "Fail", create).await.unwrap_err();
    assert_eq!(code, 500);
    let service =
        patched(r#"[{"op":"add","path":"/spec","value":{"ports":[{"port":1}]}}]"#, "Fail", "CREATE v1/services n/w");
    assert_eq!(service.await.unwrap().pointer("/spec/ports/0/protocol"), Some(&json!("TCP")));
}

#[tokio::test]
async fn only_json_patches_are_known() {
    let mut scene = scene("CREATE v1/pods n/w");
    scene.script = |_, review| {
        let patch = STANDARD.encode("[{}]");
        Ok(answer(review, json!({ "allowed": true, "patchType": "Merge", "patch": patch })))
    };
    let (code, message) = scene.mutate(&[hook("h", json!({}))]).await.refused();
    let expect = "Internal error occurred: failed calling webhook \"h.example.com\": unsupported patch type \"Merge\"";
    assert_eq!((code, message.as_str()), (500, expect));
    scene.script = |_, _| Err(CallError::Unprepared("no".to_owned()));
    let (_, message) = scene.mutate(&[hook("h", json!({}))]).await.refused();
    assert!(message.ends_with("\"h.example.com\": could not get REST client: no"), "{message}");
}
