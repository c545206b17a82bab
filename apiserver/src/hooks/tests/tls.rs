//! Servers of every sort, on a port of this machine.

use crate::backends::Service;
use crate::hooks::call::{HttpCaller, NoServices, Resolve};
use crate::hooks::{Endpoint, call::CallError, call::CallWebhook};
use axum::Router;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

/// A certificate with its key, and who vouches for it.
pub(super) struct Identity {
    chain: Vec<CertificateDer<'static>>,
    key: Vec<u8>,
    /// In PEM.
    pub(super) ca: String,
}

fn pem(der: &[u8]) -> String {
    format!("-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n", STANDARD.encode(der))
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

impl Identity {
    /// Signed by an authority.
    pub(super) fn signed(names: &[&str]) -> Self {
        let (ca_key, key) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let mut ca = params(&[]);
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let ca_cert = ca.self_signed(&ca_key).unwrap();
        let cert = params(names).signed_by(&key, &Issuer::new(ca, ca_key)).unwrap();
        Self { chain: vec![cert.der().clone()], key: key.serialize_der(), ca: pem(ca_cert.der()) }
    }

    /// Signed by itself, as authority and server in one.
    pub(super) fn of_its_own(names: &[&str]) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut both = params(names);
        both.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let cert = both.self_signed(&key).unwrap();
        Self { chain: vec![cert.der().clone()], key: key.serialize_der(), ca: pem(cert.der()) }
    }
}

/// A server that listens until the test ends.
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) ca: String,
    pub(super) connections: Arc<AtomicUsize>,
}

impl Server {
    /// Does with every connection what `serve` says.
    pub(super) async fn raw<F: Future<Output = ()> + Send + 'static>(
        identity: Identity,
        serve: impl Fn(TlsStream<TcpStream>) -> F + Send + 'static,
    ) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.key));
        let mut config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(identity.chain, key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let (acceptor, listener) =
            (TlsAcceptor::from(Arc::new(config)), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let (port, connections) = (listener.local_addr().unwrap().port(), Arc::new(AtomicUsize::new(0)));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(stream) = acceptor.accept(stream).await {
                    count.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(serve(stream));
                }
            }
        });
        Self { port, ca: identity.ca, connections }
    }

    pub(super) async fn http(identity: Identity, router: Router) -> Self {
        Self::raw(identity, move |stream| {
            let service = TowerToHyperService::new(router.clone());
            async move {
                let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await;
            }
        })
        .await
    }

    /// At `https://<host>/hook`, vouched for by whoever vouches for the server.
    pub(super) fn at(&self, host: &str) -> Endpoint {
        let url = format!("https://{host}:{}/hook", self.port);
        Endpoint::read(&json!({ "url": url, "caBundle": STANDARD.encode(&self.ca) })).unwrap()
    }

    /// As the service `s` of the namespace `n`.
    pub(super) fn as_service(&self) -> Endpoint {
        let service = json!({ "namespace": "n", "name": "s", "path": "/hook" });
        Endpoint::read(&json!({ "service": service, "caBundle": STANDARD.encode(&self.ca) })).unwrap()
    }

    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Every service is at one port of this machine.
pub(super) struct Here(pub(super) u16);

impl Resolve for Here {
    fn resolve(&self, _: &Service) -> Result<(String, u16), String> {
        Ok(("127.0.0.1".to_owned(), self.0))
    }
}

pub(super) fn caller() -> HttpCaller {
    HttpCaller::new(Arc::new(NoServices), None)
}

pub(super) const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn post(caller: &HttpCaller, to: &Endpoint) -> Result<Value, CallError> {
    caller.call(to, r#"{"a":1}"#.into(), LIMIT).await
}
