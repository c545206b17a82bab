//! The ConfigMaps that everybody gets, and where they live.

use bench::client::Client;
use http::Method;

pub const DATA_BYTES: usize = 1024;

/// Long before they are measured: what a server puts into a new namespace of its own accord is no event of ours.
pub async fn make_namespaces(client: &Client, names: impl Iterator<Item = String>) {
    for name in names {
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{name}"}}}}"#);
        client.body(0, Method::POST, "/api/v1/namespaces", body).await;
    }
}

pub fn collection(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

pub fn name(number: u64) -> String {
    format!("the-name-of-a-thing-{number:012}")
}

/// A ConfigMap with `DATA_BYTES` of data, which differ with `seed`.
pub fn object(number: u64, seed: u64, resource_version: &str) -> String {
    let (name, data) = (name(number), bench::text::cut(seed, DATA_BYTES));
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","resourceVersion":"{resource_version}"}},"data":{{"text":"{data}"}}}}"#
    )
}

pub async fn create(client: &Client, as_client: u64, namespace: &str, number: u64) {
    client.body(as_client, Method::POST, &collection(namespace), object(number, number, "")).await;
}

/// Found, not parsed: the client shares the processor with what it measures.
pub fn resource_version(answer: &[u8]) -> String {
    const FIELD: &str = r#""resourceVersion":""#;
    let answer = std::str::from_utf8(answer).expect("text");
    let from = answer.find(FIELD).expect("a resourceVersion") + FIELD.len();
    answer[from..].split('"').next().unwrap_or_default().to_owned()
}
