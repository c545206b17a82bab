//! How long one object takes into its cells, its status back, and its end everywhere; one after the other.

use crate::sight::Sight;
use crate::stage::{DEPLOYMENTS, MAPS, Stage};
use bench::client::Client;
use bench::hammer::Timings;
use bench::table::{Aim, Row};
use http::Method;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Deployments whose statuses change in turn.
const REPORTING: u64 = 10;

pub fn map(name: &str) -> Value {
    let data = bench::text::cut(name.len() as u64, 1024);
    let metadata = json!({ "name": name, "labels": { "bench": "yes" } });
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": { "text": data } })
}

pub fn deployment(name: &str, replicas: i64) -> Value {
    let labels = json!({ "app": name });
    let container = json!({ "name": "web", "image": "nginx" });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": name, "labels": { "bench": "yes" } },
        "spec": {
            "replicas": replicas, "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
        },
    })
}

async fn sights(stage: &Stage, collection: &str) -> Vec<Sight> {
    let mut sights = Vec::new();
    for cell in &stage.cells {
        sights.push(Sight::of(cell, collection).await);
    }
    sights
}

/// Objects go to all cells, and away again.
pub async fn maps(stage: &Stage, count: u64) -> Vec<Row> {
    let hub = Client::open(&stage.hub, 1).await.expect("a connection");
    let (cells, home) = (sights(stage, MAPS).await, Sight::of(&stage.hub, MAPS).await);
    let (mut there, mut gone) = (Vec::new(), Vec::new());
    for number in 0..count {
        let name = format!("timed-{number}");
        let began = Instant::now();
        hub.body(0, Method::POST, MAPS, map(&name).to_string()).await;
        there.push(last(&cells, &name, true).await - began);
        let began = Instant::now();
        hub.body(0, Method::DELETE, &format!("{MAPS}/{name}"), String::new()).await;
        let gone_there = last(&cells, &name, false).await;
        let gone_here = home.when(&name, |seen| !seen.is_there).await;
        gone.push(gone_there.max(gone_here) - began);
    }
    let mut rows = percentiles(stage, "create to applied", there, Some(Aim::Below(100.0)));
    rows.extend(percentiles(stage, "delete to gone everywhere", gone, None));
    rows
}

/// When the last cell has it, or has it no more.
async fn last(cells: &[Sight], name: &str, is_there: bool) -> Instant {
    let mut last = None;
    for cell in cells {
        last = last.max(Some(cell.when(name, |seen| seen.is_there == is_there).await));
    }
    last.expect("a cell")
}

/// A cell says how its copy is, and the source says so, too.
pub async fn statuses(stage: &Stage, count: u64) -> Vec<Row> {
    let hub = Client::open(&stage.hub, 1).await.expect("a connection");
    let cell = Client::open(&stage.cells[0], 1).await.expect("a connection");
    let (cells, home) = (sights(stage, DEPLOYMENTS).await, Sight::of(&stage.hub, DEPLOYMENTS).await);
    let name = |number: u64| format!("reporting-{}", number % REPORTING);
    for number in 0..REPORTING {
        hub.body(0, Method::POST, DEPLOYMENTS, deployment(&name(number), 2).to_string()).await;
        last(&cells, &name(number), true).await;
    }
    let mut took = Vec::new();
    for number in 0..count {
        let (name, ready) = (name(number), i64::try_from(number / REPORTING + 1).expect("a small number"));
        let status = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": name },
            "status": { "observedGeneration": 1, "replicas": ready, "readyReplicas": ready },
        });
        let path = format!("{DEPLOYMENTS}/{name}/status?fieldManager=bench&force=true");
        let began = Instant::now();
        cell.body(0, Method::PATCH, &path, status.to_string()).await;
        took.push(home.when(&name, |seen| seen.ready == ready).await - began);
    }
    for number in 0..REPORTING {
        hub.body(0, Method::DELETE, &format!("{DEPLOYMENTS}/{}", name(number)), String::new()).await;
        home.when(&name(number), |seen| !seen.is_there).await;
    }
    percentiles(stage, "status in a cell to status of the source", took, None)
}

fn percentiles(stage: &Stage, what: &str, times: Vec<Duration>, aim: Option<Aim>) -> Vec<Row> {
    let timings = Timings::new(times.iter().sum(), times);
    let row =
        |percent: f64| Row::less(format!("{}: {what}: p{percent}", stage.name), timings.percentile_ms(percent), "ms");
    vec![row(50.0), Row { aim, ..row(99.0) }]
}
