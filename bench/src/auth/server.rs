//! A server in memory that holds the roles, and one object to ask for.

use crate::ROLES;
use crate::rules::{binding, role};
use apiserver::ambient::Ambient;
use apiserver::api::Api;
use apiserver::auth::{MASTERS, TokenIssuer, User};
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::pipeline::{Limits, Peer, Pipeline, pipeline};
use apiserver::place::Workspace;
use apiserver::resources::Resources;
use axum::body::Body;
use http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use std::sync::Arc;
use storage::{Options, Place, Store};
use tower::ServiceExt;

/// Signs nothing here, but there is no server without one.
const PRIVATE: &str = include_str!("../../../apiserver/tests/api/key.pem");
const PUBLIC: &str = include_str!("../../../apiserver/tests/api/key.pub.pem");

pub struct Server {
    router: Pipeline,
}

pub fn master() -> User {
    User::authenticated("admin", vec![MASTERS.to_owned()])
}

impl Server {
    pub async fn new() -> Self {
        let store = Store::open(&Place::Memory, Options::default()).expect("a store");
        let resources = Resources::new(store, Arc::new(Catalog::builtin()), Ambient::real());
        let tokens = TokenIssuer::new("https://issuer", PRIVATE.as_bytes(), PUBLIC.as_bytes()).expect("a key");
        let home = |path: Option<&str>| path.is_none().then(|| Workspace::new("home"));
        let api = Api::new(resources.clone(), Arc::new(home), tokens, Arc::default(), None, json!({}));
        let client = Client::as_system(resources, "bench");
        make(&client, ("", "v1", "namespaces"), None, json!({ "metadata": { "name": "n" } })).await;
        make(&client, ("", "v1", "configmaps"), Some("n"), json!({ "metadata": { "name": "c" } })).await;
        for number in 0..ROLES {
            make(&client, ("rbac.authorization.k8s.io", "v1", "clusterroles"), None, role(number)).await;
            make(&client, ("rbac.authorization.k8s.io", "v1", "clusterrolebindings"), None, binding(number)).await;
        }
        Self { router: pipeline(api, Limits::default()) }
    }

    pub async fn get(&self, user: &User) {
        let request = Request::builder()
            .uri("/api/v1/namespaces/n/configmaps/c")
            .extension(Peer::user(user.clone()))
            .body(Body::empty())
            .expect("a request");
        let answer = self.router.clone().oneshot(request).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        answer.into_body().collect().await.expect("a body");
    }
}

async fn make(client: &Client, resource: (&str, &str, &str), namespace: Option<&str>, object: Value) {
    let place = client.at(resource, &Workspace::new("home"), namespace).expect("it is served");
    client.create(&place, object).await.expect("it is made");
}
