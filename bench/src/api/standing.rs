//! A server that holds many objects: filling it, what it weighs before and after, and lists of a part of it.

use crate::Plan;
use crate::objects::{collection, create};
use bench::hammer::{each, hammer};
use bench::peers::{Peer, Server};
use bench::table::{Aim, Row};
use http::Method;
use serde_json::Value;
use std::time::Duration;

/// How many objects share a namespace, and so how many a list returns.
pub const LISTED: u64 = 10_000;
const PAGE: u64 = 500;
const FILLERS: u64 = 64;
/// What has just been started or written to has things to do that are not for any client.
const SETTLE: Duration = Duration::from_secs(5);

/// The namespace of an object of this number.
pub fn namespace(number: u64) -> String {
    format!("standing-{}", number / LISTED)
}

pub fn namespaces(plan: &Plan) -> impl Iterator<Item = String> {
    (0..plan.objects).step_by(LISTED as usize).map(namespace)
}

pub async fn idle(server: &Server) -> Vec<Row> {
    let mut rows = vec![Row::less("exec to ready", server.ready.as_secs_f64(), "s").aim(Aim::Below(1.0))];
    tokio::time::sleep(SETTLE).await;
    rows.extend(memory(server, "idle"));
    rows
}

/// Creates objects 0 to `plan.objects`.
pub async fn fill(plan: &Plan, server: &Server) -> Vec<Row> {
    let client = server.client(FILLERS).await;
    let objects = plan.objects;
    let created = each(FILLERS, objects, move |filler, number| {
        let client = client.clone();
        async move { create(&client, filler, &namespace(number), number).await }
    });
    let rate = created.await.per_second();
    tokio::time::sleep(SETTLE).await;
    let mut rows = vec![Row::more(format!("{objects} objects: created by {FILLERS} clients"), rate, "/s")];
    rows.extend(memory(server, &format!("{objects} objects")));
    rows
}

fn memory(server: &Server, when: &str) -> Vec<Row> {
    let (itself, etcd) = server.rss_bytes();
    let mut rows = vec![
        Row::less(format!("{when}: RSS, etcd included"), (itself + etcd) / 1e6, "MB").aim(Aim::Times(10.0)),
        Row::less(format!("{when}: RSS, etcd left out"), itself / 1e6, "MB"),
    ];
    if server.peer == Peer::Kube {
        rows.push(Row::less(format!("{when}: RSS of etcd"), etcd / 1e6, "MB"));
    }
    rows
}

/// Whole lists by one client after the other, then the same in pages.
pub async fn lists(plan: &Plan, server: &Server) -> Vec<Row> {
    let client = server.client(1).await;
    let path = collection(&namespace(0));
    let first = client.body(0, Method::GET, &path, String::new()).await;
    let list: Value = serde_json::from_slice(&first).expect("a list");
    let items = list["items"].as_array().map_or(0, Vec::len);
    assert!(items as u64 >= LISTED, "{items} of {LISTED} objects are listed");
    let before = server.cpu_seconds();
    let whole = hammer(1, plan.seconds, {
        let (client, path) = (client.clone(), path.clone());
        move |_, _| {
            let (client, path) = (client.clone(), path.clone());
            async move { assert!(client.length(0, &path).await > 0) }
        }
    })
    .await;
    let each_ms = (server.cpu_seconds() - before) * 1e3 / whole.count() as f64;
    let name = |what: &str| format!("list of {LISTED}: {what}");
    let lists = whole.per_second();
    vec![
        Row::more(name("objects"), lists * items as f64, "objects/s").aim(Aim::Times(10.0)),
        Row::more(name("bytes"), lists * first.len() as f64 / 1e6, "MB/s"),
        Row::less(name("p50"), whole.percentile_ms(50.0), "ms"),
        Row::less(name("the server's processor time for one"), each_ms, "ms"),
        Row::less(name("one object"), first.len() as f64 / items as f64, "B"),
    ]
}

pub async fn pages(plan: &Plan, server: &Server) -> Vec<Row> {
    let (client, before) = (server.client(1).await, server.cpu_seconds());
    let paged = hammer(1, plan.seconds, move |_, _| {
        let client = client.clone();
        async move {
            let mut token = Some(String::new());
            while let Some(so_far) = token {
                let path = format!("{}?limit={PAGE}&continue={so_far}", collection(&namespace(0)));
                token = next_page(&client.body(0, Method::GET, &path, String::new()).await);
            }
        }
    })
    .await;
    let each_ms = (server.cpu_seconds() - before) * 1e3 / paged.count() as f64;
    let name = |what: &str| format!("list of {LISTED} in pages of {PAGE}: {what}");
    vec![
        Row::more(name("objects"), paged.per_second() * LISTED as f64, "objects/s").aim(Aim::Times(10.0)),
        Row::less(name("p50"), paged.percentile_ms(50.0), "ms"),
        Row::less(name("the server's processor time for all"), each_ms, "ms"),
    ]
}

/// Found in the list's metadata, which comes before the items or after them: no object here has such a field.
fn next_page(page: &[u8]) -> Option<String> {
    const FIELD: &str = r#""continue":""#;
    let page = std::str::from_utf8(page).expect("text");
    let near = 1024.min(page.len());
    let (head, tail) = (&page[..near], &page[page.len() - near..]);
    let token = |part: &str| part.split_once(FIELD).and_then(|(_, after)| after.split('"').next().map(str::to_owned));
    token(head).or_else(|| token(tail)).filter(|token| !token.is_empty())
}
