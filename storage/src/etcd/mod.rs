//! A store kept in etcd, by several replicas at once.
//!
//! etcd decides: it checks conditions, gives out revisions (its mod revision is ours) and keeps everything. Each
//! replica follows one watch into the same timeline that embedded stores have (`load`, `follow`), so that reading
//! and watching cost etcd nothing. A commit is one etcd transaction (`request`), answered when the timeline has
//! reached it. What is newest across replicas is asked of etcd (`newest`).
//!
//! All of it runs on one thread with a runtime of its own. `restore` writes directories, not etcd: put a backup into
//! etcd with etcd's own tools.

mod commit;
mod envelope;
mod fault;
mod follow;
mod history;
mod link;
mod load;
mod newest;
mod prefix;
mod replica;
mod request;

pub(crate) use replica::{Replica, Settings};

use crate::error::{BackendError, CommitError, ReadError};
use crate::shared::Shared;
use crate::txn::Revision;
use envelope::Reading;
use fault::{Fault, Kind};
use history::History;
use link::{Connection, Endpoints, Head, Link};
use newest::Newest;
use prefix::Prefix;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

/// How long etcd may take to answer. Longer than it takes to elect a leader, shorter than our own callers wait.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// How often etcd is asked whether it is there.
const PROBE_INTERVAL: Duration = Duration::from_secs(1);

/// How long it may take to say so: more than a busy etcd takes, less than a writer waits.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);

/// After a request that was not sent, before it is tried again: the follower needs a moment to find out.
const RETRY_PAUSE: Duration = Duration::from_millis(50);

/// What the marker says: whose keys these are, and in which format.
const MARKER: &[u8] = b"hanse-store 1 etcd";

/// How to talk to an etcd that wants TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdTls {
    /// The authority that signed etcd's certificates, in PEM.
    pub ca: PathBuf,
    /// Who we are, if etcd wants to know.
    pub identity: Option<EtcdIdentity>,
}

/// A client certificate and its key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdIdentity {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// What the tasks of a replica share.
struct Core {
    shared: Arc<Shared>,
    endpoints: Endpoints,
    prefix: Prefix,
    /// Which etcd this is; another one under the same address is not ours.
    etcd: u64,
    link: Link,
    history: Arc<History>,
    reading: Reading,
    newest: Newest,
    closing: watch::Sender<bool>,
}

impl Core {
    fn check_identity(&self, connection: &Connection, head: Head) -> Result<(), Fault> {
        if head.etcd == self.etcd {
            return Ok(());
        }
        let what = format!("it is another etcd ({:x}) than the store was opened on ({:x})", head.etcd, self.etcd);
        Err(connection.fault(Kind::Changed, what))
    }

    /// Waits until every commit acknowledged before this was called, by whatever replica, can be read here.
    async fn reach_newest(&self) -> Result<Revision, ReadError> {
        let arrival = async {
            let revision = self.newest.ask().await?;
            self.shared.reached(revision).await.map(|()| revision)
        };
        timeout(REQUEST_TIMEOUT, arrival).await.unwrap_or_else(|_| Err(self.unreadable_now()))
    }

    async fn closed(&self) {
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    /// A request failed: has the follower look at the connection, and gives it a moment.
    async fn trouble(&self, fault: &Fault) {
        tracing::debug!(endpoint = fault.endpoint, what = fault.what, "a request to etcd failed");
        self.link.suspect();
        sleep(RETRY_PAUSE).await;
    }

    /// Why it takes too long.
    fn why(&self) -> Arc<BackendError> {
        self.link.failure().unwrap_or_else(|| {
            let endpoint = self.endpoints.urls.join(",");
            Arc::new(BackendError::Unreachable { endpoint, what: "it did not answer in time".to_owned() })
        })
    }

    fn unreadable_now(&self) -> ReadError {
        ReadError::Unavailable(self.why().to_string())
    }

    /// A commit that needs to know what is newest, and cannot.
    fn not_now(&self, error: &ReadError) -> CommitError {
        match error {
            ReadError::Closed => CommitError::Closed,
            _ => CommitError::Unavailable(self.why()),
        }
    }
}
