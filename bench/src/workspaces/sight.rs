//! All workspaces under one watch, while objects change in many of them.

use crate::life::{CLIENTS, name};
use bench::client::Client;
use bench::hammer::{Timings, each};
use bench::peers::Server;
use bench::table::Row;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const EVERYWHERE: &str = "/clusters/*/api/v1/configmaps";
/// A watch that shows nothing for so long shows nothing any more.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// When each object was sent off, by its name. The one lock there is.
type Sent = Arc<Mutex<HashMap<String, Instant>>>;

/// Makes objects in as many of the workspaces as there are, and sees them come.
pub async fn watch_everywhere(server: &Server, workspaces: u64, changes: u64) -> Vec<Row> {
    let watcher = server.client(1).await;
    let list = watcher.body(0, Method::GET, &format!("{EVERYWHERE}?limit=1"), String::new()).await;
    let list: Value = serde_json::from_slice(&list).expect("a list");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a resourceVersion");
    let path = format!("{EVERYWHERE}?watch=true&resourceVersion={version}");
    let answer = watcher.send(0, Method::GET, &path, String::new()).await.expect("a watch");
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    let seen = tokio::spawn(arrivals(answer.into_body(), changes));

    let (client, sent) = (server.client(CLIENTS).await, Sent::default());
    let begun = Instant::now();
    let all = {
        let sent = sent.clone();
        each(CLIENTS, changes, move |worker, number| change(client.clone(), sent.clone(), worker, (number, workspaces)))
    };
    all.await;
    let seen = seen.await.expect("the watcher does not panic");
    let sent = sent.lock().expect("nobody panics with it");
    let last = seen.values().max().copied().unwrap_or(begun);
    let delays = seen.iter().filter_map(|(name, at)| Some(at.duration_since(*sent.get(name)?))).collect();
    let delays = Timings::new(last.duration_since(begun), delays);
    let what = format!("one watch of {workspaces} workspaces, {changes} objects made");
    vec![
        Row::more(format!("{what}: seen"), delays.per_second(), "/s"),
        Row::less(format!("{what}: p50 from create to event"), delays.percentile_ms(50.0), "ms"),
        Row::less(format!("{what}: p99 from create to event"), delays.percentile_ms(99.0), "ms"),
        Row::less(format!("{what}: never seen"), (changes as usize - delays.count()) as f64, "events"),
    ]
}

async fn change(client: Client, sent: Sent, worker: u64, (number, workspaces): (u64, u64)) {
    let object = format!("seen-{number}");
    let inside = format!("/clusters/root:{}/api/v1/namespaces/default/configmaps", name(number % workspaces));
    let body = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": object } }).to_string();
    sent.lock().expect("nobody panics with it").insert(object, Instant::now());
    client.body(worker, Method::POST, &inside, body).await;
}

/// When each object was seen. What others make meanwhile is not counted.
async fn arrivals(mut events: Incoming, changes: u64) -> HashMap<String, Instant> {
    let (mut seen, mut pending) = (HashMap::new(), Vec::new());
    while seen.len() < changes as usize {
        let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE_MAX, events.frame()).await else { break };
        let now = Instant::now();
        pending.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        while let Some(end) = pending.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = pending.drain(..=end).collect();
            let event: Value = serde_json::from_slice(&line).expect("an event");
            let found = event["object"]["metadata"]["name"].as_str().unwrap_or_default();
            if found.starts_with("seen-") {
                seen.insert(found.to_owned(), now);
            }
        }
    }
    seen
}
