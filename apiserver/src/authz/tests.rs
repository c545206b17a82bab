//! Who is asked, how often, and what the answers mean.

use super::*;
use crate::auth::{Attributes, Objects, Selector, Selectors, User};
use crate::hooks::Endpoint;
use crate::hooks::call::{CallError, CallWebhook};
use crate::place::Workspace;
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Answers every review in the same way, and notes what it was asked.
struct Oracle {
    status: Value,
    asked: Mutex<Vec<Value>>,
}

impl CallWebhook for Oracle {
    fn call<'a>(&'a self, _: &'a Endpoint, body: Bytes, _: Duration) -> Later<'a, Result<Value, CallError>> {
        self.asked.lock().push(serde_json::from_slice(&body).unwrap());
        let answer = match &self.status {
            Value::Null => Err(CallError::Failed("connection refused".to_owned())),
            status => Ok(json!({ "status": status })),
        };
        Box::pin(async move { answer })
    }
}

fn oracle(status: Value) -> Arc<Oracle> {
    Arc::new(Oracle { status, asked: Mutex::default() })
}

fn webhook(oracle: &Arc<Oracle>) -> AccessWebhook {
    let at = Endpoint::read(&json!({ "url": "https://oracle" })).unwrap();
    AccessWebhook::new(at, oracle.clone(), Lasting { allowed: 10, refused: 5 })
}

fn question(foreign: bool) -> Question {
    let user = User { foreign, ..User::authenticated("ada", Vec::new()) };
    let objects = Objects { group: "g", resource: "things", ..Objects::default() };
    Question::new(&user, &Workspace::new("w"), &Attributes::objects("list", objects))
}

fn path(path: &str) -> Question {
    let user = User { foreign: true, ..User::anonymous() };
    Question::new(&user, &Workspace::new("w"), &Attributes::path("get", path))
}

fn allowed() -> Value {
    json!({ "allowed": true, "reason": "because" })
}

#[tokio::test]
async fn an_answer_counts_for_as_long_as_it_lasts() {
    for (status, lasts) in [(allowed(), 10), (json!({ "allowed": false }), 5)] {
        let oracle = oracle(status);
        let deciders = Deciders { webhooks: vec![webhook(&oracle)], ..Deciders::default() };
        for (now, asked) in [(0, 1), (lasts - 1, 1), (lasts, 2)] {
            deciders.decide(&question(false), now).await.unwrap();
            assert_eq!(oracle.asked.lock().len(), asked, "after {now} seconds");
        }
        assert_eq!(oracle.asked.lock()[0]["spec"]["extra"]["authorization.kubernetes.io/cluster-name"], json!(["w"]));
    }
}

#[tokio::test]
async fn an_answer_about_some_objects_is_none_about_others() {
    let oracle = oracle(allowed());
    let deciders = Deciders { webhooks: vec![webhook(&oracle)], ..Deciders::default() };
    let selecting = |fields: &'static str, labels: &'static str| {
        let objects = Objects { group: "g", resource: "things", ..Objects::default() };
        let selectors = Selectors { fields: Selector::Text(fields), labels: Selector::Text(labels) };
        let wanted = Attributes { selectors, ..Attributes::objects("list", objects) };
        Question::new(&User::authenticated("ada", Vec::new()), &Workspace::new("w"), &wanted)
    };
    let all = [("metadata.name=x", "a=b"), ("metadata.name=x", ""), ("metadata.name=y", ""), ("", "a=b"), ("", "")];
    for (at, (fields, labels)) in all.into_iter().enumerate() {
        for _ in 0..2 {
            deciders.decide(&selecting(fields, labels), 0).await.unwrap();
            assert_eq!(oracle.asked.lock().len(), at + 1, "{fields} {labels}");
        }
    }
    // What is written differently and means the same is one question.
    deciders.decide(&selecting("metadata.name==x", "a in (b)"), 0).await.unwrap();
    assert_eq!(oracle.asked.lock().len(), all.len());
    let told = oracle.asked.lock()[0]["spec"]["resourceAttributes"].clone();
    let one = |key: &str, value: &str| json!([{ "key": key, "operator": "In", "values": [value] }]);
    assert_eq!(told["fieldSelector"], json!({ "requirements": one("metadata.name", "x") }));
    assert_eq!(told["labelSelector"], json!({ "requirements": one("a", "b") }));
}

#[tokio::test]
async fn the_first_who_decides_has_the_last_word() {
    let check = async |statuses: &[Value], expected: Decision| {
        let oracles: Vec<Arc<Oracle>> = statuses.iter().cloned().map(oracle).collect();
        let deciders = Deciders { webhooks: oracles.iter().map(webhook).collect(), ..Deciders::default() };
        assert_eq!(deciders.decide(&question(false), 0).await.unwrap(), expected, "{statuses:?}");
    };
    let (no, deny) = (json!({ "allowed": false, "reason": "who" }), json!({ "denied": true, "reason": "never" }));
    check(&[no.clone(), allowed()], Decision::Allow("because".to_owned())).await;
    check(&[deny.clone(), allowed()], Decision::Deny("never".to_owned())).await;
    check(&[no.clone(), no], Decision::NoOpinion("who; who".to_owned())).await;
    check(&[], Decision::NoOpinion(String::new())).await;
}

#[tokio::test]
async fn the_host_decides_about_its_own_and_about_nobody_else() {
    let (host, other) = (oracle(json!({ "allowed": false })), oracle(allowed()));
    let deciders = Deciders {
        host: Some(webhook(&host)),
        open_paths: vec!["/healthz".to_owned(), "/open/*".to_owned()],
        webhooks: vec![webhook(&other)],
    };
    assert!(!deciders.decide(&question(true), 0).await.unwrap().is_allowed());
    assert!(deciders.decide(&question(false), 0).await.unwrap().is_allowed());
    assert_eq!((host.asked.lock().len(), other.asked.lock().len()), (1, 1));
    for (open, expected) in [("/healthz", true), ("/open/x", true), ("/healthz/x", false), ("/", false)] {
        assert_eq!(deciders.decide(&path(open), 0).await.unwrap().is_allowed(), expected, "{open}");
    }
    let alone = Deciders { webhooks: vec![webhook(&other)], ..Deciders::default() };
    assert!(!alone.decide(&question(true), 0).await.unwrap().is_allowed(), "without a host nobody comes from there");
}

#[tokio::test(start_paused = true)]
async fn no_answer_permits_nothing_and_is_not_remembered() {
    for status in [Value::Null, json!([]), json!({ "allowed": "yes" }), json!({ "allowed": true, "denied": true })] {
        let oracle = oracle(status.clone());
        let deciders = Deciders { webhooks: vec![webhook(&oracle)], ..Deciders::default() };
        assert!(deciders.decide(&question(false), 0).await.is_err(), "{status}");
        let before = oracle.asked.lock().len();
        assert!(deciders.decide(&question(false), 0).await.is_err(), "{status}");
        assert!(oracle.asked.lock().len() > before, "{status}");
    }
}
