//! What is secret is in no log, record, event or error, whatever is done with it; and who is revoked is nobody.

use crate::stage::Stage;
use apiserver::audit::{Audit, Journal, Policy};
use apiserver::auth::User;
use apiserver::authn::Authentication;
use apiserver::authn::revoked::Revoked;
use apiserver::pipeline::Peer;
use axum::body::Body;
use http::Request;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A line that takes longer will not come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Everything is to be written down, as far as the policy goes.
const POLICY: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: RequestResponse }]\n";

/// The secret, and what it looks like in base64, wherever it begins.
const SECRET: &str = "hunter2hunter2hunter2";
const TRACES: [&str; 4] = ["hunter2", "aHVudGVyM", "h1bnRlcj", "odW50ZXIy"];

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Requests with the secret in them: the method and path, the form, and the body.
fn script() -> Vec<(&'static str, &'static str, String)> {
    const SECRETS: &str = "POST /api/v1/namespaces/n/secrets";
    const ONE: &str = "PUT /api/v1/namespaces/n/secrets/s";
    const PATCH: &str = "PATCH /api/v1/namespaces/n/secrets/s";
    let json_form = "application/json";
    let named = |name: &str, rest: Value| {
        let mut object = rest;
        object["metadata"] = json!({ "name": name });
        object.to_string()
    };
    let typed = |ty: &str, key: &str| named("t", json!({ "type": ty, "stringData": { key: SECRET } }));
    let of_group = |kind: &str, spec: Value| {
        json!({ "apiVersion": "authentication.k8s.io/v1", "kind": kind, "spec": spec }).to_string()
    };
    let test = json!([{ "op": "test", "path": "/data/password", "value": SECRET }]).to_string();
    let applied = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "stringData": { "password": SECRET },
    });
    let merge = "application/merge-patch+json";
    vec![
        (SECRETS, json_form, named("s", json!({ "stringData": { "password": SECRET } }))),
        (SECRETS, json_form, named("s", json!({ "stringData": { "password": SECRET } }))),
        (SECRETS, json_form, named("-", json!({ "stringData": { "password": SECRET } }))),
        (SECRETS, json_form, named("t", json!({ "stringData": { "pass word": SECRET } }))),
        (SECRETS, json_form, named("t", json!({ "data": { "password": SECRET } }))),
        (SECRETS, json_form, typed("kubernetes.io/tls", "k")),
        (SECRETS, json_form, typed("kubernetes.io/dockerconfigjson", ".dockerconfigjson")),
        (ONE, json_form, named("s", json!({ "type": "other", "stringData": { "password": SECRET } }))),
        (ONE, json_form, named("s", json!({ "immutable": true, "stringData": { "password": SECRET } }))),
        (ONE, json_form, named("s", json!({ "immutable": true, "stringData": { "password": format!("{SECRET}x") } }))),
        (PATCH, merge, json!({ "stringData": { "password": SECRET } }).to_string()),
        (PATCH, "application/json-patch+json", test),
        ("PATCH /api/v1/namespaces/n/secrets/s?fieldManager=a", "application/apply-patch+yaml", applied.to_string()),
        ("POST /api/v1/namespaces/n/serviceaccounts/default/token", json_form, of_group("TokenRequest", json!({}))),
        (
            "POST /apis/authentication.k8s.io/v1/tokenreviews",
            json_form,
            of_group("TokenReview", json!({ "token": SECRET })),
        ),
        ("GET /api/v1/namespaces/n/secrets", json_form, String::new()),
        ("GET /api/v1/secrets", "application/json", String::new()),
        ("DELETE /api/v1/namespaces/n/secrets/s", json_form, String::new()),
    ]
}

fn check(what: &str, text: &str) {
    for trace in TRACES {
        let found = text.find(trace);
        let around = found.map(|at| &text[text.floor_char_boundary(at.saturating_sub(200))..]).unwrap_or_default();
        assert!(found.is_none(), "{trace} in {what}: {}", around.chars().take(400).collect::<String>());
    }
}

/// The record, once a request to this path is in it.
fn record(path: &Path, last: &str) -> String {
    let (started, wanted) = (Instant::now(), format!("\"requestURI\":\"{last}\""));
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let is_there = text.lines().any(|line| line.contains(&wanted) && line.contains("ResponseComplete"));
        if is_there || started.elapsed() > PATIENCE {
            return text;
        }
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn no_secret_is_in_any_log_record_event_or_error() {
    let path = std::env::temp_dir().join(format!("hanse-hiding-{}.log", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let writer = Journal { path: path.clone(), bytes_max: 1 << 24, backups: 1 }.open().unwrap();
    let log = Log::default();
    let made = log.clone();
    let lines = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_writer(move || made.clone());
    let _guard = tracing::subscriber::set_default(lines.finish());
    let stage = Stage::audited(Audit::new(Policy::parse(POLICY).unwrap(), vec![writer])).await;
    let (mut refused, mut tokens) = (0, Vec::new());
    for (line, form, body) in script() {
        let answer = stage.send_as(line, form, body.clone()).await;
        let text = String::from_utf8_lossy(&answer.bytes).into_owned();
        if answer.code >= 400 {
            refused += 1;
            check(&format!("the answer to {line} {body}"), &text);
        }
        let token = serde_json::from_str::<Value>(&text).ok();
        tokens.extend(token.and_then(|answer| answer.pointer("/status/token")?.as_str().map(str::to_owned)));
    }
    let stranger = Request::builder().uri("/api/v1/nodes").header("authorization", format!("Bearer {SECRET}"));
    stage.answer(stranger.body(Body::empty()).unwrap()).await.refused(401);
    assert!(refused >= 5, "the script has mistakes in it on purpose: {refused}");
    assert_eq!(tokens.len(), 1);
    let events = stage.ask("GET /api/v1/events").await;
    check("events", &String::from_utf8_lossy(&events.bytes));
    let logged = String::from_utf8_lossy(&log.0.lock()).into_owned();
    assert!(logged.contains("answered"), "the log is listened to");
    let recorded = record(&path, "/api/v1/events");
    assert!(recorded.contains("tokenreviews"), "the record is kept");
    for (what, text) in [("the log", &logged), ("the record", &recorded)] {
        check(what, text);
        assert!(!text.contains(&tokens[0]), "the token in {what}");
    }
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn whoever_is_revoked_is_nobody_from_the_next_request_on() {
    let stage = Stage::vouched(Authentication::default()).await;
    let ada = User::authenticated("ada", vec!["system:masters".to_owned()]);
    // A connection that stays open: who is at its end was found out when it began.
    let peer = Peer::user(ada);
    let ask = || Request::builder().uri("/api/v1/nodes").extension(peer.clone()).body(Body::empty()).unwrap();
    stage.answer(ask()).await.expect(200);
    stage.api.authentication.revoke(Revoked::parse("user ada").unwrap());
    stage.answer(ask()).await.refused(401);
    stage.ask("GET /api/v1/nodes").await.expect(200);
    // A token of an account that is revoked is no token, wherever it is shown.
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {} });
    let made = stage.send("POST /api/v1/namespaces/n/serviceaccounts/default/token", &request).await.expect(201);
    let token = made["status"]["token"].as_str().unwrap();
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": { "token": token },
    });
    let line = "POST /apis/authentication.k8s.io/v1/tokenreviews";
    assert_eq!(stage.send(line, &review).await.expect(201)["status"]["authenticated"], true);
    stage.api.authentication.revoke(Revoked::parse("group system:serviceaccounts:n").unwrap());
    assert_ne!(stage.send(line, &review).await.expect(201)["status"]["authenticated"], true);
}
