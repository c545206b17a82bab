//! The connection to etcd: one endpoint at a time, and what we ask of it.
//!
//! Everything goes through the same endpoint, so that what we wrote and what we watch come from the same place; when
//! it fails, the follower goes on to the next. Spreading requests over all endpoints would keep a share of them
//! hanging on one that accepts connections and answers nothing.

use super::fault::{Fault, Kind};
use super::prefix::Prefix;
use super::{EtcdTls, PROBE_TIMEOUT, REQUEST_TIMEOUT};
use crate::error::BackendError;
use crate::txn::Revision;
use etcd_client::proto::{PbRangeResponse, PbResponseHeader, PbTxnResponse};
use etcd_client::{
    Certificate, Client, ConnectOptions, GetOptions, Identity, KvClient, TlsOptions, WatchClient, WatchOptions,
    WatchStream,
};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout, timeout_at};

/// A peer that is gone without a word is noticed by pings. etcd hangs up on clients that ping more often than every
/// five seconds (`--grpc-keepalive-min-time`).
const PING_INTERVAL: Duration = Duration::from_secs(6);
const PING_TIMEOUT: Duration = Duration::from_secs(3);

/// A machine in reach answers a connection at once; one that does not is left for the next.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest answer we take. Pages adapt and watches come in fragments of about 2 MiB, so this bounds memory without
/// ever being reached, save that a watch's first answers are not cut.
const ANSWER_BYTES_MAX: usize = 512 << 20;

/// A connection is fresh until everything that was waiting for it has come.
const FRESH: Duration = Duration::from_secs(2);

/// Where etcd is and how we prove who we are.
#[derive(Clone, Debug)]
pub(super) struct Endpoints {
    pub(super) urls: Vec<String>,
    pub(super) tls: Option<EtcdTls>,
}

/// An answer's header: which etcd answered, and the newest revision it had.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) etcd: u64,
    pub(super) revision: Revision,
}

#[derive(Clone)]
pub(super) struct Connection {
    pub(super) endpoint: String,
    kv: KvClient,
    watch: WatchClient,
}

impl Connection {
    /// Prepares a connection; it is made by the first request.
    pub(super) async fn dial(endpoints: &Endpoints, nth: usize) -> Result<Self, Fault> {
        let Some(endpoint) = endpoints.urls.get(nth % endpoints.urls.len().max(1)).cloned() else {
            return Err(Fault::new(Kind::Invalid, "etcd", "no endpoint is given"));
        };
        let mut options = ConnectOptions::new()
            .with_keep_alive(PING_INTERVAL, PING_TIMEOUT)
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_require_leader(true);
        if let Some(tls) = &endpoints.tls {
            options = options.with_tls(tls_options(tls, &endpoint)?);
        }
        let client = Client::connect([&endpoint], Some(options)).await.map_err(|error| Fault::of(&endpoint, &error))?;
        let kv = client.kv_client().max_decoding_message_size(ANSWER_BYTES_MAX);
        let watch = client.watch_client().max_decoding_message_size(ANSWER_BYTES_MAX);
        Ok(Self { endpoint, kv, watch })
    }

    /// etcd's newest revision, agreed by its quorum: the cheapest question that is linearizable.
    pub(super) async fn head(&self, prefix: &Prefix) -> Result<Head, Fault> {
        let options = GetOptions::new().with_count_only();
        let mut kv = self.kv.clone();
        let answer = self.within(PROBE_TIMEOUT, kv.get(prefix.marker(), Some(options))).await?;
        self.header(answer.0.header)
    }

    pub(super) async fn get(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, Fault> {
        let mut kv = self.kv.clone();
        let answer = self.within(REQUEST_TIMEOUT, kv.get(key, None)).await?;
        Ok(answer.0.kvs.into_iter().next().map(|kv| kv.value))
    }

    /// Sends a transaction, once.
    pub(super) async fn txn(&self, txn: etcd_client::Txn, deadline: Instant) -> Result<PbTxnResponse, Fault> {
        let mut kv = self.kv.clone();
        match timeout_at(deadline, kv.txn(txn)).await {
            Ok(answer) => answer.map(|answer| answer.0).map_err(|error| Fault::of(&self.endpoint, &error)),
            Err(_) => Err(self.fault(Kind::Lost, "no answer in time")),
        }
    }

    pub(super) async fn put(&self, key: Vec<u8>, value: &[u8]) -> Result<Revision, Fault> {
        let mut kv = self.kv.clone();
        let answer = self.within(REQUEST_TIMEOUT, kv.put(key, value, None)).await?;
        Ok(self.header(answer.0.header)?.revision)
    }

    /// At most `limit` entries from `start` on, as they were at `at`.
    pub(super) async fn page(
        &self,
        start: Vec<u8>,
        end: Vec<u8>,
        at: Revision,
        limit: usize,
    ) -> Result<PbRangeResponse, Fault> {
        let options = GetOptions::new().with_range(end).with_revision(at.0 as i64).with_limit(limit as i64);
        let mut kv = self.kv.clone();
        Ok(self.within(REQUEST_TIMEOUT, kv.get(start, Some(options))).await?.0)
    }

    pub(super) async fn compact(&self, floor: Revision) -> Result<(), Fault> {
        let mut kv = self.kv.clone();
        self.within(REQUEST_TIMEOUT, kv.compact(floor.0 as i64, None)).await.map(drop)
    }

    /// Everything under the prefix from `from` on, that revision included.
    pub(super) async fn watch(&self, prefix: &Prefix, from: Revision) -> Result<WatchStream, Fault> {
        let options = WatchOptions::new()
            .with_range(prefix.end())
            .with_start_revision(from.0.max(1) as i64)
            .with_progress_notify()
            .with_fragment();
        let mut watch = self.watch.clone();
        self.within(REQUEST_TIMEOUT, watch.watch(prefix.marker(), Some(options))).await
    }

    async fn within<T>(
        &self,
        limit: Duration,
        request: impl Future<Output = Result<T, etcd_client::Error>>,
    ) -> Result<T, Fault> {
        match timeout(limit, request).await {
            Ok(answer) => answer.map_err(|error| Fault::of(&self.endpoint, &error)),
            Err(_) => Err(self.fault(Kind::Lost, format!("no answer within {} s", limit.as_secs_f32()))),
        }
    }

    fn header(&self, header: Option<PbResponseHeader>) -> Result<Head, Fault> {
        let revision = header.as_ref().and_then(|header| super::request::revision(header.revision));
        let head = header.zip(revision).map(|(header, revision)| Head { etcd: header.cluster_id, revision });
        head.ok_or_else(|| self.fault(Kind::Lost, "an answer without a revision"))
    }

    pub(super) fn fault(&self, kind: Kind, what: impl Into<String>) -> Fault {
        Fault::new(kind, &self.endpoint, what)
    }
}

/// Read anew for every connection: certificates are renewed while we run.
fn tls_options(tls: &EtcdTls, endpoint: &str) -> Result<TlsOptions, Fault> {
    let read = |path: &std::path::Path| {
        let unread = |error| Fault::new(Kind::Invalid, endpoint, format!("cannot read {}: {error}", path.display()));
        std::fs::read(path).map_err(unread)
    };
    let mut options = TlsOptions::new().ca_certificate(Certificate::from_pem(read(&tls.ca)?));
    if let Some(identity) = &tls.identity {
        options = options.identity(Identity::from_pem(read(&identity.cert)?, read(&identity.key)?));
    }
    Ok(options)
}

/// The connection that everybody uses, if there is one, and why not if there is none.
pub(super) struct Link {
    current: watch::Sender<Option<Connection>>,
    /// Since when there is a connection, on the store's clock. Leaf lock.
    since: Mutex<Duration>,
    /// Leaf lock.
    failure: Mutex<Option<Arc<BackendError>>>,
    suspicion: Notify,
}

impl Link {
    pub(super) fn new() -> Self {
        Self {
            current: watch::Sender::new(None),
            since: Mutex::default(),
            failure: Mutex::new(None),
            suspicion: Notify::new(),
        }
    }

    pub(super) fn up(&self, connection: Connection, now: Duration) {
        if self.failure.lock().take().is_some() {
            tracing::info!(endpoint = connection.endpoint, "etcd is back");
        }
        *self.since.lock() = now;
        self.current.send_replace(Some(connection));
    }

    pub(super) fn down(&self, failure: BackendError) {
        let failure = Arc::new(failure);
        let first = self.failure.lock().replace(failure.clone()).is_none();
        if first {
            tracing::error!(%failure, "etcd is away");
        }
        self.current.send_replace(None);
    }

    pub(super) fn failure(&self) -> Option<Arc<BackendError>> {
        self.failure.lock().clone()
    }

    /// The connection; waits for one.
    pub(super) async fn connection(&self) -> Connection {
        let mut current = self.current.subscribe();
        loop {
            let found = current.borrow_and_update().clone();
            if let Some(connection) = found {
                return connection;
            }
            // The sender is ours: it does not go before us.
            let _ = current.changed().await;
        }
    }

    pub(super) fn is_fresh(&self, now: Duration) -> bool {
        now.saturating_sub(*self.since.lock()) < FRESH
    }

    pub(super) fn connected(&self) -> Option<Connection> {
        self.current.borrow().clone()
    }

    /// Somebody had trouble: the follower should look at once, not in time.
    pub(super) fn suspect(&self) {
        self.suspicion.notify_one();
    }

    pub(super) async fn suspected(&self) {
        self.suspicion.notified().await;
    }
}
