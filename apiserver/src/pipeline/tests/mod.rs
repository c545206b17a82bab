//! Requests, from their first byte to what is stored; no sockets.

mod apply;

use super::{Limits, Peer, pipeline};
use crate::ambient::Ambient;
use crate::api::Api;
use crate::auth::{TokenIssuer, User};
use crate::catalog::Catalog;
use crate::client::Client;
use crate::place::Workspace;
use crate::resources::Resources;
use axum::Router;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use storage::{Options, Place, Store};
use tower::ServiceExt;

/// A server with one namespace, whose clock goes on by a second whenever somebody looks at it.
struct World {
    router: Router,
}

/// When the clock of a world starts: 2001-09-09T01:46:40Z.
const START_SECS: i64 = 1_000_000_000;

impl World {
    async fn new() -> Self {
        let (seconds, chance) = (AtomicI64::new(START_SECS), AtomicU64::new(1));
        let now = move || Instant { seconds: seconds.fetch_add(1, Ordering::Relaxed), nanos: 0 };
        let ambient = Ambient::new(now, move || u128::from(chance.fetch_add(1, Ordering::Relaxed)) << 64);
        let store = Store::open(&Place::Memory, Options::default()).expect("a store in memory");
        let resources = Resources::new(store, Arc::new(Catalog::builtin()), ambient);
        let home = Workspace::new("home");
        let client = Client::as_system(resources.clone(), "test");
        let namespaces = client.at(("", "v1", "namespaces"), &home, None).expect("namespaces");
        client.ensure(&namespaces, json!({"metadata": {"name": "default"}})).await.expect("a namespace");
        let tokens = TokenIssuer::new("test", include_bytes!("private.pem"), include_bytes!("public.pem"));
        let find = move |_: Option<&str>| Some(home.clone());
        let api = Api::new(resources, Arc::new(find), tokens.expect("keys"), json!({}));
        Self { router: pipeline(api, Limits::default()) }
    }

    /// The code of the answer, and what it says.
    async fn send(&self, method: &str, path: &str, content_type: &str, body: String) -> (u16, Value) {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .header("User-Agent", "tester/1.0 (linux)")
            .extension(Peer(Some(User::system("test"))))
            .body(Body::from(body))
            .expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("an answer");
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn json(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(method, path, "application/json", body.to_string()).await
    }

    async fn merge(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/merge-patch+json", body.to_string()).await
    }

    async fn apply(&self, path: &str, body: &Value) -> (u16, Value) {
        self.send("PATCH", path, "application/apply-patch+yaml", body.to_string()).await
    }
}
