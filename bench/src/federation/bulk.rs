//! How many objects go at a time.

use crate::latency::{deployment, map};
use crate::sight::{Seen, Sight};
use crate::stage::{DEPLOYMENTS, MAPS, Stage};
use bench::client::Client;
use bench::hammer::each;
use bench::kubeconfig::Access;
use bench::table::{Aim, Row};
use http::Method;
use serde_json::Value;
use std::time::Instant;

/// Clients that create.
const CLIENTS: u64 = 32;
/// Clients that apply to one cell by themselves: as many requests as a hub has under way to one.
const APPLYING: u64 = 64;
/// What is divided among the cells of a deployment.
const REPLICAS: i64 = 10;

/// ConfigMaps to every cell, and back out of them.
pub async fn maps(stage: &Stage, count: u64) -> Vec<Row> {
    let limit = limit_of_cells(stage, count).await;
    let made = |number: u64| map(&format!("bulk-{number}"));
    let (created, everywhere, gone) = there_and_back(stage, MAPS, count, made, |_| true).await;
    let what = format!("{}: {count} ConfigMaps", stage.name);
    let applied = Row::more(format!("{what}: created to all applied"), count as f64 / everywhere, "objects/s");
    let applied = if stage.cells.len() == 2 { applied.aim(Aim::Above(1000.0)) } else { applied };
    vec![
        Row::more(format!("{what}: created"), count as f64 / created, "objects/s"),
        applied,
        Row::more(format!("{what}: copies"), (count * stage.cells.len() as u64) as f64 / everywhere, "copies/s"),
        Row::more(
            format!("{what}: applied by a client itself, to all cells at once"),
            count as f64 / limit,
            "objects/s",
        ),
        Row::more(format!("{what}: deleted to all gone"), count as f64 / gone, "objects/s"),
    ]
}

pub async fn deployments(stage: &Stage, count: u64) -> Vec<Row> {
    let share = REPLICAS / i64::try_from(stage.cells.len()).expect("a few cells");
    let made = |number: u64| deployment(&format!("bulk-{number}"), REPLICAS);
    let (_, everywhere, _) = there_and_back(stage, DEPLOYMENTS, count, made, |seen| seen.replicas == share).await;
    let what = format!("{}: {count} Deployments, divided: created to all applied", stage.name);
    vec![Row::more(what, count as f64 / everywhere, "objects/s")]
}

/// Seconds until all were created, were in all cells, and from their deletion until they were gone everywhere.
async fn there_and_back(
    stage: &Stage,
    collection: &'static str,
    count: u64,
    made: impl Fn(u64) -> Value + Clone + Send + Sync + 'static,
    is_right: impl Fn(&Seen) -> bool + Copy,
) -> (f64, f64, f64) {
    let hub = Client::connect(&stage.hub, CLIENTS).await.expect("a connection");
    let mut sights = Vec::new();
    for cell in stage.cells.iter().chain([&stage.hub]) {
        sights.push(Sight::of(cell, collection).await);
    }
    let ours = |name: &str| name.starts_with("bulk-");
    let began = Instant::now();
    let creating = {
        let hub = hub.clone();
        each(CLIENTS, count, move |worker, number| {
            let (hub, object) = (hub.clone(), made(number).to_string());
            async move {
                hub.body(worker, Method::POST, collection, object).await;
            }
        })
    };
    creating.await;
    let created = began.elapsed();
    for sight in &sights[..stage.cells.len()] {
        sight.all(count, |name, seen| ours(name) && seen.is_there && is_right(seen)).await;
    }
    let everywhere = began.elapsed();
    let began = Instant::now();
    let deleting = each(CLIENTS, count, move |worker, number| {
        let (hub, path) = (hub.clone(), format!("{collection}/bulk-{number}"));
        async move {
            hub.body(worker, Method::DELETE, &path, String::new()).await;
        }
    });
    deleting.await;
    for sight in &sights {
        sight.all(count, |name, seen| ours(name) && !seen.is_there).await;
    }
    (created.as_secs_f64(), everywhere.as_secs_f64(), began.elapsed().as_secs_f64())
}

/// Seconds that a client takes to apply as much to all cells by itself.
async fn limit_of_cells(stage: &Stage, count: u64) -> f64 {
    let began = Instant::now();
    let applying: Vec<_> = stage.cells.iter().map(|cell| tokio::spawn(apply_all(cell.clone(), count))).collect();
    for task in applying {
        task.await.expect("applied");
    }
    let took = began.elapsed().as_secs_f64();
    for cell in &stage.cells {
        let client = Client::open(cell, 1).await.expect("a connection");
        client.body(0, Method::DELETE, &format!("{MAPS}?labelSelector=direct%3Dyes"), String::new()).await;
    }
    took
}

async fn apply_all(cell: Access, count: u64) {
    let client = Client::connect(&cell, APPLYING).await.expect("a connection");
    let applied = each(APPLYING, count, move |worker, number| {
        let (client, name) = (client.clone(), format!("direct-{number}"));
        let mut object = map(&name);
        object["metadata"]["labels"] = serde_json::json!({ "direct": "yes" });
        async move {
            let path = format!("{MAPS}/{name}?fieldManager=bench&force=true");
            client.body(worker, Method::PATCH, &path, object.to_string()).await;
        }
    });
    applied.await;
}
