//! Flow schemas and priority levels: who is served first, and how a request is told where it belongs.

use crate::stage::{Answer, Stage};
use apiserver::auth::User;
use apiserver::pipeline::Peer;
use axum::body::Body;
use http::Request;
use serde_json::{Value, json};

const SCHEMAS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas";
const LEVELS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations";

fn schema(name: &str, level: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": {
        "priorityLevelConfiguration": { "name": level }, "matchingPrecedence": 500,
        "rules": [{
            "subjects": [{ "kind": "User", "user": { "name": "ada" } }],
            "resourceRules": [{ "verbs": ["*"], "apiGroups": [""], "resources": ["configmaps"], "namespaces": ["*"] }],
        }],
    } })
}

async fn ask_as(stage: &Stage, name: &str, path: &str) -> Answer {
    let user = Peer::user(User::authenticated(name, Vec::new()));
    stage.answer(Request::builder().uri(path).extension(user).body(Body::empty()).unwrap()).await
}

fn uids(answer: &Answer) -> (String, String) {
    let word = |name: &str| answer.header(name).unwrap_or_default().to_owned();
    (word("x-kubernetes-pf-flowschema-uid"), word("x-kubernetes-pf-prioritylevel-uid"))
}

#[tokio::test]
async fn a_request_is_told_where_it_belongs_and_a_change_counts_at_once() {
    let stage = Stage::new().await;
    let before = uids(&ask_as(&stage, "ada", "/api/v1/namespaces/n/configmaps").await);
    assert!(!before.0.is_empty() && !before.1.is_empty());
    assert_eq!(before, uids(&ask_as(&stage, "ada", "/api/v1/namespaces/n/pods").await));
    let limited = json!({ "nominalConcurrencyShares": 5, "limitResponse": { "type": "Reject" } });
    let level = json!({ "metadata": { "name": "own" }, "spec": { "type": "Limited", "limited": limited } });
    let made = stage.send(&format!("POST {SCHEMAS}"), &schema("ours", "own")).await.expect(201);
    assert_eq!(before, uids(&ask_as(&stage, "ada", "/api/v1/namespaces/n/configmaps").await), "no such level yet");
    let level = stage.send(&format!("POST {LEVELS}"), &level).await.expect(201);
    let uid = |object: &Value| object["metadata"]["uid"].as_str().unwrap().to_owned();
    let now = uids(&ask_as(&stage, "ada", "/api/v1/namespaces/n/configmaps").await);
    assert_eq!(now, (uid(&made), uid(&level)));
    for (who, path) in [
        ("eve", "/api/v1/namespaces/n/configmaps"),
        ("ada", "/api/v1/namespaces/n/pods"),
        ("ada", "/clusters/other/api/v1/namespaces/n/configmaps"),
    ] {
        assert_eq!(uids(&ask_as(&stage, who, path).await), before, "{who} {path}");
    }
    stage.ask(&format!("DELETE {SCHEMAS}/ours")).await.expect(200);
    assert_eq!(uids(&ask_as(&stage, "ada", "/api/v1/namespaces/n/configmaps").await), before);
}

#[tokio::test]
async fn a_level_without_seats_and_lines_sends_everybody_away() {
    let stage = Stage::new().await;
    let limited = json!({
        "nominalConcurrencyShares": 0, "borrowingLimitPercent": 0, "limitResponse": { "type": "Reject" },
    });
    let level = json!({ "metadata": { "name": "none" }, "spec": { "type": "Limited", "limited": limited } });
    let level = stage.send(&format!("POST {LEVELS}"), &level).await.expect(201);
    stage.send(&format!("POST {SCHEMAS}"), &schema("ours", "none")).await.expect(201);
    let answer = ask_as(&stage, "ada", "/api/v1/namespaces/n/configmaps").await;
    assert_eq!(
        (answer.header("retry-after"), &*uids(&answer).1),
        (Some("1"), level["metadata"]["uid"].as_str().unwrap())
    );
    assert_eq!(answer.refused(429).0, "TooManyRequests");
    ask_as(&stage, "ada", "/api/v1/namespaces/n/pods").await.refused(403);
    let metrics = stage.ask("GET /metrics").await;
    let text = String::from_utf8(metrics.bytes).unwrap();
    assert!(text.contains("apiserver_flowcontrol_rejected_requests_total{reason=\"queue-full\"} 1"), "{text}");
}

#[tokio::test]
async fn what_every_server_needs_cannot_be_something_else() {
    let stage = Stage::new().await;
    let (_, message) = stage.send(&format!("POST {SCHEMAS}"), &schema("catch-all", "exempt")).await.refused(422);
    assert!(message.contains("spec of 'catch-all' must equal the fixed value"), "{message}");
}

#[tokio::test]
async fn administrators_see_who_waits_and_nobody_else_does() {
    let stage = Stage::new().await;
    for (what, expected) in [
        ("dump_priority_levels", "\nglobal-default, 0, true, false, 0, 0, 0, 0, 0, 0\n"),
        ("dump_queues", "PriorityLevelName, Index"),
        ("dump_requests", "PriorityLevelName, FlowSchemaName"),
    ] {
        let path = format!("/debug/api_priority_and_fairness/{what}");
        let answer = stage.ask(&format!("GET {path}")).await;
        let text = String::from_utf8(answer.bytes).unwrap();
        assert!(answer.code == 200 && text.contains(expected), "{text}");
        ask_as(&stage, "eve", &path).await.refused(403);
    }
    stage.ask("GET /debug/api_priority_and_fairness/other").await.refused(404);
}
