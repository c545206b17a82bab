//! What it costs that workspaces are looked at: all kinds of many of them.

use crate::SETTLE;
use crate::life::name;
use bench::client::Client;
use bench::hammer::each;
use bench::peers::Server;
use bench::table::Row;
use http::Method;
use serde_json::Value;

/// As many as in the scale test that others have published.
const LISTERS: u64 = 24;

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
