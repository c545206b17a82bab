//! API servers behind this one: what they are asked, what they are told of whoever asks, and what comes back.

use crate::stage::Stage;
use apiserver::auth::User;
use apiserver::pipeline::Peer;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

const REGISTRATIONS: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const FLUNDERS: &str = "/apis/wardle.example.com/v1/namespaces/n/flunders";

/// Says back what it was asked, and streams what the test sends.
struct Behind {
    port: u16,
    ca: String,
    asked: Arc<AtomicUsize>,
    events: mpsc::Sender<&'static str>,
}

fn told(request: &Request) -> Response {
    let headers = request.headers();
    let mut all = serde_json::Map::new();
    for name in headers.keys() {
        let values: Vec<&str> = headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        all.insert(name.to_string(), json!(values));
    }
    let path = request.uri().path_and_query().unwrap().to_string();
    let body = json!({ "method": request.method().as_str(), "path": path, "headers": all });
    let mut response = Response::new(Body::from(body.to_string()));
    response.headers_mut().insert("access-control-allow-origin", "*".parse().unwrap());
    response.headers_mut().insert("keep-alive", "5".parse().unwrap());
    if request.uri().path().ends_with("/moved") {
        *response.status_mut() = http::StatusCode::FOUND;
        response.headers_mut().insert("location", "https://elsewhere.example/".parse().unwrap());
    }
    response
}

impl Behind {
    async fn start() -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let params = rcgen::CertificateParams::new(vec!["api.n.svc".to_owned()]).unwrap();
        let cert = params.self_signed(&key).unwrap();
        let ca = format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(cert.der()));
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind("localhost:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, (events, taken)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel(4));
        let (acceptor, counted) = (TlsAcceptor::from(Arc::new(config)), asked.clone());
        let taken = Arc::new(tokio::sync::Mutex::new(taken));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let (counted, taken) = (counted.clone(), taken.clone());
                let answer = tower::service_fn(move |request: Request<hyper::body::Incoming>| {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let (request, taken) = (request.map(Body::new), taken.clone());
                    async move {
                        if !request.uri().query().unwrap_or_default().contains("watch=true") {
                            return Ok::<_, Infallible>(told(&request));
                        }
                        let events = futures_util::stream::unfold(taken, |taken| async move {
                            let event = taken.lock().await.recv().await?;
                            Some((Ok::<_, Infallible>(Bytes::from_static(event.as_bytes())), taken))
                        });
                        Ok(Response::new(Body::from_stream(events)))
                    }
                });
                let service = TowerToHyperService::new(answer);
                tokio::spawn(async move {
                    let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { port, ca, asked, events }
    }

    /// Registers it as the server of a group version.
    async fn register(&self, stage: &Stage, (group, version): (&str, &str), available: bool) {
        let ports = json!([{ "port": self.port }]);
        let service = json!({
            "metadata": { "name": "api" }, "spec": { "type": "ExternalName", "externalName": "localhost", "ports": ports },
        });
        stage.send("POST /api/v1/namespaces/n/services", &service).await;
        let name = format!("{version}.{group}");
        let spec = json!({
            "group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 15,
            "service": { "namespace": "n", "name": "api", "port": self.port }, "caBundle": STANDARD.encode(&self.ca),
        });
        let object = json!({ "metadata": { "name": name }, "spec": spec });
        let mut made = stage.send(&format!("POST {REGISTRATIONS}"), &object).await.expect(201);
        let status = if available { "True" } else { "False" };
        made["status"] = json!({ "conditions": [{ "type": "Available", "status": status }] });
        stage.send(&format!("PUT {REGISTRATIONS}/{name}/status"), &made).await.expect(200);
    }
}

async fn registered(available: bool) -> (Stage, Behind) {
    let (stage, behind) = (Stage::new().await, Behind::start().await);
    behind.register(&stage, ("wardle.example.com", "v1"), available).await;
    (stage, behind)
}

#[tokio::test]
async fn a_backend_is_told_who_asks_and_nothing_that_the_client_made_up() {
    let (stage, _behind) = registered(true).await;
    let request = Stage::request(&format!("GET {FLUNDERS}/a%3Ab?pretty=1"))
        .header("x-remote-user", "root")
        .header("x-remote-group", "system:masters-of-all")
        .header("x-remote-extra-scopes", "all")
        .header("authorization", "Bearer secret")
        .header("connection", "close, x-private")
        .header("x-private", "1");
    let answer = stage.answer(request.body(Body::empty()).unwrap()).await;
    assert_eq!((answer.header("keep-alive"), answer.header("access-control-allow-origin")), (None, None));
    let audit_id = answer.header("audit-id").unwrap().to_owned();
    let told = answer.expect(200);
    assert_eq!(told["path"], format!("{FLUNDERS}/a%3Ab?pretty=1"));
    let headers = &told["headers"];
    assert_eq!(headers["x-remote-user"], json!(["admin"]));
    assert_eq!(headers["x-remote-group"], json!(["system:masters", "system:authenticated"]));
    assert_eq!(headers["audit-id"], json!([audit_id]));
    for absent in ["authorization", "x-remote-extra-scopes", "x-private", "connection"] {
        assert_eq!(headers[absent], Value::Null, "{absent}");
    }
    let created = stage.send(&format!("POST {FLUNDERS}"), &json!({ "kind": "Flunder" })).await.expect(200);
    assert_eq!(created["method"], "POST");
}

#[tokio::test]
async fn nobody_reaches_a_backend_without_permission() {
    let (stage, behind) = registered(true).await;
    let eve = || Peer::user(User::authenticated("eve", Vec::new()));
    let paths = [FLUNDERS.to_owned(), format!("{FLUNDERS}/x/exec"), "/apis/wardle.example.com/v1".to_owned()];
    for (path, method) in paths.iter().flat_map(|path| ["GET", "POST", "PUT", "DELETE"].map(|method| (path, method))) {
        let request = Request::builder().method(method).uri(path).extension(eve());
        stage.answer(request.body(Body::empty()).unwrap()).await.refused(403);
    }
    assert_eq!(behind.asked.load(Ordering::SeqCst), 0);
    let (_, message) = {
        let request = Request::builder().uri(format!("{FLUNDERS}?watch=true")).extension(eve());
        stage.answer(request.body(Body::empty()).unwrap()).await.refused(403)
    };
    let expected = "User \"eve\" cannot watch resource \"flunders\" in API group \"wardle.example.com\"";
    assert!(message.contains(expected), "{message}");
}

#[tokio::test]
async fn a_path_that_can_be_read_in_two_ways_goes_nowhere() {
    let (stage, behind) = registered(true).await;
    for odd in ["a%2Fb", "%2e%2e", "..", "x//y", "a%252Fb"] {
        stage.ask(&format!("GET /apis/wardle.example.com/v1/namespaces/{odd}/flunders")).await.refused(404);
    }
    assert_eq!(behind.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_backend_that_is_gone_or_sends_clients_away_is_an_error_with_a_status() {
    let (stage, behind) = registered(false).await;
    let (reason, message) = stage.ask(&format!("GET {FLUNDERS}")).await.refused(503);
    assert_eq!((&*reason, &*message), ("ServiceUnavailable", "service unavailable"));
    assert_eq!(behind.asked.load(Ordering::SeqCst), 0);
    let (stage, _behind) = registered(true).await;
    let (_, message) = stage.ask(&format!("GET {FLUNDERS}/moved")).await.refused(502);
    assert!(message.contains("attempted to redirect"), "{message}");
}

#[tokio::test]
async fn what_is_built_in_cannot_be_taken_away() {
    let (stage, behind) = (Stage::new().await, Behind::start().await);
    behind.register(&stage, ("apps", "v1"), true).await;
    let list = stage.ask("GET /apis/apps/v1/namespaces/n/deployments").await.expect(200);
    assert_eq!(list["kind"], "DeploymentList");
    assert_eq!(behind.asked.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_watch_is_passed_on_event_by_event() {
    let (stage, behind) = registered(true).await;
    let mut body = stage.stream(&format!("GET {FLUNDERS}?watch=true")).await.into_body();
    for event in ["one", "two"] {
        behind.events.send(event).await.unwrap();
        let frame = body.frame().await.unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), event.as_bytes());
    }
}

#[tokio::test]
async fn discovery_tells_of_what_others_serve() {
    let (stage, _behind) = registered(false).await;
    let groups = stage.ask("GET /apis").await.expect(200);
    let found = groups["groups"].as_array().unwrap().iter().find(|group| group["name"] == "wardle.example.com");
    assert_eq!(found.unwrap()["preferredVersion"]["groupVersion"], "wardle.example.com/v1");
    let group = stage.ask("GET /apis/wardle.example.com").await.expect(200);
    assert_eq!((&group["kind"], &group["versions"][0]["version"]), (&json!("APIGroup"), &json!("v1")));
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let all = stage.ask_for("GET /apis", accept).await.expect(200);
    let mut items = all["items"].as_array().unwrap().iter();
    let found = items.find(|group| group["metadata"]["name"] == "wardle.example.com").unwrap();
    assert_eq!(found["versions"][0]["freshness"], "Stale");
}
