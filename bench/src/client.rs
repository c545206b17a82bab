//! One HTTP/2 client for every server: requests over TLS, answers whole or as they come.

use crate::kubeconfig::Access;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::error::Error;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

/// Fewer streams than any server allows on one connection, and enough connections that none of them is the limit.
pub const CLIENTS_PER_CONNECTION: u64 = 16;
/// A response of some megabytes should wait for neither side's flow control.
const STREAM_WINDOW_BYTES: u32 = 8 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 16 << 20;

type Sender = http2::SendRequest<Full<Bytes>>;
type Failure = Box<dyn Error + Send + Sync>;

/// Some clients of one server, spread over connections that stay open.
#[derive(Clone)]
pub struct Client {
    access: Access,
    connections: Arc<Vec<Sender>>,
}

impl Client {
    pub async fn connect(access: &Access, clients: u64) -> Result<Self, Failure> {
        Self::open(access, clients.div_ceil(CLIENTS_PER_CONNECTION)).await
    }

    /// With so many connections.
    pub async fn open(access: &Access, count: u64) -> Result<Self, Failure> {
        let mut connections = Vec::new();
        for _ in 0..count {
            connections.push(open(access).await?);
        }
        Ok(Self { access: access.clone(), connections: Arc::new(connections) })
    }

    /// Sends as the client of this number; the answer's body is still to come. What is patched is applied.
    pub async fn send(
        &self,
        client: u64,
        method: Method,
        path: &str,
        body: String,
    ) -> Result<Response<Incoming>, Failure> {
        let content_type = if method == Method::PATCH { "application/apply-patch+yaml" } else { "application/json" };
        let uri = format!("https://{}{}{path}", self.access.authority, self.access.prefix);
        let mut request = Request::builder().method(method).uri(uri).header(header::ACCEPT, "application/json");
        if let Some(token) = &self.access.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let mut sender = self.connections[client as usize % self.connections.len()].clone();
        sender.ready().await?;
        Ok(sender.send_request(request.body(Full::from(body))?).await?)
    }

    /// The status, once the whole answer is there.
    pub async fn status(&self, path: &str) -> Result<StatusCode, Failure> {
        let answer = self.send(0, Method::GET, path, String::new()).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }

    /// The body of an answer that must be a success.
    pub async fn body(&self, client: u64, method: Method, path: &str, body: String) -> Bytes {
        let answer = self.send(client, method, path, body).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap_or_else(|error| panic!("{path}: {error}")).to_bytes();
        assert!(status.is_success(), "{path}: {status}: {}", String::from_utf8_lossy(&body));
        body
    }

    /// How many bytes the answer to a GET has; none of them is kept.
    pub async fn length(&self, client: u64, path: &str) -> usize {
        let mut answer = self.send(client, Method::GET, path, String::new()).await.expect("an answer");
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let mut length = 0;
        while let Some(frame) = answer.frame().await {
            length += frame.expect("the rest of the answer").data_ref().map_or(0, Bytes::len);
        }
        length
    }
}

async fn open(access: &Access) -> Result<Sender, Failure> {
    let stream = TcpStream::connect(&access.authority).await?;
    stream.set_nodelay(true)?;
    let host = access.authority.rsplit_once(':').map_or(access.authority.as_str(), |(host, _)| host);
    let name = ServerName::try_from(host.to_owned())?;
    let stream = TlsConnector::from(access.tls.clone()).connect(name, stream).await?;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .handshake(TokioIo::new(stream))
        .await?;
    tokio::spawn(connection);
    Ok(sender)
}
