//! An API server behind the one that is tested, on a port of this machine: it says back what it was asked, streams what
//! the test sends, and repeats what it hears on connections that were upgraded.

use crate::stage::Stage;
use apiserver::place::Workspace;
use apiserver::relay::Present;
use apiserver::trust::Certificate;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::StatusCode;
use http::header::{CONNECTION, UPGRADE};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use tokio_rustls::server::TlsStream;

pub(crate) const REGISTRATIONS: &str = "/apis/apiregistration.k8s.io/v1/apiservices";
const SERVICES: &str = "POST /api/v1/namespaces/n/services";

pub(crate) struct Behind {
    pub(crate) port: u16,
    pub(crate) asked: Arc<AtomicUsize>,
    pub(crate) events: mpsc::Sender<&'static str>,
    /// Issues what it recognises its front proxy by.
    pub(crate) authority: Arc<Proxies>,
    ca: String,
}

/// The authority of front proxies.
pub(crate) struct Proxies {
    issuer: Issuer<'static, KeyPair>,
    cert: rcgen::Certificate,
}

fn pem(kind: &str, der: &[u8]) -> String {
    format!("-----BEGIN {kind}-----\n{}\n-----END {kind}-----\n", STANDARD.encode(der))
}

impl Proxies {
    fn new() -> Self {
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let cert = params.self_signed(&key).unwrap();
        Self { issuer: Issuer::new(params, key), cert }
    }
}

impl Present for Proxies {
    fn certificate(&self, workspace: &Workspace) -> Result<Certificate, String> {
        let (key, mut params) = (KeyPair::generate().unwrap(), CertificateParams::new(Vec::new()).unwrap());
        params.distinguished_name.push(DnType::CommonName, format!("proxy of {workspace}"));
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        let (chain_pem, key_pem) = (pem("CERTIFICATE", cert.der()), pem("PRIVATE KEY", &key.serialize_der()));
        Ok(Certificate { chain_pem: chain_pem.into_bytes(), key_pem: key_pem.into_bytes() })
    }
}

/// One connection: whose it is, and what is shared by all.
#[derive(Clone)]
struct Serving {
    shown: Option<String>,
    asked: Arc<AtomicUsize>,
    events: Arc<Mutex<mpsc::Receiver<&'static str>>>,
}

impl Serving {
    async fn answer(self, mut request: Request) -> Result<Response, Infallible> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(protocol) = request.headers().get(UPGRADE).cloned() {
            let upgraded = hyper::upgrade::on(&mut request);
            tokio::spawn(async move {
                let (mut from, mut to) = tokio::io::split(TokioIo::new(upgraded.await.unwrap()));
                tokio::io::copy(&mut from, &mut to).await
            });
            let agreed = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
            let agreed = agreed.header(CONNECTION, "Upgrade").header(UPGRADE, protocol);
            return Ok(agreed.body(Body::empty()).unwrap());
        }
        if !request.uri().query().unwrap_or_default().contains("watch=true") {
            return Ok(told(request, self.shown).await);
        }
        let events = futures_util::stream::unfold(self.events, |taken| async move {
            let event = taken.lock().await.recv().await?;
            Some((Ok::<_, Infallible>(Bytes::from_static(event.as_bytes())), taken))
        });
        Ok(Response::new(Body::from_stream(events)))
    }
}

async fn told(request: Request, shown: Option<String>) -> Response {
    let (parts, body) = request.into_parts();
    let mut all = serde_json::Map::new();
    for name in parts.headers.keys() {
        let values: Vec<&str> = parts.headers.get_all(name).iter().map(|value| value.to_str().unwrap()).collect();
        all.insert(name.to_string(), json!(values));
    }
    let path = parts.uri.path_and_query().unwrap().to_string();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let told = json!({
        "method": parts.method.as_str(), "path": path, "headers": all, "shown": shown,
        "body": String::from_utf8_lossy(&body),
    });
    let mut response = Response::new(Body::from(told.to_string()));
    response.headers_mut().insert("access-control-allow-origin", "*".parse().unwrap());
    response.headers_mut().insert("keep-alive", "5".parse().unwrap());
    if parts.uri.path().ends_with("/moved") {
        *response.status_mut() = StatusCode::FOUND;
        response.headers_mut().insert("location", "https://elsewhere.example/".parse().unwrap());
    }
    response
}

/// The common name of the certificate that was shown.
fn shown(stream: &TlsStream<TcpStream>) -> Option<String> {
    let certificate = stream.get_ref().1.peer_certificates()?.first()?;
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).unwrap();
    parsed.subject().iter_common_name().next()?.as_str().ok().map(str::to_owned)
}

impl Behind {
    pub(crate) async fn start() -> Self {
        let key = KeyPair::generate().unwrap();
        let cert = CertificateParams::new(vec!["api.n.svc".to_owned()]).unwrap().self_signed(&key).unwrap();
        let (ca, authority) = (pem("CERTIFICATE", cert.der()), Arc::new(Proxies::new()));
        let mut proxies = RootCertStore::empty();
        proxies.add(authority.cert.der().clone()).unwrap();
        let provider = Arc::new(default_provider());
        let proxies = WebPkiClientVerifier::builder_with_provider(Arc::new(proxies), provider.clone());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(proxies.allow_unauthenticated().build().unwrap())
            .with_single_cert(
                vec![cert.der().clone()],
                PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der())),
            )
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (asked, (events, taken)) = (Arc::new(AtomicUsize::new(0)), mpsc::channel(4));
        let serving = Serving { shown: None, asked: asked.clone(), events: Arc::new(Mutex::new(taken)) };
        tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), serving));
        Self { port, asked, events, authority, ca }
    }

    pub(crate) fn times_asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Registers it as the server of a group version, by a name in the net.
    pub(crate) async fn register(&self, stage: &Stage, served: (&str, &str), available: bool) {
        let spec = json!({ "type": "ExternalName", "externalName": "localhost", "ports": [{ "port": self.port }] });
        let service = json!({ "metadata": { "name": "api" }, "spec": spec });
        stage.send(SERVICES, &service).await.expect(201);
        self.register_at(stage, served, self.port, available).await;
    }

    /// The same behind a service with a port of its own, and a slice that says where that is.
    pub(crate) async fn register_with_slice(&self, stage: &Stage, served: (&str, &str)) {
        let ports = json!([{ "name": "other", "port": 80 }, { "name": "https", "port": 443 }]);
        let service = json!({ "metadata": { "name": "api" }, "spec": { "ports": ports } });
        stage.send(SERVICES, &service).await.expect(201);
        let slice = json!({
            "metadata": { "name": "api-1", "labels": { "kubernetes.io/service-name": "api" } }, "addressType": "IPv4",
            "ports": [{ "name": "other", "port": 1 }, { "name": "https", "port": self.port }],
            "endpoints": [
                { "addresses": ["192.0.2.1"], "conditions": { "ready": false } },
                { "addresses": [own_address()], "conditions": { "ready": true } },
            ],
        });
        let slices = "POST /apis/discovery.k8s.io/v1/namespaces/n/endpointslices";
        stage.send(slices, &slice).await.expect(201);
        self.register_at(stage, served, 443, true).await;
    }

    async fn register_at(&self, stage: &Stage, (group, version): (&str, &str), port: u16, available: bool) {
        let name = format!("{version}.{group}");
        let spec = json!({
            "group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 15,
            "service": { "namespace": "n", "name": "api", "port": port }, "caBundle": STANDARD.encode(&self.ca),
        });
        let object = json!({ "metadata": { "name": name }, "spec": spec });
        let mut made: Value = stage.send(&format!("POST {REGISTRATIONS}"), &object).await.expect(201);
        let status = if available { "True" } else { "False" };
        made["status"] = json!({ "conditions": [{ "type": "Available", "status": status }] });
        stage.send(&format!("PUT {REGISTRATIONS}/{name}/status"), &made).await.expect(200);
    }
}

/// Where this machine is reached by others: a slice must not name an address that is everybody's own.
fn own_address() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    // Nothing is sent: it only says from where it would be.
    socket.connect("192.0.2.1:9").expect("this machine is on no network");
    socket.local_addr().unwrap().ip()
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, serving: Serving) {
    while let Ok((stream, _)) = listener.accept().await {
        let Ok(stream) = acceptor.accept(stream).await else { continue };
        let serving = Serving { shown: shown(&stream), ..serving.clone() };
        let service = TowerToHyperService::new(tower::service_fn(move |request: Request<hyper::body::Incoming>| {
            serving.clone().answer(request.map(Body::new))
        }));
        tokio::spawn(async move {
            let builder = Builder::new(TokioExecutor::new());
            builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await
        });
    }
}
