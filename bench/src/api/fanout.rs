//! One change to many watchers of the same collection: as fast as it goes, then at a pace that nobody has to queue at.

use crate::Plan;
use crate::objects::{collection, create};
use bench::hammer::Timings;
use bench::peers::Server;
use bench::table::{Aim, Row};
use bytes::Bytes;
use http::Method;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;

const WATCHERS: [u64; 3] = [10, 100, 1_000];
/// With fewer, it is the creations that are measured.
const AIMED_AT_MIN: u64 = 100;
const WRITERS: u64 = 16;
/// Events delivered for one rate.
const DELIVERIES: u64 = 200_000;
/// Events offered per second for one delay.
const OFFERED_PER_SECOND: u64 = 5_000;
/// A watcher that gets nothing for so long gets nothing any more.
const SILENCE_MAX: Duration = Duration::from_secs(20);

fn flooded(watchers: u64) -> String {
    format!("flood-{watchers}")
}

fn trickled(watchers: u64) -> String {
    format!("trickle-{watchers}")
}

pub fn namespaces() -> impl Iterator<Item = String> {
    WATCHERS.into_iter().flat_map(|watchers| [flooded(watchers), trickled(watchers)])
}

pub async fn measure(plan: &Plan, server: &Server) -> Vec<Row> {
    let mut rows = Vec::new();
    for watchers in WATCHERS {
        let name = |what: &str| format!("watch fan-out, {watchers} watchers: {what}");
        let changes = (DELIVERIES / plan.fanout_divisor / watchers).max(20);
        let before = server.cpu_seconds();
        let (rate, lost) = flood(server, watchers, changes).await;
        let each_us = (server.cpu_seconds() - before) * 1e6 / (changes * watchers - lost) as f64;
        let delivered = Row::more(name("rate"), rate, "events/s").point("watchers", "", watchers as f64);
        rows.push(if watchers < AIMED_AT_MIN { delivered } else { delivered.aim(Aim::Times(10.0)) });
        rows.push(Row::less(name("the server's processor time for one"), each_us, "us"));
        if lost > 0 {
            rows.push(Row::less(name("events lost"), lost as f64, "events"));
        }
        let delays = trickle(plan, server, watchers).await;
        rows.push(Row::less(name("p50 from create to event"), delays.percentile_ms(50.0), "ms"));
        rows.push(Row::less(name("p99 from create to event"), delays.percentile_ms(99.0), "ms"));
    }
    rows
}

/// Events delivered per second, and how many were not: either server may hang up on who does not keep up.
async fn flood(server: &Server, watchers: u64, changes: u64) -> (f64, u64) {
    let namespace = flooded(watchers);
    let tasks = watch(server, &namespace, watchers, changes).await;
    let client = server.client(WRITERS).await;
    let start = Instant::now();
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (client, namespace) = (client.clone(), namespace.clone());
            tokio::spawn(async move {
                for change in (writer..changes).step_by(WRITERS as usize) {
                    create(&client, writer, &namespace, change).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer does not panic");
    }
    let mut delivered = 0;
    let mut last = start;
    for task in tasks {
        let arrivals = task.await.expect("a watcher does not panic");
        delivered += arrivals.len() as u64;
        last = arrivals.last().map_or(last, |arrival| last.max(*arrival));
    }
    (delivered as f64 / last.duration_since(start).as_secs_f64(), changes * watchers - delivered)
}

/// How long each event takes, from sending the request that makes it.
async fn trickle(plan: &Plan, server: &Server, watchers: u64) -> Timings {
    let namespace = trickled(watchers);
    let per_second = OFFERED_PER_SECOND / watchers;
    let changes = ((plan.seconds * per_second as f64) as u64).max(10);
    let tasks = watch(server, &namespace, watchers, changes).await;
    let client = server.client(1).await;
    let begun = Instant::now();
    let mut pace = tokio::time::interval(Duration::from_secs(1) / per_second as u32);
    // One at a time, so that the nth event is that of the nth creation.
    let mut sent = Vec::new();
    for change in 0..changes {
        pace.tick().await;
        sent.push(Instant::now());
        create(&client, 0, &namespace, change).await;
    }
    let mut delays = Vec::new();
    for task in tasks {
        let arrivals = task.await.expect("a watcher does not panic");
        delays.extend(arrivals.iter().zip(&sent).map(|(arrival, sent)| arrival.duration_since(*sent)));
    }
    Timings::new(begun.elapsed(), delays)
}

/// Watchers of a namespace that each end, and say when each event came, once they have seen `changes` events.
async fn watch(server: &Server, namespace: &str, watchers: u64, changes: u64) -> Vec<JoinHandle<Vec<Instant>>> {
    let client = server.client(watchers).await;
    let path = collection(namespace);
    let list: Value = serde_json::from_slice(&client.body(0, Method::GET, &path, String::new()).await).expect("a list");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a resourceVersion");
    let path = format!("{path}?watch=true&resourceVersion={version}");
    // Reading begins when all of them are there.
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write().await;
    let mut tasks = Vec::new();
    for watcher in 0..watchers {
        let answer = client.send(watcher, Method::GET, &path, String::new()).await.expect("a watch");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let gate = gate.clone();
        tasks.push(tokio::spawn(async move {
            drop(gate.read().await);
            arrivals(answer.into_body(), changes as usize).await
        }));
    }
    drop(closed);
    tasks
}

/// When each event came. Each is one line, and none is looked into: the client shares the processor with the server.
async fn arrivals(mut events: Incoming, changes: usize) -> Vec<Instant> {
    let mut arrivals = Vec::with_capacity(changes);
    while arrivals.len() < changes {
        let Ok(Some(Ok(frame))) = tokio::time::timeout(SILENCE_MAX, events.frame()).await else { break };
        let lines = frame.data_ref().map_or(0, |data: &Bytes| data.iter().filter(|byte| **byte == b'\n').count());
        arrivals.extend(std::iter::repeat_n(Instant::now(), lines));
    }
    arrivals
}
