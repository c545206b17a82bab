//! One replica: opened, asked, closed.

use super::commit::Commits;
use super::envelope::Reading;
use super::fault::{Fault, Kind};
use super::follow::Follower;
use super::history::{History, upkeep};
use super::link::{Connection, Endpoints, Link};
use super::load;
use super::newest::{self, Newest};
use super::prefix::Prefix;
use super::{Core, EtcdTls, MARKER, REQUEST_TIMEOUT, RETRY_PAUSE};
use crate::commit::{Answer, Committed};
use crate::error::{BackendError, CommitError, OpenError, ReadError};
use crate::index::ShareOf;
use crate::seal::Seal;
use crate::shared::{Clock, Shared};
use crate::timeline::{HistoryBounds, Timeline};
use crate::txn::{Limits, Revision, Txn};
use etcd_client::{Compare, CompareOp, TxnOp};
use parking_lot::Mutex;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

/// How long `open` looks for an etcd that answers: longer than an election.
const OPEN_PATIENCE: Duration = Duration::from_secs(5);

/// How often `open` tries what may fail halfway: to read everything, and to catch up with what happened meanwhile.
const OPEN_ATTEMPTS: usize = 3;

/// Where a replica's data is, and how it behaves.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) endpoints: Vec<String>,
    pub(crate) prefix: String,
    pub(crate) tls: Option<EtcdTls>,
    pub(crate) limits: Limits,
    pub(crate) history: HistoryBounds,
    pub(crate) clock: Clock,
    pub(crate) seal: Seal,
    pub(crate) share_of: Option<ShareOf>,
}

/// The writing half of a store kept in etcd.
pub(crate) struct Replica {
    core: Arc<Core>,
    commits: Commits,
    runtime: Handle,
    limits: Limits,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Replica {
    /// Returns when everything that was in etcd when it was called can be read here.
    pub(crate) fn open(settings: Settings) -> Result<(Self, Arc<Shared>), OpenError> {
        let limits = settings.limits.clone();
        let (report, opened) = crossbeam_channel::bounded(1);
        let body = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => {
                runtime.block_on(run(settings, &report));
                // Not even for a name that is being looked up.
                runtime.shutdown_background();
            }
            Err(source) => drop(report.send(Err(OpenError::Io { path: PathBuf::from("a runtime"), source }))),
        };
        let failed = |source| OpenError::Io { path: PathBuf::from("a thread"), source };
        let thread = std::thread::Builder::new().name("store-etcd".into()).spawn(body).map_err(failed)?;
        let ended = |_| OpenError::Backend(BackendError::Interrupted);
        let (core, commits, runtime) = opened.recv().map_err(ended)??;
        let shared = core.shared.clone();
        Ok((Self { core, commits, runtime, limits, thread: Mutex::new(Some(thread)) }, shared))
    }

    /// Answers within twice the request timeout.
    pub(crate) async fn commit(&self, txn: Txn) -> Answer {
        txn.check(&self.limits)?;
        if txn.expects.is_empty() && txn.writes.is_empty() {
            // etcd would answer this from whatever the asked member happens to know.
            let revision = self.newest().await.map_err(|error| self.core.not_now(&error))?;
            return Ok(Committed { revision, changes: Arc::from([]) });
        }
        let (reply, answer) = oneshot::channel();
        self.runtime.spawn(self.commits.begin(self.core.clone(), txn, reply));
        answer.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Waits until every commit acknowledged before this was called, by whatever replica, can be read here.
    pub(crate) async fn newest(&self) -> Result<Revision, ReadError> {
        let (reply, answer) = oneshot::channel();
        let core = self.core.clone();
        // On our own runtime: the caller's may not keep time.
        self.runtime.spawn(async move {
            let _ = reply.send(core.reach_newest().await);
        });
        answer.await.unwrap_or(Err(ReadError::Closed))
    }

    pub(crate) fn forget(&self, floor: Option<Revision>) -> Result<Revision, CommitError> {
        let Core { history, shared, closing, .. } = &*self.core;
        if *closing.borrow() {
            return Err(CommitError::Closed);
        }
        Ok(floor.map_or_else(|| history.forget_due(shared), |floor| history.forget_before(shared, floor)))
    }

    pub(crate) fn failure(&self) -> Option<Arc<BackendError>> {
        self.core.link.failure()
    }

    pub(crate) fn unreadable(&self) -> u64 {
        self.core.reading.unreadable()
    }

    /// Finishes what was sent, then ends the thread.
    pub(crate) fn close(&self) {
        self.commits.close();
        self.core.closing.send_replace(true);
        if let Some(thread) = self.thread.lock().take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.close();
    }
}

type Opened = Result<(Arc<Core>, Commits, Handle), OpenError>;

/// The life of the replica's thread.
async fn run(settings: Settings, report: &crossbeam_channel::Sender<Opened>) {
    match start(settings).await {
        Err(error) => drop(report.send(Err(error))),
        Ok(core) => {
            let commits = Commits::new();
            let _ = report.send(Ok((core.clone(), commits.clone(), Handle::current())));
            core.closed().await;
            commits.ended().await;
        }
    }
}

async fn start(settings: Settings) -> Result<Arc<Core>, OpenError> {
    let Settings { endpoints, prefix, tls, history, clock, seal, share_of, .. } = settings;
    let endpoints = Endpoints { urls: endpoints, tls };
    let prefix = Prefix::new(&prefix);
    let First { nth, etcd, timeline, reading } = first(&endpoints, &prefix, &seal).await?;
    let shared = Shared::start(timeline, clock, seal, share_of);
    let (newest, asked) = Newest::new();
    let history = Arc::new(History::new(history));
    let (link, closing) = (Link::new(), watch::Sender::new(false));
    let core = Arc::new(Core { shared, endpoints, prefix, etcd, link, history, reading, newest, closing });
    tokio::spawn(Follower::new(core.clone(), nth).run());
    tokio::spawn(newest::answer(core.clone(), asked));
    tokio::spawn(upkeep(core.clone()));
    catch_up(&core).await?;
    Ok(core)
}

/// The first answers of an etcd.
struct First {
    nth: usize,
    etcd: u64,
    timeline: Timeline,
    reading: Reading,
}

/// Finds an endpoint that answers, and reads everything from it.
async fn first(endpoints: &Endpoints, prefix: &Prefix, seal: &Seal) -> Result<First, OpenError> {
    let mut attempts = 0;
    loop {
        let (nth, connection) = find(endpoints, prefix).await?;
        let fault = match read(&connection, prefix, nth, seal).await {
            Ok(first) => return first,
            Err(fault) => fault,
        };
        attempts += 1;
        if fault.is_final() || attempts == OPEN_ATTEMPTS {
            return Err(OpenError::Backend(fault.into_error()));
        }
    }
}

async fn find(endpoints: &Endpoints, prefix: &Prefix) -> Result<(usize, Connection), OpenError> {
    let mut last = None;
    let search = async {
        for nth in 0.. {
            let dialled = Connection::dial(endpoints, nth).await;
            let found = match dialled {
                Ok(connection) => connection.head(prefix).await.map(|_| (nth, connection)),
                Err(fault) => Err(fault),
            };
            match found {
                Err(fault) if !fault.is_final() => last = Some(fault),
                decided => return decided,
            }
            sleep(RETRY_PAUSE).await;
        }
        unreachable!("there is always a next endpoint")
    };
    let found = timeout(OPEN_PATIENCE, search).await;
    let late = |_| last.unwrap_or_else(|| Fault::new(Kind::Lost, &endpoints.urls.join(","), "no answer in time"));
    found.map_err(late).flatten().map_err(|fault| OpenError::Backend(fault.into_error()))
}

async fn read(
    connection: &Connection,
    prefix: &Prefix,
    nth: usize,
    seal: &Seal,
) -> Result<Result<First, OpenError>, Fault> {
    let etcd = connection.head(prefix).await?.etcd;
    let marker = claim(connection, prefix).await?;
    if marker != MARKER {
        let file = PathBuf::from(String::from_utf8_lossy(&prefix.marker()).into_owned());
        let found = String::from_utf8_lossy(&marker).chars().take(60).collect::<String>();
        return Ok(Err(OpenError::UnknownFormat { file, found: found.escape_debug().to_string() }));
    }
    let reading = Reading::new(seal.clone());
    let timeline = load::load(connection, prefix, &reading).await?;
    Ok(Ok(First { nth, etcd, timeline, reading }))
}

/// What the marker says. If there is none, it is ours from now on.
async fn claim(connection: &Connection, prefix: &Prefix) -> Result<Vec<u8>, Fault> {
    if let Some(marker) = connection.get(prefix.marker()).await? {
        return Ok(marker);
    }
    let absent = Compare::mod_revision(prefix.marker(), CompareOp::Equal, 0);
    let claim = etcd_client::Txn::new().when([absent]).and_then([TxnOp::put(prefix.marker(), MARKER, None)]);
    connection.txn(claim, sleep(REQUEST_TIMEOUT).deadline()).await?;
    // Another replica may have been quicker.
    Ok(connection.get(prefix.marker()).await?.unwrap_or_default())
}

/// Waits until the watch has replayed everything there was, for as long as it gets on.
async fn catch_up(core: &Core) -> Result<(), OpenError> {
    let (mut known, mut attempts) = (Revision::ZERO, 0);
    while core.reach_newest().await.is_err() {
        let now = core.shared.timeline.read().revision();
        attempts = if now > known { 1 } else { attempts + 1 };
        known = now;
        let why = core.why();
        // No number of attempts finds a key.
        if attempts == OPEN_ATTEMPTS || matches!(*why, BackendError::Locked { .. }) {
            return Err(OpenError::Backend(BackendError::clone(&why)));
        }
    }
    Ok(())
}
