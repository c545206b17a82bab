//! Hooks that refuse objects, and what becomes of answers that are none.

use super::stage::{Script, answer, hook, object, scene};
use crate::hooks::call::{CallError, CallWebhook};
use crate::hooks::{Endpoint, Hooks, Later, Unevaluated};
use bytes::Bytes;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::Barrier;

#[tokio::test]
async fn a_hook_is_sent_everything_about_the_request() {
    let mut update = scene("UPDATE apps/v1/deployments/scale n/web");
    update.object = Some(json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": { "name": "web" } }));
    let played = update.validate(&[hook("allow", json!({}))]).await;
    let resource = json!({ "group": "apps", "version": "v1", "resource": "deployments" });
    let kind = json!({ "group": "autoscaling", "version": "v1", "kind": "Scale" });
    let expect = json!({
        "kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "00000000-0000-4000-8000-000000000001",
            "kind": kind, "resource": resource, "subResource": "scale",
            "requestKind": kind, "requestResource": resource, "requestSubResource": "scale",
            "name": "web", "namespace": "n", "operation": "UPDATE",
            "userInfo": { "username": "ann", "uid": "7", "groups": ["dev", "system:authenticated"] },
            "object": update.object, "oldObject": update.old, "dryRun": false,
            "options": { "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1" },
        },
    });
    assert_eq!(played.reviews, [expect]);
}

#[tokio::test]
async fn what_is_not_there_is_null_or_left_out() {
    let mut delete = scene("DELETE v1/nodes w");
    delete.options = Value::Null;
    let played = delete.validate(&[hook("allow", json!({ "admissionReviewVersions": ["v2", "v1beta1", "v1"] }))]).await;
    let (review, request) = (&played.reviews[0], &played.reviews[0]["request"]);
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1beta1");
    for field in ["object", "options"] {
        assert_eq!(request.get(field), Some(&Value::Null), "{field}");
    }
    for field in ["subResource", "namespace", "requestSubResource"] {
        assert_eq!(request.get(field), None, "{field}");
    }
    let played = scene("UPDATE v1/namespaces w").validate(&[hook("allow", json!({}))]).await;
    assert_eq!(played.reviews[0]["request"]["namespace"], "w");
}

async fn denied(status: Value) -> Value {
    let mut scene = scene("CREATE v1/pods n/w");
    scene.script = |_, review| {
        let status = review["request"]["options"].clone();
        Ok(answer(review, json!({ "allowed": false, "status": status })))
    };
    scene.options = status;
    scene.validate(&[hook("h", json!({}))]).await.result.unwrap_err().status()
}

#[tokio::test]
async fn a_denial_is_told_as_the_hook_tells_it() {
    let denied_by = "admission webhook \"h.example.com\" denied the request";
    let rows = [
        (Value::Null, 400, format!("{denied_by} without explanation")),
        (json!({}), 400, format!("{denied_by} without explanation")),
        (json!({ "code": 200, "status": "Success" }), 400, format!("{denied_by} without explanation")),
        (json!({ "message": "no" }), 400, format!("{denied_by}: no")),
        (json!({ "reason": "Forbidden" }), 400, format!("{denied_by}: Forbidden")),
        (json!({ "reason": "Forbidden", "message": "no", "code": 403 }), 403, format!("{denied_by}: no")),
        (json!({ "code": 599, "message": "no" }), 599, format!("{denied_by}: no")),
        (json!({ "code": 70_000, "message": "no" }), 500, format!("{denied_by}: no")),
    ];
    for (status, code, message) in rows {
        let told = denied(status.clone()).await;
        assert_eq!((&told["code"], &told["message"]), (&json!(code), &json!(message)), "{status}");
        assert_eq!((&told["status"], told.get("reason")), (&json!("Failure"), status.get("reason")), "{status}");
    }
    let details = json!({
        "name": "w", "kind": "pods", "causes": [{ "reason": "R", "message": "m", "field": "f" }], "retryAfterSeconds": 3,
    });
    assert_eq!(denied(json!({ "details": details })).await["details"], details);
}

#[tokio::test]
async fn a_dry_run_needs_hooks_without_effects() {
    let mut dry = scene("CREATE v1/pods n/w");
    dry.dry_run = true;
    for effects in ["None", "NoneOnDryRun"] {
        let played = dry.validate(&[hook("allow", json!({ "sideEffects": effects }))]).await;
        assert_eq!(played.reviews[0]["request"]["dryRun"], true);
        played.result.unwrap();
    }
    for effects in ["Some", "Unknown"] {
        for policy in ["Fail", "Ignore"] {
            let one = hook("allow", json!({ "sideEffects": effects, "failurePolicy": policy }));
            let expect = (400, "admission webhook \"allow.example.com\" does not support dry run".to_owned());
            assert_eq!(dry.validate(std::slice::from_ref(&one)).await.refused(), expect);
            assert_eq!(dry.mutate(&[one]).await.refused(), expect);
        }
    }
    let silent = hook("allow", json!({ "sideEffects": null }));
    let text = "Internal error occurred: failed calling webhook \"allow.example.com\": Webhook SideEffects is nil";
    assert_eq!(dry.validate(&[silent]).await.refused(), (500, text.to_owned()));
}

/// What an answer comes to, as an addition to `failed calling webhook "h.example.com": `, or nothing.
async fn check(versions: &[&str], script: Script, validating: &str, mutating: &str) {
    let mut scene = scene("CREATE v1/pods n/w");
    scene.script = script;
    let one = hook("h", json!({ "admissionReviewVersions": versions }));
    let words = |result: Result<(), crate::error::ApiError>| match result {
        Ok(()) => String::new(),
        Err(error) => {
            let text = "Internal error occurred: failed calling webhook \"h.example.com\": ";
            let rest = error.message().strip_prefix(text).map(str::to_owned);
            rest.unwrap_or_else(|| panic!("{error}"))
        }
    };
    let found = scene.validate(std::slice::from_ref(&one)).await;
    assert_eq!(words(found.result.map(drop)), validating);
    let found = scene.mutate(std::slice::from_ref(&one)).await;
    assert_eq!(words(found.result.map(drop)), mutating);
    let lenient = hook("h", json!({ "admissionReviewVersions": versions, "failurePolicy": "Ignore" }));
    assert!(scene.validate(std::slice::from_ref(&lenient)).await.result.is_ok());
    assert!(scene.mutate(&[lenient]).await.result.is_ok());
}

async fn both(script: Script, expect: &str) {
    check(&["v1"], script, expect, expect).await;
}

#[tokio::test]
async fn answers_to_something_else_are_no_answers() {
    let invalid = |text: &str| format!("received invalid webhook response: {text}");
    both(|_, _| Ok(json!({})), &invalid("webhook response was absent")).await;
    both(|_, _| Ok(json!({ "response": null })), &invalid("webhook response was absent")).await;
    let uid = "\"00000000-0000-4000-8000-000000000001\"";
    let other = invalid(&format!("expected response.uid={uid}, got \"x\""));
    both(|_, _| Ok(json!({ "response": { "uid": "x", "allowed": true } })), &other).await;
    let kind = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got";
    let stripped: Script = |_, review| {
        let mut answer = answer(review, json!({ "allowed": true }));
        answer.as_object_mut().unwrap().remove("apiVersion");
        Ok(answer)
    };
    both(stripped, &invalid(&format!("{kind} /, Kind=AdmissionReview"))).await;
    let bare: Script = |_, review| Ok(json!({ "response": answer(review, json!({ "allowed": true }))["response"] }));
    both(bare, &invalid(&format!("{kind} /, Kind="))).await;
}

#[tokio::test]
async fn answers_of_another_type_cannot_be_read() {
    let failed = |text: &str| format!("failed to call webhook: {text}");
    let beta: Script = |_, review| {
        let mut answer = answer(review, json!({ "allowed": true }));
        answer["apiVersion"] = json!("admission.k8s.io/v1beta1");
        Ok(answer)
    };
    let text = "converting (v1beta1.AdmissionReview) to (v1.AdmissionReview): unknown conversion";
    both(beta, &failed(text)).await;
    let status: Script = |_, _| Ok(json!({ "kind": "Pod", "apiVersion": "v1" }));
    both(status, &failed("no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""))
        .await;
    let word: Script = |_, review| Ok(answer(review, json!({ "allowed": "yes" })));
    let text = "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool";
    both(word, &failed(text)).await;
    let patch: Script = |_, review| Ok(answer(review, json!({ "allowed": true, "patch": "a$b=" })));
    both(patch, &failed("illegal base64 data at input byte 1")).await;
    both(|_, _| Err(CallError::Failed("oh".to_owned())), &failed("oh")).await;
    both(|_, _| Err(CallError::Unprepared("oh".to_owned())), "could not get REST client: oh").await;
}

#[tokio::test]
async fn patches_and_their_types_come_together_and_only_from_those_who_may_change() {
    let invalid = |text: &str| format!("received invalid webhook response: {text}");
    let patch: Script = |_, review| Ok(answer(review, json!({ "allowed": true, "patch": "W10=" })));
    let validating = invalid("validating webhook may not return response.patch");
    let mutating = invalid("webhook returned response.patch but not response.patchType");
    check(&["v1"], patch, &validating, &mutating).await;
    let kind: Script = |_, review| Ok(answer(review, json!({ "allowed": true, "patchType": "JSONPatch" })));
    let validating = invalid("validating webhook may not return response.patchType");
    let mutating = invalid("webhook returned response.patchType but not response.patch");
    check(&["v1"], kind, &validating, &mutating).await;
    let empty: Script = |_, review| Ok(answer(review, json!({ "allowed": true, "patch": "W10=", "patchType": "" })));
    let validating = invalid("validating webhook may not return response.patch");
    check(&["v1"], empty, &validating, &invalid("webhook returned invalid response.patchType of \"\"")).await;
    // The older version looked at none of that.
    for script in [patch, kind, empty] {
        check(&["v1beta1"], script, "", "").await;
    }
    let other: Script = |_, _| Ok(json!({ "response": { "uid": "x", "allowed": true } }));
    check(&["v1beta1"], other, "", "").await;
    let text =
        "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
    check(&["v2"], other, text, text).await;
}

#[tokio::test]
async fn warnings_and_notes_are_heard() {
    let mut scene = scene("CREATE v1/pods n/w");
    scene.script = |_, review| {
        let notes = json!({ "note": "x", "not/one": "y", "nor this": "z" });
        Ok(answer(review, json!({ "allowed": true, "warnings": ["one", "", "two"], "auditAnnotations": notes })))
    };
    let told = scene.validate(&[hook("h", json!({}))]).await.result.unwrap();
    assert_eq!(told.warnings, ["one", "two"]);
    assert_eq!(told.annotations.into_iter().collect::<Vec<_>>(), [("h.example.com/note".to_owned(), "x".to_owned())]);
    let all =
        [hook("broken", json!({ "failurePolicy": "Ignore" })), hook("warned-b", json!({})), hook("warn-a", json!({}))];
    scene.script = super::stage::by_path;
    let error = scene.validate(&all).await.result.unwrap_err();
    assert_eq!(error.warnings(), ["b", "a"]);
    let told = scene.validate(&all[..1]).await.result.unwrap();
    let key = "failed-open.validating.webhook.admission.k8s.io/round_0_index_0";
    assert_eq!(told.annotations[key], "broken.example.com");
}

/// Answers nobody before all have asked, and then those first who asked last.
struct Together(Barrier);

impl CallWebhook for Together {
    fn call<'a>(&'a self, to: &'a Endpoint, body: Bytes, _: Duration) -> Later<'a, Result<Value, CallError>> {
        Box::pin(async move {
            self.0.wait().await;
            let steps = if to.path == "/slow" { 10 } else { 1 };
            for _ in 0..steps {
                tokio::task::yield_now().await;
            }
            let review: Value = serde_json::from_slice(&body).unwrap();
            Ok(answer(&review, json!({ "allowed": to.path == "/fine", "status": { "message": to.path } })))
        })
    }
}

#[tokio::test]
async fn all_are_asked_at_once_and_the_first_refusal_counts() {
    let caller = Together(Barrier::new(3));
    let webhooks: Vec<Value> = ["slow", "fine", "fast"].iter().map(|path| hook(path, json!({}))).collect();
    let configuration = object(json!({ "metadata": { "name": "c" }, "webhooks": webhooks }));
    let hooks = Hooks::compile(&[], &[configuration], &Unevaluated);
    assert!(!hooks.is_empty());
    let scene = scene("CREATE v1/pods n/w");
    let pod = scene.object.clone().map(object);
    let result = scene.play(&caller, async |ask| hooks.validate(ask, pod.as_ref()).await).await;
    let expect = "admission webhook \"fast.example.com\" denied the request: /fast";
    assert_eq!(result.unwrap_err().message(), expect);
}
