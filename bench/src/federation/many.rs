//! Many cells, many objects, each in some of the cells: filled, left alone, looked at anew, and met again after a restart.

use crate::latency::map;
use crate::sight::Sight;
use crate::stage::{MAPS, join, workspaces};
use crate::{Many, Plan};
use bench::client::Client;
use bench::hammer::each;
use bench::peers::{Peer, Server};
use bench::table::{Aim, Row};
use http::Method;
use serde_json::json;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 32;

/// A server that uses less of a core than this, in hundredths, for so long rests.
const RESTING: f64 = 20.0;
const LOOK_EVERY: Duration = Duration::from_millis(250);
const RESTS_FOR: Duration = Duration::from_secs(3);
const RESTS_MAX: Duration = Duration::from_secs(1800);

/// An annotation that is not taken along to cells: whoever looks at an object anew because of it finds nothing to do.
const NOT_TAKEN: &str = "kubectl.kubernetes.io/last-applied-configuration";

pub async fn measure(plan: &Plan, many: Many) -> Vec<Row> {
    let what = format!("{} objects, each in {} of {} cells", many.objects, many.each, many.cells);
    let mut hub = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
    let other = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
    let groups = many.cells / many.each;
    let (cells, kubeconfigs) = workspaces(&other, many.cells).await;
    join(&hub, &kubeconfigs, |number| json!({ "group": group(number as u64, groups) })).await;
    let connected = rest(&hub, Instant::now()).await;
    let empty = hub.rss_bytes().0 / 1e6;
    eprintln!("  {} cells joined, at rest {connected:.1} s after", many.cells);
    let rule = json!({
        "apiVersion": "federation.hanse.dev/v1alpha1", "kind": "FederationRule", "metadata": { "name": "by-group" },
        "spec": {
            "objects": [{ "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": { "matchLabels": { "bench": "yes" } } }],
            "cells": { "joins": [{ "objectLabel": "group", "cellLabel": "group" }] }, "namespaces": "Same",
        },
    });
    let client = hub.client(1).await;
    client.body(0, Method::POST, "/apis/federation.hanse.dev/v1alpha1/federationrules", rule.to_string()).await;
    let began = Instant::now();
    write(&hub, many.objects, groups, "").await;
    let copies = (many.objects * many.each) as f64;
    // On a busy machine a server may look as if it rested because nobody lets it run. How many were made is not known: the
    // answer to one may be lost, and the next says that it was there already.
    while (numbers(&other).await.writes as f64) < copies {
        assert!(began.elapsed() < RESTS_MAX, "every copy is in its cell");
        tokio::time::sleep(LOOK_EVERY).await;
    }
    let filled = rest(&hub, began).await;
    let full = hub.rss_bytes().0 / 1e6;
    let before = numbers(&other).await.requests;
    let began = Instant::now();
    write(&hub, many.objects, groups, "looked at anew").await;
    let unchanged = rest(&hub, began).await;
    let done = numbers(&other).await;
    let asked = done.requests - before;
    hub.restart().await;
    // The clock runs from before the server is executed.
    let began = Instant::now() - hub.ready;
    let resumed = rest(&hub, began).await;
    let spent = hub.cpu_seconds();
    let after = numbers(&other).await;
    let written = after.writes + after.refused - done.writes - done.refused;
    let next = next_change(&hub, &cells, groups).await;
    let at = many.cells as f64;
    vec![
        Row::less(format!("{what}: filled"), filled, "s"),
        Row::more(format!("{what}: rate of it"), copies / filled, "copies/s"),
        Row::less(format!("{what}: writes to cells more than copies"), done.writes as f64 - copies, ""),
        Row::less(format!("{what}: writes that cells refused"), done.refused as f64, ""),
        Row::less(format!("{what}: RSS with the cells alone"), empty, "MB").point("cells-memory", "cells alone", at),
        Row::less(format!("{what}: RSS"), full, "MB").aim(Aim::Below(300.0)).point("cells-memory", "with copies", at),
        Row::less(format!("{what}: all objects written, nothing for cells in it: at rest"), unchanged, "s"),
        Row::less(format!("{what}: the same: requests to cells"), asked as f64, "").aim(Aim::Below(1.0)),
        Row::less(format!("{what}: ready after a restart"), hub.ready.as_secs_f64(), "s").point("cells", "ready", at),
        Row::less(format!("{what}: at rest after a restart"), resumed, "s")
            .aim(Aim::Below(10.0))
            .point("cells", "at rest", at),
        Row::less(format!("{what}: processor time of the hub for that"), spent, "s"),
        Row::less(format!("{what}: writes to cells because of it"), written as f64, "").aim(Aim::Below(1.0)),
        Row::less(format!("{what}: RSS after a restart"), hub.rss_bytes().0 / 1e6, "MB").aim(Aim::Below(300.0)),
        Row::less(format!("{what}: one change, in {} cells", many.each), next, "ms"),
    ]
}

fn group(number: u64, groups: u64) -> String {
    format!("g{}", number % groups)
}

/// Writes every object, with something that only the hub gets to see.
async fn write(hub: &Server, count: u64, groups: u64, said: &'static str) {
    let client = hub.client(CLIENTS).await;
    let written = each(CLIENTS, count, move |worker, number| {
        let (client, name) = (client.clone(), format!("many-{number}"));
        let mut object = map(&name);
        object["metadata"]["labels"]["group"] = json!(group(number, groups));
        object["metadata"]["annotations"] = json!({ NOT_TAKEN: said });
        async move {
            let path = format!("{MAPS}/{name}?fieldManager=bench&force=true");
            client.body(worker, Method::PATCH, &path, object.to_string()).await;
        }
    });
    written.await;
}

/// Seconds from `began` until the server came to rest.
async fn rest(server: &Server, began: Instant) -> f64 {
    let (mut busy, mut spent, mut looked) = (Instant::now(), server.cpu_seconds(), Instant::now());
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let (now, used) = (Instant::now(), server.cpu_seconds());
        if (used - spent) / (now - looked).as_secs_f64() * 100.0 >= RESTING {
            busy = now;
        }
        (spent, looked) = (used, now);
        if now - busy >= RESTS_FOR {
            return (busy - began).as_secs_f64();
        }
        assert!(began.elapsed() < RESTS_MAX, "the server does not come to rest");
    }
}

/// What the server whose workspaces are cells was asked for, of ConfigMaps.
#[derive(Default)]
struct Numbers {
    requests: u64,
    /// Those that it did.
    writes: u64,
    /// Those that it did not do, for whatever reason.
    refused: u64,
}

async fn numbers(cells: &Server) -> Numbers {
    let client = cells.client(1).await;
    let text = client.body(0, Method::GET, "/metrics", String::new()).await;
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut numbers = Numbers::default();
    let about = |line: &&str| line.starts_with("apiserver_request_total{") && line.contains(r#"resource="configmaps""#);
    for line in text.lines().filter(about) {
        let count: u64 = line.rsplit(' ').next().and_then(|number| number.parse().ok()).expect("a number");
        numbers.requests += count;
        if ["GET", "LIST", "WATCH"].iter().any(|verb| line.contains(&format!(r#"verb="{verb}""#))) {
            continue;
        }
        if line.contains(r#"code="2"#) {
            numbers.writes += count;
        } else {
            eprintln!("  refused so far: {line}");
            numbers.refused += count;
        }
    }
    numbers
}

/// Milliseconds until a change is in the last of the cells it goes to.
async fn next_change(hub: &Server, cells: &[bench::kubeconfig::Access], groups: u64) -> f64 {
    let mut sights = Vec::new();
    for cell in cells.iter().step_by(groups as usize) {
        sights.push(Sight::of(cell, MAPS).await);
    }
    let client: Client = hub.client(1).await;
    let mut object = map("many-0");
    object["metadata"]["labels"]["group"] = json!(group(0, groups));
    object["metadata"]["annotations"] = json!({ "mark": "changed" });
    let began = Instant::now();
    let path = format!("{MAPS}/many-0?fieldManager=bench&force=true");
    client.body(0, Method::PATCH, &path, object.to_string()).await;
    let mut last = began;
    for sight in &sights {
        last = last.max(sight.when("many-0", |seen| seen.mark == "changed").await);
    }
    (last - began).as_secs_f64() * 1000.0
}
