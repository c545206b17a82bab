//! Workspaces are made, weighed, met again after a restart, and deleted.

use crate::{Plan, SETTLE};
use bench::client::Client;
use bench::disk::bytes_under;
use bench::hammer::{Timings, each, steady};
use bench::peers::{Peer, Server};
use bench::table::{Aim, Row};
use http::Method;
use serde_json::{Value, json};
use std::ops::Range;
use std::time::{Duration, Instant};

pub const CLIENTS: u64 = 32;
/// Clients whose requests do not wait for each other: how long one takes.
const FEW_CLIENTS: u64 = 4;
/// The part of all workspaces that they make; and as many are made by all clients, but no faster than has to be.
const BY_FEW: u64 = 10;
/// How many have to be made in a second.
const RATE: f64 = 500.0;
/// Workspaces that share a parent, where they are a tree.
const SIBLINGS: u64 = 100;
/// How often a server that gets more and more workspaces is weighed.
const STEPS: u64 = 4;
/// How often the server is asked whether all are gone.
const ASK_EVERY: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// All in the root.
    Flat,
    /// In organizations.
    Tree,
}

impl Shape {
    /// The path of the parent of the workspace of this number.
    fn parent(self, number: u64) -> String {
        match self {
            Self::Flat => "root".to_owned(),
            Self::Tree => format!("root:{}", organization(number / SIBLINGS)),
        }
    }
}

fn organization(number: u64) -> String {
    format!("org-{number}")
}

/// How the names of the workspaces begin.
const PREFIX: &str = "ws-";

/// The name of the workspace of this number.
pub fn name(number: u64) -> String {
    format!("{PREFIX}{number}")
}

fn collection(parent: &str) -> String {
    format!("/clusters/{parent}/apis/tenancy.kcp.io/v1alpha1/workspaces")
}

/// The workspace can be used when the answer is there.
async fn create(client: &Client, worker: u64, parent: &str, name: &str, of: &str) {
    let workspace = json!({
        "apiVersion": "tenancy.kcp.io/v1alpha1", "kind": "Workspace", "metadata": { "name": name },
        "spec": { "type": { "name": of, "path": "root" } },
    });
    let made = client.body(worker, Method::POST, &collection(parent), workspace.to_string()).await;
    let made: Value = serde_json::from_slice(&made).expect("JSON");
    assert_eq!(made["status"]["phase"], "Ready", "{name} is ready at once");
}

/// Those whose numbers are in the range, by so many clients: as fast as they can, or so many in a second.
async fn create_all(
    server: &Server,
    shape: Shape,
    (clients, rate): (u64, Option<f64>),
    numbers: Range<u64>,
) -> Timings {
    let client = server.client(clients).await;
    let count = numbers.end - numbers.start;
    if shape == Shape::Tree {
        for number in numbers.start.div_ceil(SIBLINGS)..numbers.end.div_ceil(SIBLINGS) {
            create(&client, 0, "root", &organization(number), "organization").await;
        }
    }
    let make = move |worker, number| {
        let (client, number) = (client.clone(), numbers.start + number);
        async move { create(&client, worker, &shape.parent(number), &name(number), "project").await }
    };
    steady(clients, count, rate, make).await
}

pub async fn make(server: &Server, shape: Shape, count: u64) -> Vec<Row> {
    tokio::time::sleep(SETTLE).await;
    let (memory, disk) = (server.rss_bytes().0, bytes_under(&server.data));
    let part = count / BY_FEW;
    let by_few = create_all(server, shape, (FEW_CLIENTS, None), 0..part).await;
    let steadily = create_all(server, shape, (CLIENTS, Some(RATE)), part..2 * part).await;
    let timings = create_all(server, shape, (CLIENTS, None), 2 * part..count).await;
    tokio::time::sleep(SETTLE).await;
    let each_kb = |bytes: f64| bytes / 1000.0 / count as f64;
    let what = format!("{count} workspaces, {}", if shape == Shape::Flat { "flat" } else { "a tree" });
    vec![
        Row::more(format!("{what}: made by {FEW_CLIENTS}"), by_few.per_second(), "/s").aim(Aim::Above(500.0)),
        Row::less(format!("{what}: made by {FEW_CLIENTS}, p99"), by_few.percentile_ms(99.0), "ms")
            .aim(Aim::Below(20.0)),
        Row::less(format!("{what}: made by {CLIENTS}, {RATE} a second, p99"), steadily.percentile_ms(99.0), "ms")
            .aim(Aim::Below(20.0)),
        Row::more(format!("{what}: made by {CLIENTS}"), timings.per_second(), "/s"),
        Row::less(format!("{what}: made by {CLIENTS}, p99"), timings.percentile_ms(99.0), "ms"),
        Row::less(format!("{what}: RSS of each"), each_kb(server.rss_bytes().0 - memory), "KB").aim(Aim::Below(20.0)),
        Row::less(format!("{what}: disk of each"), each_kb(bytes_under(&server.data) - disk), "KB"),
    ]
}

/// Deletes those of the root, and waits until the last one is gone.
pub async fn delete(server: &Server, count: u64) -> Vec<Row> {
    let client = server.client(CLIENTS).await;
    let start = Instant::now();
    let asked = {
        let client = client.clone();
        each(CLIENTS, count, move |worker, number| {
            let (client, path) = (client.clone(), format!("{}/{}", collection("root"), name(number)));
            async move {
                client.body(worker, Method::DELETE, &path, String::new()).await;
            }
        })
    };
    asked.await;
    // The workspace that is there from the start comes before them.
    let first = format!("{}?limit=2", collection("root"));
    loop {
        let found: Value =
            serde_json::from_slice(&client.body(0, Method::GET, &first, String::new()).await).expect("JSON");
        let names =
            found["items"].as_array().into_iter().flatten().filter_map(|item| item["metadata"]["name"].as_str());
        if !names.into_iter().any(|found| found.starts_with(PREFIX)) {
            break;
        }
        tokio::time::sleep(ASK_EVERY).await;
    }
    let seconds = start.elapsed().as_secs_f64();
    vec![Row::less(format!("{count} workspaces: deleted, all gone"), seconds, "s").aim(Aim::Below(60.0))]
}

/// A server that gets more and more of them, and begins anew with all.
pub async fn restart(plan: &Plan) -> Vec<Row> {
    let mut server = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
    let count = plan.many;
    tokio::time::sleep(SETTLE).await;
    let (memory, disk) = (server.rss_bytes().0, bytes_under(&server.data));
    let mut rows = vec![weight(&server, 0)];
    for step in 0..STEPS {
        let (from, to) = (count * step / STEPS, count * (step + 1) / STEPS);
        let made = create_all(&server, Shape::Flat, (CLIENTS, None), from..to).await;
        tokio::time::sleep(SETTLE).await;
        let what = format!("{to} workspaces: the last {} made", to - from);
        rows.push(Row::more(what.clone(), made.per_second(), "/s"));
        rows.push(Row::less(format!("{what}, p99"), made.percentile_ms(99.0), "ms"));
        rows.push(weight(&server, to));
    }
    let each_kb = |bytes: f64| bytes / 1000.0 / count as f64;
    let (memory, disk) = (each_kb(server.rss_bytes().0 - memory), each_kb(bytes_under(&server.data) - disk));
    server.restart().await;
    let ready = server.ready.as_secs_f64();
    tokio::time::sleep(SETTLE).await;
    let after = Row::less(format!("{count} workspaces: RSS after a restart"), server.rss_bytes().0 / 1e6, "MB");
    rows.extend([
        Row::less(format!("{count} workspaces: RSS of each"), memory, "KB").aim(Aim::Below(20.0)),
        Row::less(format!("{count} workspaces: disk of each"), disk, "KB"),
        Row::less(format!("{count} workspaces: ready after a restart"), ready, "s").aim(Aim::Below(10.0)),
        after.point("workspaces", "after a restart", count as f64),
    ]);
    rows
}

fn weight(server: &Server, count: u64) -> Row {
    let row = Row::less(format!("{count} workspaces: RSS"), server.rss_bytes().0 / 1e6, "MB");
    row.point("workspaces", "made one after the other", count as f64)
}
