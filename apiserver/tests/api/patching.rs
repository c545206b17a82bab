//! Patches that are refused, and what their authors are told.

use crate::stage::{Answer, CONFIGMAPS, Stage};
use serde_json::{Value, json};

const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";

async fn patch(stage: &Stage, query: &str, kind: &str, body: &str) -> Answer {
    stage.send_as(&format!("PATCH {CONFIGMAPS}/a{query}"), kind, body.to_owned()).await
}

#[track_caller]
fn invalid(answer: Answer, why: &str) {
    let status = answer.expect(422);
    assert_eq!(status["reason"], "Invalid");
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with(" \"\" is invalid: patch: Invalid value: "), "{message}");
    assert!(message.ends_with(&format!(": {why}")), "{message}");
    let causes = &status["details"]["causes"];
    assert_eq!((&causes[0]["field"], &causes[0]["reason"]), (&json!("patch"), &json!("FieldValueInvalid")));
}

#[tokio::test]
async fn an_object_that_a_patch_has_made_unreadable_is_not_valid() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    let number = "json: cannot unmarshal number into Go struct field ConfigMap.data of type string";
    invalid(patch(&stage, "", MERGE, r#"{"data":{"a":1}}"#).await, number);
    invalid(patch(&stage, "", STRATEGIC, r#"{"data":{"a":1}}"#).await, number);
    invalid(patch(&stage, "", OPERATIONS, r#"[{"op":"add","path":"/data/a","value":1}]"#).await, number);
    let kind = "the kind in the data (Secret) does not match the expected kind (ConfigMap)";
    invalid(patch(&stage, "", MERGE, r#"{"kind":"Secret"}"#).await, kind);
    let read = stage.ask(&format!("GET {CONFIGMAPS}/a")).await.expect(200);
    assert_eq!(read["data"], json!({ "k": "v" }));
}

#[tokio::test]
async fn the_author_is_shown_what_a_patch_made_or_the_patch() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    let shown = async |kind: &str| {
        let status = patch(&stage, "", kind, r#"{"data":{"a":1}}"#).await.expect(422);
        status["details"]["causes"][0]["message"].as_str().unwrap().to_owned()
    };
    assert!(shown(MERGE).await.contains(r#"\"kind\":\"ConfigMap\""#));
    assert!(shown(STRATEGIC).await.starts_with(r#"Invalid value: "{\"data\":{\"a\":1}}": "#));
}

#[tokio::test]
async fn what_stands_twice_in_a_patch_is_an_error_or_a_warning() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    let twice = r#"{"data":{"a":"1","a":"2"},"odd":1}"#;
    let operations = r#"[{"op":"add","path":"/data/a","value":"1","odd":1,"op":"add"}]"#;
    let both = r#"strict decoding error: duplicate field "data.a", unknown field "odd""#;
    let strict = "?fieldValidation=Strict";
    invalid(patch(&stage, strict, MERGE, twice).await, both);
    invalid(patch(&stage, strict, STRATEGIC, twice).await, both);
    let of_operations =
        r#"strict decoding error: json patch unknown field "[0].odd", json patch duplicate field "[0].op""#;
    invalid(patch(&stage, strict, OPERATIONS, operations).await, of_operations);

    let warned = patch(&stage, "", MERGE, twice).await;
    let warnings: Vec<_> = warned.headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(warnings, [r#"299 - "duplicate field \"data.a\"""#, r#"299 - "unknown field \"odd\"""#]);
    assert_eq!(warned.expect(200)["data"]["a"], "2");
    let silent = patch(&stage, "?fieldValidation=Ignore", OPERATIONS, operations).await;
    assert_eq!(silent.header("warning"), None);
    silent.expect(200);
}

#[tokio::test]
async fn a_patch_cannot_move_an_object_or_make_it_another() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    let metadata =
        async |field: &str| patch(&stage, "", MERGE, &json!({ "metadata": { field: "x" } }).to_string()).await;
    let (reason, message) = metadata("namespace").await.refused(400);
    assert_eq!(reason, "BadRequest");
    assert!(message.contains("does not match the namespace sent on the request"), "{message}");
    let (reason, message) = metadata("uid").await.refused(422);
    let expected = "ConfigMap \"a\" is invalid: metadata.uid: Invalid value: \"x\": field is immutable";
    assert_eq!((&*reason, &*message), ("Invalid", expected));
    assert_eq!(metadata("resourceVersion").await.refused(409).0, "Conflict");
}

#[tokio::test]
async fn a_key_that_stands_twice_in_yaml_is_an_error_or_a_warning() {
    let stage = Stage::new().await;
    let send = async |validation: &str| {
        let line = format!("POST {CONFIGMAPS}?fieldValidation={validation}");
        stage.send_as(&line, "application/yaml", "metadata: {name: b}\ndata: {a: '1'}\ndata: {a: '2'}\n").await
    };
    let (_, message) = send("Strict").await.refused(400);
    let expected = "strict decoding error: yaml: unmarshal errors:\n  line 3: key \"data\" already set in map";
    assert!(message.ends_with(expected), "{message}");
    let warned = send("Warn").await;
    assert_eq!(warned.header("warning"), Some(r#"299 - "line 3: key \"data\" already set in map""#));
    assert_eq!(warned.expect(201)["data"], json!({ "a": "2" }));
}

#[tokio::test]
async fn fields_that_do_nothing_come_with_a_warning_and_whole_patches_are_looked_at() {
    let stage = Stage::new().await;
    let services = "/api/v1/namespaces/n/services";
    let ports = json!([{ "port": 80 }]);
    let service = json!({ "metadata": { "name": "s" }, "spec": { "ports": ports, "externalIPs": ["192.0.2.1"] } });
    let deprecated =
        Some(r#"299 - "spec.externalIPs is deprecated and may no longer be implemented in some clusters""#);
    let made = stage.send(&format!("POST {services}"), &service).await;
    assert_eq!(made.header("warning"), deprecated);
    made.expect(201);
    let labelled = json!({ "metadata": { "labels": { "a": "b" } } });
    let change: Value = stage_patch(&stage, services, &labelled, deprecated).await;
    assert_eq!(change["metadata"]["labels"]["a"], "b");
    let gone = json!({ "spec": { "externalIPs": null } });
    stage_patch(&stage, services, &gone, None).await;
}

async fn stage_patch(stage: &Stage, at: &str, body: &Value, warning: Option<&str>) -> Value {
    let answer = stage.send_as(&format!("PATCH {at}/s"), MERGE, body.to_string()).await;
    assert_eq!(answer.header("warning"), warning);
    answer.expect(200)
}
