//! What Kubernetes makes of the same answers, patches, denials, conversions, rules and rows of hooks. The lines are written by `make generate`.

use super::stage::{Caller, Played, answer, by_path, hook, object, scene};
use crate::error::ApiError;
use crate::hooks::answer::Answer;
use crate::hooks::conversion::convert;
use crate::hooks::review::{Review, ReviewVersion};
use crate::hooks::rules::Rule;
use crate::hooks::verdict::{Role, Unusable};
use crate::hooks::{Ask, Changed, Endpoint};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The vectors that have such a field.
fn vectors(field: &str) -> Vec<Value> {
    let all = include_str!("vectors.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let found: Vec<Value> = all.filter(|vector| vector.get(field).is_some()).collect();
    assert!(!found.is_empty(), "{field}");
    found
}

fn text<'a>(vector: &'a Value, field: &str) -> &'a str {
    vector[field].as_str().unwrap_or_default()
}

fn said(vector: &Value, role: Role) -> String {
    let mut headers = HeaderMap::new();
    if !text(vector, "contentType").is_empty() {
        headers.insert(header::CONTENT_TYPE, text(vector, "contentType").parse().unwrap());
    }
    let code = StatusCode::from_u16(vector["code"].as_u64().unwrap().try_into().unwrap()).unwrap();
    let answer = Answer { code, headers, body: text(vector, "answer").to_owned().into() };
    let version = if vector["version"] == "v1" { ReviewVersion::V1 } else { ReviewVersion::V1Beta1 };
    let review = Review { version, uid: "U".to_owned(), bytes: Default::default() };
    match answer.tree().map_err(Unusable::Undecodable).and_then(|tree| review.verdict(&tree, role)) {
        Ok(_) => String::new(),
        Err(Unusable::Undecodable(why)) => format!("failed to call webhook: {why}"),
        Err(Unusable::Invalid(why)) => format!("received invalid webhook response: {why}"),
    }
}

#[test]
fn answers_are_taken_as_in_go() {
    let mut wrong = Vec::new();
    for vector in vectors("answer") {
        for (role, field) in [(Role::Validating, "validating"), (Role::Mutating, "mutating")] {
            let (found, expect) = (said(&vector, role), text(&vector, field));
            if found != expect {
                wrong.push(format!("{}\n   Go: {expect}\n here: {found}", vector["answer"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn patches_are_taken_as_in_go() {
    for vector in vectors("patch") {
        let mut scene = scene("CREATE v1/configmaps n/w");
        scene.object.as_mut().unwrap()["b"] = json!(1);
        scene.options = vector.clone();
        scene.script = |_, review| {
            let patch = STANDARD.encode(text(&review["request"]["options"], "patch"));
            Ok(answer(review, json!({ "allowed": true, "patchType": "JSONPatch", "patch": patch })))
        };
        let found = scene.mutate(&[hook("h", json!({}))]).await.result.err().map(|error| error.message().to_owned());
        let call =
            "Internal error occurred: failed calling webhook \"h.example.com\": received undecodable patch in webhook";
        let undecodable = vector["undecodable"].as_str().map(|why| format!("{call} response: {why}"));
        let unfit = vector["unfit"].as_str().map(|why| format!("Internal error occurred: {why}"));
        assert_eq!(found, undecodable.or(unfit), "{vector}");
    }
}

#[test]
fn denials_are_told_as_in_go() {
    for vector in vectors("denial") {
        let status = vector["denial"].as_object().cloned().unwrap_or_default();
        assert_eq!(ApiError::denied_by_webhook("hook.example.com", status).status(), vector["told"], "{vector}");
    }
}

#[tokio::test]
async fn rules_mean_the_same_requests_as_in_go() {
    let requests = vectors("requests").remove(0);
    let scenes: Vec<_> =
        requests["requests"].as_array().unwrap().iter().map(|line| scene(line.as_str().unwrap())).collect();
    let rules = vectors("rule");
    for (at, scene) in scenes.iter().enumerate() {
        let caller = Caller::new(by_path);
        let check = async |ask: &Ask<'_>| {
            for vector in &rules {
                let meant = Rule::read(&vector["rule"]).matches(ask, ask.resource);
                let expect = text(vector, "meant").as_bytes()[at] == b'1';
                assert_eq!(meant, expect, "{} {}", vector["rule"], requests["requests"][at]);
            }
        };
        scene.play(&caller, check).await;
    }
}

#[tokio::test]
async fn conversions_are_taken_as_in_go() {
    let to = Endpoint::read(&json!({ "url": "https://hook/" })).unwrap();
    for vector in vectors("conversion") {
        let answered: Value = serde_json::from_str(text(&vector, "answered")).unwrap();
        let caller = Caller::new(move |_, _| Ok(answered.clone()));
        let (objects, versions) =
            (vector["conversion"].as_array().unwrap().clone(), [text(&vector, "version").to_owned()]);
        let found = convert(&caller, &to, &versions, objects, "g/v2", "U".to_owned()).await;
        let expect = match vector.get("error") {
            Some(error) => Err(error.as_str().unwrap().to_owned()),
            None => Ok(vector["converted"].as_array().unwrap().clone()),
        };
        assert_eq!(found, expect, "{vector}");
    }
}

/// The pod, the hooks and the plugin of a run.
async fn rerun(vector: &Value) -> Played<Changed> {
    let mut scene = scene("CREATE v1/pods n/w");
    if vector["plugin"] == true {
        scene.readmit = |object| {
            object.set_annotation("seen", "twice");
            Ok(())
        };
    }
    let hooks: Vec<Value> =
        vector["run"].as_array().unwrap().iter().map(|one| hook(text(one, "path"), one.clone())).collect();
    scene.mutate_by(&[object(json!({ "metadata": { "name": "test-webhooks" }, "webhooks": hooks }))]).await
}

/// Notes are JSON, but for names; the order of fields does not matter.
fn notes<'a>(notes: impl Iterator<Item = (&'a String, &'a str)>) -> BTreeMap<&'a str, Value> {
    notes.map(|(key, text)| (key.as_str(), serde_json::from_str(text).unwrap_or_else(|_| json!(text)))).collect()
}

#[tokio::test]
async fn hooks_are_asked_in_the_same_order_and_as_often_as_in_go() {
    for vector in vectors("run") {
        let played = rerun(&vector).await;
        assert_eq!(json!(played.asked), vector["asked"], "{vector}");
        match played.result {
            Err(error) => {
                assert_eq!(json!({ "code": error.code(), "message": error.message() }), vector["refused"], "{vector}");
            }
            Ok(changed) => {
                let labels = changed.object.as_ref().unwrap().labels().cloned().unwrap_or_default();
                assert_eq!(json!(labels), vector["labels"], "{vector}");
                let found = notes(changed.told.annotations.iter().map(|(key, text)| (key, text.as_str())));
                let expect = vector["notes"].as_object().unwrap().iter();
                assert_eq!(found, notes(expect.map(|(key, text)| (key, text.as_str().unwrap()))), "{vector}");
            }
        }
    }
}
