//! Watches: every change once, in order, to whom it concerns.

use crate::stage::{CONFIGMAPS, Stage};
use axum::body::BodyDataStream;
use futures_util::StreamExt;
use serde_json::{Value, json};

/// Reads one event after the other.
struct Reader {
    stream: BodyDataStream,
    text: Vec<u8>,
}

impl Reader {
    async fn open(stage: &Stage, query: &str) -> Self {
        let response = stage.stream(&format!("GET {CONFIGMAPS}?watch=true&{query}")).await;
        assert_eq!(response.status(), 200, "{query}");
        Self { stream: response.into_body().into_data_stream(), text: Vec::new() }
    }

    /// The next event; `None` at the end.
    async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                return Some(serde_json::from_slice(&line).unwrap());
            }
            self.text.extend(self.stream.next().await?.unwrap());
        }
    }

    async fn told(&mut self) -> String {
        let event = self.next().await.unwrap();
        format!("{} {}", event["type"].as_str().unwrap(), event["object"]["metadata"]["name"].as_str().unwrap_or("-"))
    }
}

fn revision(object: &Value) -> u64 {
    object["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn every_later_change_is_told_once_and_in_order() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({})).await;
    let mut reader = Reader::open(&stage, &format!("resourceVersion={}", revision(&made))).await;
    stage.configmap("b", json!({})).await;
    let patch = r#"{"data":{"k":"w"}}"#;
    stage.send_as(&format!("PATCH {CONFIGMAPS}/a"), "application/merge-patch+json", patch).await.expect(200);
    stage.ask(&format!("DELETE {CONFIGMAPS}/b")).await.expect(200);
    assert_eq!(reader.told().await, "ADDED b");
    assert_eq!(reader.told().await, "MODIFIED a");
    let deleted = reader.next().await.unwrap();
    assert_eq!((&deleted["type"], &deleted["object"]["data"]["k"]), (&json!("DELETED"), &json!("v")));
    assert_eq!(revision(&deleted["object"]), stage.store.recent().revision().0);
}

#[tokio::test]
async fn without_a_revision_what_is_there_comes_first() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    for query in ["", "resourceVersion=0"] {
        let mut reader = Reader::open(&stage, query).await;
        assert_eq!(reader.told().await, "ADDED a");
    }
}

#[tokio::test]
async fn a_watch_list_ends_its_first_part_with_a_bookmark() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    let query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let mut reader = Reader::open(&stage, query).await;
    assert_eq!(reader.told().await, "ADDED a");
    let mark = reader.next().await.unwrap();
    assert_eq!(mark["type"], "BOOKMARK");
    assert_eq!(mark["object"]["metadata"]["annotations"], json!({ "k8s.io/initial-events-end": "true" }));
    assert_eq!(
        (&mark["object"]["kind"], revision(&mark["object"])),
        (&json!("ConfigMap"), stage.store.recent().revision().0)
    );
    stage.configmap("b", json!({})).await;
    assert_eq!(reader.told().await, "ADDED b");
}

#[tokio::test]
async fn objects_enter_and_leave_a_selection() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({ "side": "left" })).await;
    let query = format!("labelSelector=side%3Dleft&resourceVersion={}", revision(&made));
    let mut reader = Reader::open(&stage, &query).await;
    let patch = async |text: &'static str| {
        stage.send_as(&format!("PATCH {CONFIGMAPS}/a"), "application/merge-patch+json", text).await.expect(200)
    };
    let away = patch(r#"{"metadata":{"labels":{"side":"right"}}}"#).await;
    patch(r#"{"data":{"k":"unseen"}}"#).await;
    patch(r#"{"metadata":{"labels":{"side":"left"}}}"#).await;
    let left = reader.next().await.unwrap();
    assert_eq!((&left["type"], &left["object"]["metadata"]["labels"]["side"]), (&json!("DELETED"), &json!("left")));
    assert_eq!(revision(&left["object"]), revision(&away));
    let back = reader.next().await.unwrap();
    assert_eq!((&back["type"], &back["object"]["data"]["k"]), (&json!("ADDED"), &json!("unseen")));
}

#[tokio::test]
async fn a_watch_from_too_long_ago_is_told_so_in_the_stream() {
    let stage = Stage::new().await;
    let made = stage.configmap("a", json!({})).await;
    stage.configmap("b", json!({})).await;
    stage.store.compact(stage.store.recent().revision()).await.unwrap();
    let mut reader = Reader::open(&stage, &format!("resourceVersion={}", revision(&made))).await;
    let event = reader.next().await.unwrap();
    assert_eq!((&event["type"], &event["object"]["code"]), (&json!("ERROR"), &json!(410)));
    assert_eq!(event["object"]["reason"], "Expired");
    assert!(reader.next().await.is_none());
}

#[tokio::test]
async fn a_watch_ends_when_it_said_it_would_and_tells_how_far_it_was() {
    let stage = Stage::new().await;
    tokio::time::pause();
    let newest = stage.store.recent().revision();
    let query = format!("timeoutSeconds=90&allowWatchBookmarks=true&resourceVersion={newest}");
    let mut reader = Reader::open(&stage, &query).await;
    for _ in 0..2 {
        let mark = reader.next().await.unwrap();
        assert_eq!((&mark["type"], revision(&mark["object"])), (&json!("BOOKMARK"), newest.0));
        assert_eq!(mark["object"]["metadata"].as_object().unwrap().len(), 1);
    }
    assert!(reader.next().await.is_none());
}

#[tokio::test]
async fn stopping_ends_watches_cleanly() {
    let stage = Stage::new().await;
    let newest = stage.store.recent().revision();
    let mut reader = Reader::open(&stage, &format!("resourceVersion={newest}")).await;
    stage.api.stop();
    assert!(reader.next().await.is_none());
}

#[tokio::test]
async fn rows_of_a_watched_table_have_their_columns_told_once() {
    let stage = Stage::new().await;
    stage.configmap("a", json!({})).await;
    stage.configmap("b", json!({})).await;
    let request = Stage::request(&format!("GET {CONFIGMAPS}?watch=true&timeoutSeconds=1"))
        .header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    let answer = stage.answer(request.body(axum::body::Body::empty()).unwrap()).await;
    let lines: Vec<Value> =
        answer.bytes.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    assert_eq!(lines[0]["object"]["columnDefinitions"].as_array().unwrap().len(), 3);
    assert_eq!(lines[1]["object"]["columnDefinitions"], Value::Null);
    assert_eq!(lines[1]["object"]["rows"][0]["cells"][0], "b");
}

#[tokio::test]
async fn options_that_make_no_sense_are_refused() {
    let stage = Stage::new().await;
    for query in ["sendInitialEvents=true", "resourceVersionMatch=Exact&resourceVersion=1"] {
        stage.ask(&format!("GET {CONFIGMAPS}?watch=1&{query}")).await.refused(422);
    }
    stage.ask(&format!("GET {CONFIGMAPS}?watch=1&resourceVersion=x")).await.refused(400);
}
