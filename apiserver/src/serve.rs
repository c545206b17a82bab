//! The door: connections in, TLS off, requests into the pipeline; and how it is closed without slamming.

mod crowd;
mod shares;
mod turns;

use crate::fairness::Payer;
use crate::pipeline::{ClientAddress, Peer};
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use crowd::Crowd;
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_util::sync::CancellationToken;
use tower::{Service, ServiceExt};
use turns::{Beside, Turns};

/// How long a client is waited for, and how many of them come from one place. One that has not shaken hands, or said
/// what it wants, by then is not going to.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    pub handshake: Duration,
    /// Of the first request of a connection, and the headers of every other.
    pub headers: Duration,
    /// Connections that one address may hold. More are closed before anything is said.
    pub connections_of_one: usize,
}

impl Default for Patience {
    /// Kubernetes' own.
    fn default() -> Self {
        Self { handshake: Duration::from_secs(10), headers: Duration::from_secs(32), connections_of_one: 10_000 }
    }
}

/// Requests at a time on one HTTP/2 connection. Informers hold a watch each.
const STREAMS_MAX: u32 = 1000;

/// Bytes of an answer that are made ready at a time: others have their turn while a long one is sent.
const SENT_IN_ONE_TURN: usize = 64 * 1024;

/// How soon another connection is accepted after the system had no room for one.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);

/// How long requests that have begun are waited for.
const DRAIN_MAX: Duration = Duration::from_secs(30);

/// Tells who is at the other end by the certificates they have shown, which the handshake has checked: the leaf first.
pub type Recognise = Arc<dyn Fn(&[CertificateDer<'static>]) -> Peer + Send + Sync>;

/// Accepts connections until told to stop, then waits for what has begun.
pub async fn serve<S>(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    (recognise, patience): (Recognise, Patience),
    pipeline: S,
    stop: CancellationToken,
) where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let acceptor = TlsAcceptor::from(tls);
    let graceful = Arc::new(GracefulShutdown::new());
    let connections = tokio_util::task::TaskTracker::new();
    let crowd = Crowd::new(patience.connections_of_one);
    let turns = Turns::new(tokio::runtime::Handle::current().metrics().num_workers());
    loop {
        let accepted = tokio::select! {
            biased;
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, address)) => {
                let Some(present) = crowd.enter(address.ip()) else {
                    tracing::debug!(%address, "an address holds as many connections as it may");
                    continue;
                };
                let (acceptor, pipeline, recognise) = (acceptor.clone(), pipeline.clone(), recognise.clone());
                let watcher = graceful.watcher();
                let client = (stream, address.ip());
                let beside = Beside { turns: turns.clone(), payer: Payer::new(address.ip()) };
                let served = connection(client, acceptor, (recognise, patience), (pipeline, beside.clone()), watcher);
                connections.spawn(beside.turns.pace(&beside.payer, async move {
                    served.await;
                    drop(present);
                }));
            }
            // Out of descriptors: those that are held will be let go.
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(listener);
    connections.close();
    if let Some(graceful) = Arc::into_inner(graceful) {
        let drained = async {
            graceful.shutdown().await;
            connections.wait().await;
        };
        if tokio::time::timeout(DRAIN_MAX, drained).await.is_err() {
            tracing::warn!("some requests did not finish in time");
        }
    }
}

async fn connection<S>(
    (stream, client): (TcpStream, IpAddr),
    acceptor: TlsAcceptor,
    (recognise, patience): (Recognise, Patience),
    (pipeline, beside): (S, Beside),
    watcher: hyper_util::server::graceful::Watcher,
) where
    S: Service<Request, Response = Response, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
{
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = tokio::time::timeout(patience.handshake, acceptor.accept(stream)).await else { return };
    let peer = stream.get_ref().1.peer_certificates().map(|shown| recognise(shown)).unwrap_or_default();
    let spoken = Arc::new(Notify::new());
    let (heard, payer) = (spoken.clone(), beside.payer.clone());
    let service = TowerToHyperService::new(pipeline.map_request(move |request: Request<Incoming>| {
        heard.notify_one();
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer.clone());
        request.extensions_mut().insert(ClientAddress(client));
        request.extensions_mut().insert(payer.clone());
        request
    }));
    let mut builder = Builder::new(beside);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience.headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_send_buf_size(SENT_IN_ONE_TURN)
        .keep_alive_interval(Duration::from_secs(30))
        .keep_alive_timeout(Duration::from_secs(20));
    let served = builder.serve_connection_with_upgrades(TokioIo::new(stream), service);
    tokio::select! {
        ended = watcher.watch(served.into_owned()) => {
            if let Err(error) = ended {
                tracing::debug!(error, "a connection ended");
            }
        }
        () = silence(&spoken, patience.headers) => tracing::debug!("a client said nothing"),
    }
}

/// Returns when nothing was asked for in time; never, once something was.
async fn silence(spoken: &Notify, max: Duration) {
    if tokio::time::timeout(max, spoken.notified()).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

/// Binds the address that is listened on.
pub async fn bind(address: std::net::SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(address).await
}
