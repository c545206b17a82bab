//! What it costs that workspaces are looked at: all kinds of many of them, and all of them by one watch.

use crate::SETTLE;
use crate::life::name;
use bench::client::Client;
use bench::hammer::each;
use bench::peers::Server;
use bench::table::Row;
use http::{Method, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::time::Instant;

/// As many as in the scale test that others have published.
const LISTERS: u64 = 24;
const WRITERS: u64 = 16;

/// Lists everything that can be listed in each of the first workspaces.
pub async fn list_everything(server: &Server, count: u64) -> Vec<Row> {
    let client = server.client(LISTERS).await;
    let before = server.rss_bytes().0;
    let kinds = listable(&client).await;
    let lists_each = kinds.len() as f64;
    let listed = each(LISTERS, count, move |worker, number| {
        let (client, kinds) = (client.clone(), kinds.clone());
        async move {
            for kind in kinds {
                client.length(worker, &format!("/clusters/root:{}{kind}", name(number))).await;
            }
        }
    });
    let rate = listed.await.per_second() * lists_each;
    tokio::time::sleep(SETTLE).await;
    let grown = (server.rss_bytes().0 - before) / 1000.0 / count as f64;
    vec![
        Row::more(format!("every kind listed in {count} workspaces"), rate, "lists/s"),
        Row::less(format!("every kind listed in {count} workspaces: RSS more for each"), grown.max(0.0), "KB"),
    ]
}

/// The paths of all collections that have a list, as the first workspace says.
async fn listable(client: &Client) -> Vec<String> {
    let inside = format!("/clusters/root:{}", name(0));
    let mut versions = vec!["/api/v1".to_owned()];
    let groups = get(client, &format!("{inside}/apis")).await;
    for group in groups["groups"].as_array().into_iter().flatten() {
        let preferred = group["preferredVersion"]["groupVersion"].as_str().expect("a version");
        versions.push(format!("/apis/{preferred}"));
    }
    let mut paths = Vec::new();
    for version in versions {
        let found = get(client, &format!("{inside}{version}")).await;
        for resource in found["resources"].as_array().into_iter().flatten() {
            let lists = resource["verbs"].as_array().into_iter().flatten().any(|verb| verb == "list");
            if lists {
                paths.push(format!("{version}/{}", resource["name"].as_str().expect("a name")));
            }
        }
    }
    paths
}

async fn get(client: &Client, path: &str) -> Value {
    serde_json::from_slice(&client.body(0, Method::GET, path, String::new()).await).expect("JSON")
}

/// One watch over all workspaces, while objects are written in different ones.
pub async fn watch_all(server: &Server, workspaces: u64, changes: u64) -> Vec<Row> {
    let (watcher, writer) = (server.client(1).await, server.client(WRITERS).await);
    let path = "/clusters/*/api/v1/configmaps?watch=true&labelSelector=bench%3Dyes";
    let mut answer = watcher.send(0, Method::GET, path, String::new()).await.expect("an answer");
    assert_eq!(answer.status(), StatusCode::OK, "a watch over all workspaces");
    let before = server.cpu_seconds();
    let start = Instant::now();
    let written = each(WRITERS, changes, move |worker, number| {
        let client = writer.clone();
        let path = format!("/clusters/root:{}/api/v1/namespaces/default/configmaps", name(number % workspaces));
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": format!("seen-{number}"), "labels": { "bench": "yes" } },
        });
        async move {
            client.body(worker, Method::POST, &path, object.to_string()).await;
        }
    });
    let seen = async {
        let mut seen = 0;
        while seen < changes {
            let frame = answer.frame().await.expect("the watch goes on").expect("a frame");
            seen += frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count() as u64);
        }
    };
    tokio::join!(written, seen);
    let what = format!("{changes} changes in {workspaces} workspaces, seen by one watch");
    vec![
        Row::more(what.clone(), changes as f64 / start.elapsed().as_secs_f64(), "/s"),
        Row::less(
            format!("{what}: processor time of each"),
            (server.cpu_seconds() - before) * 1e6 / changes as f64,
            "us",
        ),
    ]
}
