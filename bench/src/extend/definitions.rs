//! Definitions of custom resources: how fast they come to be served, and what they weigh.

use crate::Plan;
use bench::client::Client;
use bench::hammer::each;
use bench::peers::Server;
use bench::table::Row;
use http::{Method, StatusCode};
use serde_json::{Map, Value, json};
use std::time::Duration;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Clients that install definitions, each waiting until one is served before the next.
const INSTALLERS: u64 = 8;
const FIELDS: u64 = 100;
/// How often a server is asked whether it serves a definition.
const ASK_EVERY: Duration = Duration::from_millis(20);
/// What has just been written to has things to do that are not for any client.
const SETTLE: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Every schema has fields and rules of its own.
    Distinct,
    /// One schema under many names.
    Identical,
}

/// A schema with a hundred fields and three rules. Names of fields have the number in them.
fn schema(number: u64) -> Value {
    let name = |field: u64| format!("field{number}x{field}");
    let field = |field: u64| match field % 4 {
        0 => json!({ "type": "string", "maxLength": 64, "description": "What it is called." }),
        1 => json!({ "type": "integer", "minimum": 0, "description": "How many there are." }),
        2 => json!({ "type": "boolean" }),
        _ => json!({ "type": "array", "maxItems": 8, "items": { "type": "string", "maxLength": 32 } }),
    };
    let fields: Map<String, Value> = (0..FIELDS).map(|nth| (name(nth), field(nth))).collect();
    let rules = json!([
        { "rule": format!("self.{} != 'bad'", name(0)), "message": "is not bad" },
        { "rule": format!("self.{} <= self.{}", name(1), name(5)) },
        { "rule": format!("self.{}.all(word, word.size() > 0)", name(3)) },
    ]);
    json!({ "type": "object", "properties": {
        "spec": { "type": "object", "properties": fields, "x-kubernetes-validations": rules },
    } })
}

/// A definition by this name, whose schema is that of the number.
pub fn definition(plural: &str, number: u64) -> String {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.bench.example.com") },
        "spec": {
            "group": "bench.example.com", "scope": "Namespaced",
            "names": { "plural": plural, "singular": plural, "kind": plural, "listKind": format!("{plural}list") },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema(number) },
            }],
        },
    })
    .to_string()
}

/// Creates a definition, and waits until objects of it can be listed.
pub async fn serve(client: &Client, installer: u64, plural: &str, number: u64) {
    client.body(installer, Method::POST, DEFINITIONS, definition(plural, number)).await;
    let path = format!("/apis/bench.example.com/v1/{plural}");
    while client.status(&path).await.expect("an answer") != StatusCode::OK {
        tokio::time::sleep(ASK_EVERY).await;
    }
}

pub async fn install(plan: &Plan, server: &Server, kind: Kind) -> Vec<Row> {
    let client = server.client(INSTALLERS).await;
    let weight = |server: &Server| server.rss_bytes().0 / 1e6;
    tokio::time::sleep(SETTLE).await;
    let (before, count) = (weight(server), plan.definitions);
    let installed = each(INSTALLERS, count, move |installer, number| {
        let client = client.clone();
        let (plural, schema) = match kind {
            Kind::Distinct => (format!("distinct{number}s"), number + 1),
            Kind::Identical => (format!("identical{number}s"), 0),
        };
        async move { serve(&client, installer, &plural, schema).await }
    });
    let rate = installed.await.per_second();
    tokio::time::sleep(SETTLE).await;
    let what = if kind == Kind::Distinct { "distinct" } else { "identical" };
    let each = (weight(server) - before) * 1000.0 / count as f64;
    vec![
        Row::more(format!("{count} {what} definitions: installed and served"), rate, "/s"),
        Row::less(format!("{count} {what} definitions: RSS of each, etcd left out"), each.max(0.1), "KB"),
    ]
}
