//! Connections to hooks: a host, found and reached, that proves who it is.

use super::handshake;
use crate::trust::Certificate;
use bytes::Bytes;
use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;

/// Whoever asked may have given up; a connection is not waited for much longer.
const CONNECT_MAX: Duration = Duration::from_secs(30);

/// Where connections go and what is expected there. Requests that have all of it in common share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) host: String,
    pub(crate) port: u16,
    pub(crate) server_name: String,
    pub(crate) ca: Option<Bytes>,
    pub(crate) certificate: Option<Certificate>,
    pub(crate) http2: bool,
}

/// Why there is no connection, in Go's words where they are known.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreachable(String);

#[derive(Clone)]
pub(crate) struct Connector {
    line: Arc<Line>,
    name: ServerName<'static>,
    tls: TlsConnector,
}

impl Connector {
    pub(crate) fn new(line: Line, tls: ClientConfig) -> Result<Self, String> {
        let name = ServerName::try_from(line.server_name.clone())
            .map_err(|_| format!("{:?} is no name that a certificate could be for", line.server_name))?;
        Ok(Self { line: Arc::new(line), name, tls: TlsConnector::from(Arc::new(tls)) })
    }

    async fn connect(self) -> Result<Stream, Unreachable> {
        let stream = reach(&self.line.host, self.line.port).await?;
        let _ = stream.set_nodelay(true);
        let has_roots = self.line.ca.is_some();
        match self.tls.connect(self.name, stream).await {
            Ok(stream) => Ok(Stream(TokioIo::new(stream))),
            Err(error) => Err(Unreachable(handshake::reason(&error, &self.line.server_name, has_roots))),
        }
    }
}

/// The first address of a host that answers.
async fn reach(host: &str, port: u16) -> Result<TcpStream, Unreachable> {
    let unknown = || Unreachable(format!("dial tcp: lookup {host}: no such host"));
    let mut last = unknown();
    for address in lookup_host((host, port)).await.map_err(|_| unknown())? {
        match TcpStream::connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Unreachable(format!("dial tcp {address}: connect: {}", words(&error))),
        }
    }
    Err(last)
}

fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        io::ErrorKind::HostUnreachable => "no route to host".to_owned(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".to_owned(),
        _ => error.to_string(),
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Unreachable;
    type Future = super::Later<'static, Result<Stream, Unreachable>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unreachable>> {
        Poll::Ready(Ok(()))
    }

    /// Goes where the line goes: the name in the URL is for the other side to read.
    fn call(&mut self, _: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(CONNECT_MAX, self.clone().connect());
        let late = |_| Err(Unreachable("dial tcp: i/o timeout".to_owned()));
        Box::pin(async move { connecting.await.unwrap_or_else(late) })
    }
}

/// A connection that says which protocol was agreed on.
pub(crate) struct Stream(TokioIo<TlsStream<TcpStream>>);

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let agreed = self.0.inner().get_ref().1.alpn_protocol();
        if agreed == Some(b"h2") { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for Stream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
