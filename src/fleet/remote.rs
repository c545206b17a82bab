//! An API server over the network: TLS, HTTP/2 where it is spoken, one connection while that is enough, and an end to
//! every wait.

use super::api::{CellError, Later};
use super::kubeconfig::{Access, Credential};
use super::transport::Transport;
use super::trust;
use apiserver::auth::User;
use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue, USER_AGENT};
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use std::error::Error;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tower::Service;

/// A cell that has not accepted a connection by then is away.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// Silence on a connection is questioned after this long, and taken for the end of it when nobody answers for as long as a
/// request may take: a cell that is busy is late with everything, and with its connection all that is under way is lost.
const PING_EVERY: Duration = Duration::from_secs(10);
const PING_MAX: Duration = Duration::from_secs(15);
/// Connections that are kept although nobody needs them at the moment.
const IDLE_MAX: usize = 4;
const IDLE_FOR: Duration = Duration::from_secs(90);
/// What a cell may count on us to remember of the headers of its answers. Most of what they say is said once, so that a table
/// of them would fill with what never comes again, for each cell.
const HEADERS_REMEMBERED: u32 = 0;

const AGENT: &str = concat!("hanse/", env!("CARGO_PKG_VERSION"));

/// See the module.
pub(super) struct Remote {
    client: Client<Connector, Full<Bytes>>,
    server: Uri,
    authorization: Option<HeaderValue>,
}

impl Remote {
    pub(super) fn new(access: &Access) -> Result<Self, CellError> {
        let connector = Connector::new(access)?;
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_FOR)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http2_keep_alive_interval(PING_EVERY)
            .http2_keep_alive_timeout(PING_MAX)
            .http2_keep_alive_while_idle(true)
            .http2_header_table_size(HEADERS_REMEMBERED)
            .build(connector);
        Ok(Self { client, server: access.server.clone(), authorization: authorization(&access.credential)? })
    }

    /// The same request with where it goes and who sends it.
    fn addressed(&self, request: Request<Bytes>) -> Result<Request<Full<Bytes>>, CellError> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let base = self.server.to_string();
        let whole = format!("{}{path}", base.trim_end_matches('/'));
        parts.uri = whole.parse().map_err(|error| CellError::Unusable(format!("{whole}: {error}")))?;
        parts.headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        if let Some(authorization) = &self.authorization {
            parts.headers.insert(AUTHORIZATION, authorization.clone());
        }
        Ok(Request::from_parts(parts, Full::new(body)))
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Groups that everybody is in by having been recognised, or not.
const OF_EVERYBODY: [&str; 2] = ["system:authenticated", "system:unauthenticated"];

/// Says who is meant by name and groups, as Karmada does: what they may do, the cell decides.
fn impersonate(headers: &mut HeaderMap, user: &User) -> Result<(), CellError> {
    let value = |text: &str| {
        let unspeakable = |_| CellError::Unusable("the user cannot be named in a header".to_owned());
        HeaderValue::from_bytes(text.as_bytes()).map_err(unspeakable)
    };
    headers.insert("impersonate-user", value(&user.name)?);
    for group in user.groups.iter().filter(|group| !OF_EVERYBODY.contains(&group.as_str())) {
        headers.append("impersonate-group", value(group)?);
    }
    Ok(())
}

impl Transport for Remote {
    fn send_as(&self, mut request: Request<Bytes>, user: &Arc<User>) -> Later<'_, Result<Response<Body>, CellError>> {
        match impersonate(request.headers_mut(), user) {
            Ok(()) => self.send(request),
            Err(error) => Box::pin(async { Err(error) }),
        }
    }

    fn send(&self, request: Request<Bytes>) -> Later<'_, Result<Response<Body>, CellError>> {
        Box::pin(async move {
            let answer = self.client.request(self.addressed(request)?).await;
            let answer = answer.map_err(|error| CellError::Unreachable(root_cause(&error)))?;
            Ok(answer.map(Body::new))
        })
    }
}

/// The innermost reason: what is around it says only that something failed.
fn root_cause(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

fn authorization(credential: &Credential) -> Result<Option<HeaderValue>, CellError> {
    let text = match credential {
        Credential::Token(token) => format!("Bearer {token}"),
        Credential::Basic { user, password } => format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))),
        Credential::None | Credential::Certificate(_) => return Ok(None),
    };
    let mut value = HeaderValue::try_from(text)
        .map_err(|_| CellError::Unusable("the token has characters that no header can carry".to_owned()))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Makes connections to one server.
#[derive(Clone)]
struct Connector {
    host: Arc<str>,
    port: u16,
    /// `None`: the server speaks plain HTTP.
    tls: Option<(TlsConnector, ServerName<'static>)>,
}

impl Connector {
    fn new(access: &Access) -> Result<Self, CellError> {
        let host = access.server.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        let plain = access.server.scheme_str() == Some("http");
        let port = access.server.port_u16().unwrap_or(if plain { 80 } else { 443 });
        let tls = if plain { None } else { Some(secured(access, &host)?) };
        Ok(Self { host: host.into(), port, tls })
    }

    async fn connect(self) -> io::Result<Stream> {
        let stream = TcpStream::connect((&*self.host, self.port)).await?;
        let _ = stream.set_nodelay(true);
        match self.tls {
            None => Ok(Stream::Plain(TokioIo::new(stream))),
            Some((tls, name)) => Ok(Stream::Tls(Box::new(TokioIo::new(tls.connect(name, stream).await?)))),
        }
    }
}

fn secured(access: &Access, host: &str) -> Result<(TlsConnector, ServerName<'static>), CellError> {
    let name = access.server_name.clone().unwrap_or_else(|| host.to_owned());
    let config = trust::config(access).map_err(CellError::Unusable)?;
    let proven = ServerName::try_from(name.clone())
        .map_err(|_| CellError::Unusable(format!("{name:?} is not a valid TLS server name")))?;
    Ok((TlsConnector::from(Arc::new(config)), proven))
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = Later<'static, io::Result<Stream>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Uri) -> Self::Future {
        let connecting = tokio::time::timeout(CONNECT_MAX, self.clone().connect());
        let late = || io::Error::new(io::ErrorKind::TimedOut, "no connection in time");
        Box::pin(async move { connecting.await.unwrap_or_else(|_| Err(late())) })
    }
}

enum Stream {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        match self {
            Self::Tls(stream) if stream.inner().get_ref().1.alpn_protocol() == Some(b"h2") => {
                Connected::new().negotiated_h2()
            }
            _ => Connected::new(),
        }
    }
}

impl Read for Stream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl Write for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
