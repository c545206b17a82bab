//! The record of who did what.

use crate::stage::Stage;
use apiserver::audit::{Audit, Journal, Policy};
use axum::body::Body;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A line that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(30);

const POLICY: &str = r#"
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - { level: None, resources: [{ resources: [namespaces] }] }
  - { level: None, nonResourceURLs: ["/healthz*", "/version"] }
  - { level: RequestResponse, verbs: [create], omitManagedFields: true, resources: [{ resources: [configmaps, secrets] }] }
  - { level: Metadata, omitStages: [] }
"#;

async fn stage(name: &str) -> (Stage, PathBuf) {
    let path = std::env::temp_dir().join(format!("hanse-{name}-{}.log", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let writer = Journal { path: path.clone(), bytes_max: 1 << 20, backups: 1 }.open().unwrap();
    (Stage::audited(Audit::new(Policy::parse(POLICY).unwrap(), vec![writer])).await, path)
}

/// The lines of the record, once there are as many.
fn lines(path: &Path, wanted: usize) -> Vec<Value> {
    let started = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let lines: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if lines.len() >= wanted || started.elapsed() > PATIENCE {
            return lines;
        }
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn it_says_who_did_what_and_what_became_of_it() {
    let (stage, path) = stage("audit-who").await;
    stage.ask("GET /api/v1/namespaces/n").await.expect(200);
    stage.ask("GET /version").await.expect(200);
    let body = json!({ "metadata": { "name": "c" }, "data": { "a": "b" } });
    stage.send("POST /api/v1/namespaces/n/configmaps?dryRun=All", &body).await.expect(201);
    let request =
        Stage::request("GET /clusters/other/api/v1/nodes/x").header("user-agent", "tests/1").header("audit-id", "mine");
    stage.answer(request.body(Body::empty()).unwrap()).await.refused(404);
    let lines = lines(&path, 2);
    assert_eq!(lines.len(), 2, "{lines:?}");
    let [made, missed] = &*lines else { panic!() };
    assert_eq!(
        (&made["verb"], &made["level"], &made["stage"]),
        (&json!("create"), &json!("RequestResponse"), &json!("ResponseComplete"))
    );
    assert_eq!(made["objectRef"], json!({ "resource": "configmaps", "namespace": "n", "apiVersion": "v1" }));
    assert_eq!((&made["requestObject"]["data"]["a"], &made["responseStatus"]["code"]), (&json!("b"), &json!(201)));
    assert!(made["responseObject"]["metadata"]["uid"].is_string());
    assert!(made["responseObject"]["metadata"].get("managedFields").is_none());
    assert_eq!(missed["requestURI"], "/clusters/other/api/v1/nodes/x");
    assert_eq!((&missed["user"]["username"], &missed["userAgent"]), (&json!("admin"), &json!("tests/1")));
    assert_eq!((&missed["auditID"], &missed["responseStatus"]["code"]), (&json!("mine"), &json!(404)));
    assert!(missed.get("requestObject").is_none());
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn secrets_and_tokens_are_never_in_it() {
    let (stage, path) = stage("audit-secret").await;
    let secret = json!({ "metadata": { "name": "s" }, "stringData": { "password": "hunter2" } });
    stage.send("POST /api/v1/namespaces/n/secrets", &secret).await.expect(201);
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    stage.send("POST /api/v1/namespaces/n/serviceaccounts/default/token", &request).await.expect(201);
    let request = Stage::request("GET /api/v1/nodes").header("authorization", "Bearer hunter2");
    stage.answer(request.body(Body::empty()).unwrap()).await;
    let lines = lines(&path, 3);
    assert_eq!(lines.len(), 3);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg") && !text.contains("eyJ"), "{text}");
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn whoever_acts_as_somebody_else_is_named_and_so_is_who_is_refused() {
    let (stage, path) = stage("audit-acting").await;
    let request = Stage::request("GET /api/v1/nodes").header("impersonate-user", "eve");
    stage.answer(request.body(Body::empty()).unwrap()).await.refused(403);
    let lines = lines(&path, 1);
    assert_eq!(lines[0]["user"]["username"], "admin");
    assert_eq!(
        (&lines[0]["impersonatedUser"]["username"], &lines[0]["responseStatus"]["code"]),
        (&json!("eve"), &json!(403))
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_policy_that_says_nothing_sensible_is_refused() {
    for (text, expected) in [
        ("kind: Policy\nrules: []", "audit.k8s.io/v1"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Everything }]", "Everything"),
        ("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: None, user: [x] }]", "user"),
        (
            "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: None, namespaces: [x], nonResourceURLs: [/] }]",
            "rules[0]",
        ),
    ] {
        let error = Policy::parse(text).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
