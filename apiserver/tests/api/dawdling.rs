//! Clients that say nothing, say it slowly, or stop in the middle of it: they cost their own connection.

use crate::hooking::https_with;
use apiserver::serve::Patience;
use axum::Router;
use axum::routing::{get, post};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Short, for the server; nobody waits for it to pass but those who dawdle.
const PATIENCE: Patience =
    Patience { handshake: Duration::from_millis(300), headers: Duration::from_millis(300), connections_of_one: 1000 };

/// A server that has not hung up by then does not hang up.
const HUNG_UP: Duration = Duration::from_secs(20);

struct Server {
    address: String,
    pem: String,
}

impl Server {
    async fn start() -> Self {
        Self::start_with(PATIENCE).await
    }

    async fn start_with(patience: Patience) -> Self {
        let router = Router::new().route("/", get(async || "here")).route("/", post(async |body: String| body));
        let (url, pem) = https_with(router, patience).await;
        let port = url.rsplit(':').next().unwrap();
        Self { address: format!("127.0.0.1:{port}"), pem }
    }

    async fn connect(&self, protocol: &str) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// Somebody who behaves is served.
    async fn serves(&self) {
        let mut stream = self.connect("http/1.1").await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(answer.ends_with(b"here"), "{}", String::from_utf8_lossy(&answer));
    }
}

/// Reads until the server hangs up.
async fn hung_up(stream: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut last = Vec::new();
    let ended = tokio::time::timeout(HUNG_UP, stream.read_to_end(&mut last)).await;
    assert!(ended.is_ok(), "the server still waits");
    last
}

#[tokio::test]
async fn whoever_says_nothing_is_hung_up_on() {
    let server = Server::start().await;
    hung_up(&mut TcpStream::connect(&server.address).await.unwrap()).await;
    for protocol in ["http/1.1", "h2"] {
        hung_up(&mut server.connect(protocol).await).await;
    }
    server.serves().await;
}

#[tokio::test]
async fn an_address_holds_no_more_connections_than_it_may() {
    let server = Server::start_with(Patience { connections_of_one: 3, ..Patience::default() }).await;
    let held = [server.connect("h2").await, server.connect("http/1.1").await, server.connect("http/1.1").await];
    // It is hung up on before a handshake.
    hung_up(&mut TcpStream::connect(&server.address).await.unwrap()).await;
    drop(held);
    let mut served = false;
    for _ in 0..1000 {
        // The server learns that they have gone when it looks.
        let mut stream = TcpStream::connect(&server.address).await.unwrap();
        let more = tokio::time::timeout(Duration::from_millis(20), stream.read(&mut [0; 1])).await;
        served = more.is_err();
        if served {
            break;
        }
    }
    assert!(served, "those who have gone are still counted");
    server.serves().await;
}

#[tokio::test]
async fn whoever_takes_forever_to_say_what_they_want_is_hung_up_on() {
    let server = Server::start().await;
    let mut crowd = Vec::new();
    for _ in 0..50 {
        let mut stream = server.connect("http/1.1").await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ").await.unwrap();
        crowd.push(stream);
    }
    server.serves().await;
    for stream in &mut crowd {
        assert!(!hung_up(stream).await.starts_with(b"HTTP/1.1 200"));
    }
    // The preface of HTTP/2, and half a frame.
    let mut stream = server.connect("h2").await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x0c\x04\x00").await.unwrap();
    hung_up(&mut stream).await;
}

#[tokio::test]
async fn what_breaks_off_or_makes_no_sense_is_the_end_of_a_connection_and_of_nothing_else() {
    let server = Server::start().await;
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00";
    // Headers that are never finished, a body that is never sent, and frames that mean nothing.
    let frames: [&[u8]; 4] = [
        b"\x00\x00\x10\x01\x00\x00\x00\x00\x01\x82",
        b"\x00\x00\x05\x01\x04\x00\x00\x00\x01\x83\x84\x87\x41\x00",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00",
    ];
    for frame in frames {
        let mut stream = server.connect("h2").await;
        stream.write_all(preface).await.unwrap();
        stream.write_all(frame).await.unwrap();
        stream.flush().await.unwrap();
        drop(stream);
    }
    let mut stream = server.connect("http/1.1").await;
    stream.write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nhalf").await.unwrap();
    drop(stream);
    server.serves().await;
}
