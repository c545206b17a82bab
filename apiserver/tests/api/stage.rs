//! A server in memory, and a client that says what it wants in one line.

use apiserver::ambient::Ambient;
use apiserver::api::Api;
use apiserver::attend::Nobody;
use apiserver::audit::Audit;
use apiserver::auth::{Elsewhere, TokenIssuer, User};
use apiserver::authn::Authentication;
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::keyspace;
use apiserver::pipeline::{Limits, Peer, Pipeline, pipeline};
use apiserver::place::Workspace;
use apiserver::resources::Resources;
use axum::body::Body;
use http::{HeaderMap, Request};
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use storage::{Options, Place, Store};
use tokio::io::DuplexStream;
use tower::ServiceExt;

/// Makes numbers that follow each other look unlike.
const SPREAD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;

/// A key that signs nothing but the tokens of tests.
const PRIVATE: &str = include_str!("key.pem");
const PUBLIC: &str = include_str!("key.pub.pem");

pub(crate) struct Stage {
    pub(crate) api: Api,
    pub(crate) store: Store,
    router: Pipeline,
}

pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn tree(&self) -> Value {
        serde_json::from_slice(&self.bytes)
            .unwrap_or_else(|error| panic!("{} {error}: {}", self.code, String::from_utf8_lossy(&self.bytes)))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The tree of an answer that must have this code.
    #[track_caller]
    pub(crate) fn expect(self, code: u16) -> Value {
        assert_eq!(self.code, code, "{}", String::from_utf8_lossy(&self.bytes));
        self.tree()
    }

    /// The reason and message of a refusal that must have this code.
    #[track_caller]
    pub(crate) fn refused(self, code: u16) -> (String, String) {
        let status = self.expect(code);
        assert_eq!((&status["kind"], &status["status"]), (&json!("Status"), &json!("Failure")));
        let word = |field: &str| status[field].as_str().unwrap_or_default().to_owned();
        (word("reason"), word("message"))
    }
}

impl Stage {
    /// A server with the namespace `n` and its default account.
    pub(crate) async fn new() -> Self {
        Self::with_given(&[]).await
    }

    /// The same with somebody who vouches for clients.
    pub(crate) async fn vouched(authentication: Authentication) -> Self {
        Self::with(&[], authentication, None, None).await
    }

    /// The same with a record of what is done.
    pub(crate) async fn audited(audit: Audit) -> Self {
        Self::with(&[], Authentication::default(), Some(audit), None).await
    }

    /// The same with kinds that came with it.
    pub(crate) async fn with_given(definitions: &[Value]) -> Self {
        Self::with(definitions, Authentication::default(), None, None).await
    }

    /// The same with others who decide what people may do.
    pub(crate) async fn consulting(
        definitions: &[Value],
        authentication: Authentication,
        elsewhere: Arc<dyn Elsewhere>,
    ) -> Self {
        Self::with(definitions, authentication, None, Some(elsewhere)).await
    }

    async fn with(
        definitions: &[Value],
        authentication: Authentication,
        audit: Option<Audit>,
        elsewhere: Option<Arc<dyn Elsewhere>>,
    ) -> Self {
        let definitions = definitions.iter().cloned().map(|definition| definition.try_into().unwrap());
        let catalog = Arc::new(Catalog::given(&Arc::new(Catalog::builtin()), definitions));
        let counted = Options { share_of: Some(keyspace::owner), ..Options::default() };
        let store = Store::open(&Place::Memory, counted).unwrap();
        let chance = AtomicU64::new(1);
        let ambient = Ambient::new(
            || Instant { seconds: 1_800_000_000, nanos: 0 },
            move || u128::from(chance.fetch_add(1, Ordering::Relaxed)).wrapping_mul(SPREAD),
        );
        let resources = Resources::consulting(store.clone(), catalog, ambient, Arc::new(Nobody), elsewhere);
        let tokens = TokenIssuer::new("https://issuer", PRIVATE.as_bytes(), PUBLIC.as_bytes()).unwrap();
        let find = |path: Option<&str>| match path {
            None => Some(Workspace::new("home")),
            Some("other") => Some(Workspace::new("other")),
            Some(_) => None,
        };
        let api = Api::new(
            resources.clone(),
            Arc::new(find),
            tokens,
            Arc::new(authentication),
            audit,
            json!({ "gitVersion": "v1.37.1" }),
        );
        let client = Client::as_system(resources, "test");
        let namespaces = client.at(("", "v1", "namespaces"), &Workspace::new("home"), None).unwrap();
        client.ensure(&namespaces, json!({ "metadata": { "name": "n" } })).await.unwrap();
        let accounts = client.at(("", "v1", "serviceaccounts"), &Workspace::new("home"), Some("n")).unwrap();
        client.ensure(&accounts, json!({ "metadata": { "name": "default" } })).await.unwrap();
        let router = pipeline(api.clone(), Limits::default());
        Self { api, store, router }
    }

    pub(crate) fn request(line: &str) -> http::request::Builder {
        let (method, uri) = line.split_once(' ').unwrap();
        let admin = User::authenticated("admin", vec!["system:masters".to_owned()]);
        Request::builder().method(method).uri(uri).extension(Peer::user(admin))
    }

    pub(crate) async fn answer(&self, request: Request<Body>) -> Answer {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes().to_vec();
        Answer { code: parts.status.as_u16(), headers: parts.headers, bytes }
    }

    /// The answer while it is still being written.
    pub(crate) async fn stream(&self, line: &str) -> http::Response<Body> {
        self.router.clone().oneshot(Self::request(line).body(Body::empty()).unwrap()).await.unwrap()
    }

    /// A connection of the administrator, on which nothing has been said yet.
    pub(crate) fn connect(&self) -> DuplexStream {
        let (client, server) = tokio::io::duplex(1 << 16);
        let admin = Peer::user(User::authenticated("admin", vec!["system:masters".to_owned()]));
        let named = self.router.clone().map_request(move |request: Request<hyper::body::Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(admin.clone());
            request
        });
        tokio::spawn(async move {
            let (builder, service) = (Builder::new(TokioExecutor::new()), TowerToHyperService::new(named));
            builder.serve_connection_with_upgrades(TokioIo::new(server), service).await
        });
        client
    }

    /// `GET /api/v1/...`
    pub(crate) async fn ask(&self, line: &str) -> Answer {
        self.answer(Self::request(line).body(Body::empty()).unwrap()).await
    }

    /// The same with a form of answer in mind.
    pub(crate) async fn ask_for(&self, line: &str, accept: &str) -> Answer {
        self.answer(Self::request(line).header("accept", accept).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn send(&self, line: &str, body: &Value) -> Answer {
        self.send_as(line, "application/json", body.to_string()).await
    }

    pub(crate) async fn send_as(&self, line: &str, content_type: &str, body: impl Into<Body>) -> Answer {
        self.answer(Self::request(line).header("content-type", content_type).body(body.into()).unwrap()).await
    }

    /// A configmap in `n`.
    pub(crate) async fn configmap(&self, name: &str, labels: Value) -> Value {
        let object = json!({ "metadata": { "name": name, "labels": labels }, "data": { "k": "v" } });
        self.send("POST /api/v1/namespaces/n/configmaps", &object).await.expect(201)
    }
}

pub(crate) const CONFIGMAPS: &str = "/api/v1/namespaces/n/configmaps";
