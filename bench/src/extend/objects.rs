//! Creations of a custom resource that has a hundred fields and three rules.

use crate::Plan;
use crate::definitions::serve;
use bench::hammer::hammer;
use bench::peers::Server;
use bench::table::Row;
use http::Method;
use serde_json::{Map, Value, json};

const CLIENTS: u64 = 32;
const PLURAL: &str = "things";

/// An object with all of its hundred fields.
pub fn object(number: u64) -> String {
    let value = |field: u64| match field % 4 {
        0 => json!(bench::text::cut(number + field, 16)),
        1 => json!(field),
        2 => json!(field % 8 == 2),
        _ => json!(["one", "two"]),
    };
    let spec: Map<String, Value> = (0..100).map(|field| (format!("field0x{field}"), value(field))).collect();
    let name = format!("the-name-of-a-thing-{number:012}");
    let (version, kind) = ("bench.example.com/v1", PLURAL);
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": name }, "spec": spec }).to_string()
}

pub async fn creates(plan: &Plan, server: &Server) -> Vec<Row> {
    let client = server.client(CLIENTS).await;
    serve(&client, 0, PLURAL, 0).await;
    let run = async |seconds, warm_up: u64| {
        let client = client.clone();
        hammer(CLIENTS, seconds, move |worker, round| {
            let client = client.clone();
            let number = ((warm_up * CLIENTS + worker) << 20) + round;
            async move {
                let path = format!("/apis/bench.example.com/v1/namespaces/bench/{PLURAL}");
                client.body(worker, Method::POST, &path, object(number)).await;
            }
        })
        .await
    };
    run(plan.warm_up_seconds, 1).await;
    let timings = run(plan.seconds, 0).await;
    timings.rows(&format!("creates of a custom resource, 100 fields, 3 rules, {CLIENTS} clients"))
}
