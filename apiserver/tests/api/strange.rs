//! Requests that nobody in their right mind sends, and that come all the same.

use crate::stage::{CONFIGMAPS, Stage};
use axum::body::Body;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::convert::Infallible;
use std::time::Duration;

/// Longer than any answer takes that comes at all.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Clone, Debug)]
struct Strange {
    line: String,
    content_type: String,
    accept: String,
    body: Vec<u8>,
}

fn query() -> impl Strategy<Value = String> {
    let names = "continue|limit|resourceVersion|resourceVersionMatch|labelSelector|fieldSelector|dryRun|fieldManager|\
                 fieldValidation|force|gracePeriodSeconds|propagationPolicy|includeObject|pretty|timeout|sendInitialEvents";
    let token = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0";
    let value = prop_oneof![
        Just(token.to_owned()),
        "[A-Za-z0-9%=,!().-]{0,24}",
        "(All|Exact|Strict|true|false|1|-1|99999999999999999999|metadata\\.name%3Da|a%20in%20%28b%29)",
    ];
    prop::collection::vec((names, value), 0..3)
        .prop_map(|said| said.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&"))
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let text = prop_oneof![
        "\\PC{0,60}",
        "([{}\\[\\]:,\"a-z0-9 \n&*!|>'#%@-]|metadata: |name: |data: |- |\n  ){0,40}",
        "\\{\"metadata\":\\{\"name\":(\"a\"|1|null|\\[\\])\\},\"data\":(\\{\"a\":(\"b\"|1|null)\\}|[0-9]{1,30}|null)\\}",
        "\\[\\{\"op\":\"(add|remove|replace|move|copy|test)\",\"path\":\"(/[a-z0-9~-]{0,3}){0,3}\",\"value\":[0-9]\\}\\]",
    ];
    prop_oneof![text.prop_map(String::into_bytes), prop::collection::vec(any::<u8>(), 0..80)]
}

fn strange() -> impl Strategy<Value = Strange> {
    let line = ("GET|POST|PUT|PATCH|DELETE", "(/a)?(/status|/scale)?", query())
        .prop_map(|(method, below, query)| format!("{method} {CONFIGMAPS}{below}?{query}"));
    let content = "application/(json|yaml|vnd\\.kubernetes\\.protobuf|json-patch\\+json|merge-patch\\+json|\
                   strategic-merge-patch\\+json|apply-patch\\+yaml)|[a-z/;=+]{0,12}";
    let accept = "application/json;as=(Table|PartialObjectMetadata|x);v=v1;g=meta\\.k8s\\.io|[a-z/;=,*q.0-9]{0,20}";
    (line, content, accept, body()).prop_map(|(line, content_type, accept, body)| Strange {
        line,
        content_type,
        accept,
        body,
    })
}

#[test]
fn whatever_a_client_sends_the_mistake_is_the_clients() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stage = runtime.block_on(Stage::new());
    runtime.block_on(stage.configmap("a", serde_json::json!({})));
    let sent = |strange: Strange| {
        let request = Stage::request(&strange.line)
            .header("content-type", &strange.content_type)
            .header("accept", &strange.accept)
            .body(Body::from(strange.body.clone()));
        let answer = runtime.block_on(stage.answer(request.unwrap()));
        prop_assert!(
            answer.code < 500 || answer.code == 504,
            "{}: {:?}",
            answer.code,
            String::from_utf8_lossy(&answer.bytes)
        );
        Ok(())
    };
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) };
    TestRunner::new(config).run(&strange(), sent).unwrap();
}

#[tokio::test]
async fn a_watch_does_not_wait_for_a_body_that_never_ends() {
    let stage = Stage::new().await;
    let endless = futures_util::stream::pending::<Result<bytes::Bytes, Infallible>>();
    let request = Stage::request(&format!("GET {CONFIGMAPS}?watch=true&timeoutSeconds=1"));
    let answer = stage.answer(request.body(Body::from_stream(endless)).unwrap());
    let answer = tokio::time::timeout(PATIENCE, answer).await.expect("an answer");
    assert_eq!(answer.code, 200);
}

#[tokio::test]
async fn whoever_asks_for_the_head_of_an_answer_gets_no_body() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", serde_json::json!({})).await;
    for line in [format!("HEAD {CONFIGMAPS}/a"), format!("HEAD {CONFIGMAPS}"), format!("HEAD {CONFIGMAPS}/absent")] {
        let answer = stage.ask(&line).await;
        assert_eq!((answer.bytes.len(), answer.header("content-type")), (0, Some("application/json")), "{line}");
    }
    assert_eq!(stage.ask(&format!("HEAD {CONFIGMAPS}/a")).await.code, 200, "{made}");
}

#[tokio::test]
async fn whoever_says_too_much_is_refused_before_anybody_listens() {
    let stage = Stage::new().await;
    let long = format!("GET {CONFIGMAPS}?labelSelector=a%21%3D{}", "b".repeat(40_000));
    assert_ne!(stage.ask(&format!("GET {CONFIGMAPS}?labelSelector=a%21%3D{}", "b".repeat(60))).await.code, 414);
    stage.ask(&long).await.refused(414);
    let many = |count: usize, length: usize| {
        let mut request = Stage::request("GET /version");
        for number in 0..count {
            request = request.header(format!("x-{number}"), "v".repeat(length));
        }
        stage.answer(request.body(Body::empty()).unwrap())
    };
    assert_eq!(many(200, 10).await.code, 200);
    many(300, 10).await.refused(431);
    many(100, 4000).await.refused(431);
}
