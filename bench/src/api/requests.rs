//! Creations, reads and updates of single objects, by clients that each wait for their answer.

use crate::Plan;
use crate::objects::{collection, create, name, object, resource_version};
use crate::standing;
use bench::hammer::{Timings, hammer};
use bench::peers::Server;
use bench::table::{Aim, Row};
use http::Method;
use std::sync::Arc;
use tokio::sync::Mutex;

const CREATORS: [u64; 3] = [1, 32, 128];
const CLIENTS: u64 = 32;
pub const CREATED: &str = "created";
pub const UPDATED: &str = "updated";

pub async fn creates(plan: &Plan, server: &Server) -> Vec<Row> {
    let mut rows = Vec::new();
    for creators in CREATORS {
        let client = server.client(creators).await;
        let run = async |seconds, warm_up: u64| {
            let client = client.clone();
            hammer(creators, seconds, move |worker, round| {
                let client = client.clone();
                let number = (((creators * 2 + warm_up) * 200 + worker) << 20) + round;
                async move { create(&client, worker, CREATED, number).await }
            })
            .await
        };
        run(plan.warm_up_seconds, 1).await;
        let timings = run(plan.seconds, 0).await;
        let aim = (creators == 128).then_some(Aim::Times(5.0));
        rows.extend(with_aim(&timings, &format!("durable creates, {creators} clients"), aim));
    }
    rows
}

pub async fn gets(plan: &Plan, server: &Server) -> Vec<Row> {
    let client = server.client(CLIENTS).await;
    let objects = plan.objects;
    let run = async |seconds| {
        let client = client.clone();
        hammer(CLIENTS, seconds, move |worker, round| {
            let client = client.clone();
            let number = (round * CLIENTS + worker).wrapping_mul(0x9e37_79b9_7f4a_7c15) % objects;
            let path = format!("{}/{}", collection(&standing::namespace(number)), name(number));
            async move {
                client.body(worker, Method::GET, &path, String::new()).await;
            }
        })
        .await
    };
    run(plan.warm_up_seconds).await;
    let before = server.cpu_seconds();
    let timings = run(plan.seconds).await;
    let each_us = (server.cpu_seconds() - before) * 1e6 / timings.count() as f64;
    let what = format!("gets, {CLIENTS} clients");
    let mut rows = with_aim(&timings, &what, Some(Aim::Times(10.0)));
    rows.push(Row::less(format!("{what}: the server's processor time for one"), each_us, "us"));
    rows
}

/// Each client replaces an object of its own, over and over, saying which version it replaces.
pub async fn updates(plan: &Plan, server: &Server) -> Vec<Row> {
    let client = server.client(CLIENTS).await;
    let mut versions = Vec::new();
    for worker in 0..CLIENTS {
        let answer = client.body(worker, Method::POST, &collection(UPDATED), object(worker, worker, "")).await;
        versions.push(Mutex::new(resource_version(&answer)));
    }
    let versions = Arc::new(versions);
    let run = async |seconds, first_seed: u64| {
        let (client, versions) = (client.clone(), versions.clone());
        hammer(CLIENTS, seconds, move |worker, round| {
            let (client, versions) = (client.clone(), versions.clone());
            async move {
                let mut version = versions[worker as usize].lock().await;
                let path = format!("{}/{}", collection(UPDATED), name(worker));
                let body = object(worker, first_seed + round * CLIENTS + worker, &version);
                *version = resource_version(&client.body(worker, Method::PUT, &path, body).await);
            }
        })
        .await
    };
    run(plan.warm_up_seconds, 1 << 20).await;
    run(plan.seconds, 1 << 30).await.rows(&format!("updates, {CLIENTS} clients"))
}

/// The aim is for the rate.
fn with_aim(timings: &Timings, what: &str, aim: Option<Aim>) -> Vec<Row> {
    let mut rows = timings.rows(what);
    rows[0].aim = aim;
    rows
}
