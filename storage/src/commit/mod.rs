//! From a transaction to an acknowledged commit, on an embedded engine.
//!
//! Two threads in a row. The *validator* takes what is waiting, checks conditions against the state and whatever is
//! still on its way to the disk, and gives out revisions. The *persister* makes a batch durable with one sync, shows
//! it to readers, and answers its writers. While one batch is being synced, the next is being validated.
//!
//! A batch is checked on the assumption that the batch before it succeeds. When one fails, the *generation* moves on
//! and every batch that was checked in an earlier generation is refused unwritten.

mod desk;
mod persister;
mod validator;

use crate::backend::Backend;
use crate::error::{BackendError, CommitError};
use crate::record::{Dead, Ledger, SealedRecords};
use crate::shared::Shared;
use crate::thread::spawn;
use crate::timeline::{Change, HistoryBounds, Writes};
use crate::txn::{Limits, Revision, Txn};
use crate::witness::Witness;
use desk::Asking;
use parking_lot::Mutex;
use persister::Persister;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread::JoinHandle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use validator::Validator;

/// What a commit did.
#[derive(Clone, Debug)]
pub struct Committed {
    /// The commit's revision; if it changed nothing, the newest revision at that moment.
    pub revision: Revision,
    /// The changes as every reader sees them, in the order of the transaction's writes.
    pub changes: Arc<[Arc<Change>]>,
}

pub(crate) type Answer = Result<Committed, CommitError>;

/// Where the new floor of history is awaited.
type FloorReply = oneshot::Sender<Result<Revision, CommitError>>;

/// Transactions that may wait for their answers at once, in KiB of keys and values: backpressure for writers, a bound
/// for memory.
const WAITING_KIB_MAX: usize = 64 * 1024;

/// What the validator is asked to do.
enum Ask {
    Commit {
        txn: Txn,
        waiter: Waiter,
    },
    /// Forget history up to a revision, or up to what the bounds say.
    Forget {
        floor: Option<Revision>,
        reply: FloorReply,
    },
    Close,
}

/// Somebody who waits for an answer, and the weight of his transaction until he has it.
struct Waiter {
    reply: oneshot::Sender<Answer>,
    _weight: OwnedSemaphorePermit,
}

impl Waiter {
    fn tell(self, answer: Answer) {
        // Whoever stopped waiting does not want to know.
        let _ = self.reply.send(answer);
    }
}

/// What the persister is given: checked transactions, and answers that must wait for what came before them.
#[derive(Default)]
struct Batch {
    generation: u64,
    commits: Vec<Checked>,
    /// Conflicts and empty commits. They tell of commits before them, so they must not be told before those are durable.
    settled: Vec<(Waiter, Answer)>,
    forget: Vec<(Option<Revision>, FloorReply)>,
}

struct Checked {
    revision: Revision,
    writes: Writes,
    waiter: Waiter,
}

/// What the two threads tell each other beside batches.
#[derive(Debug, Default)]
struct Progress {
    generation: AtomicU64,
    /// Nothing is left to forget: the persister need not be woken by time.
    quiet: AtomicBool,
    /// Why the last batch failed; `None` while all is well. Leaf lock.
    failure: Mutex<Option<Arc<BackendError>>>,
}

/// What is stored: the engine, and what is known of its contents.
pub(crate) struct Disk {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) witness: Witness,
    pub(crate) ledger: Ledger,
    /// Forgotten by readers, still in the engine.
    pub(crate) dead: Dead,
    pub(crate) sealed: SealedRecords,
}

/// The writing half of an embedded store.
pub(crate) struct Committer {
    desk: Asking,
    waiting: Arc<Semaphore>,
    limits: Limits,
    progress: Arc<Progress>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Committer {
    pub(crate) fn start(disk: Disk, shared: Arc<Shared>, limits: Limits, bounds: HistoryBounds) -> Self {
        let (desk, checking, persisting) = desk::places();
        let progress = Arc::new(Progress::default());
        let persister = Persister::new(disk, shared.clone(), bounds, progress.clone());
        let validator = Validator::new(shared, progress.clone());
        let threads = vec![
            spawn("store-persist", move || persister.run(&persisting)),
            spawn("store-validate", move || validator.run(&checking)),
        ];
        let waiting = Arc::new(Semaphore::new(WAITING_KIB_MAX));
        Self { desk, waiting, limits, progress, threads: Mutex::new(threads) }
    }

    pub(crate) async fn commit(&self, txn: Txn) -> Answer {
        txn.check(&self.limits)?;
        let kib = (txn.weight() / 1024 + 1).min(WAITING_KIB_MAX) as u32;
        let weight = self.waiting.clone().acquire_many_owned(kib).await.map_err(|_| CommitError::Closed)?;
        let (reply, answer) = oneshot::channel();
        // The desk has room for all, the permits are bounded.
        let waiter = Waiter { reply, _weight: weight };
        self.desk.ask(Ask::Commit { txn, waiter }).map_err(|_| CommitError::Closed)?;
        answer.await.unwrap_or(Err(CommitError::Closed))
    }

    /// Forgets history up to `floor`, or as far as the bounds ask; answers with the new floor.
    pub(crate) async fn forget(&self, floor: Option<Revision>) -> Result<Revision, CommitError> {
        let (reply, answer) = oneshot::channel();
        self.desk.ask(Ask::Forget { floor, reply }).map_err(|_| CommitError::Closed)?;
        answer.await.unwrap_or(Err(CommitError::Closed))
    }

    pub(crate) fn failure(&self) -> Option<Arc<BackendError>> {
        self.progress.failure.lock().clone()
    }

    /// The weight of all who wait; each is let go after its answer was given.
    pub(crate) fn waiting_kib(&self) -> usize {
        WAITING_KIB_MAX.saturating_sub(self.waiting.available_permits())
    }

    /// Finishes what was accepted, then ends both threads. The engine is closed when this returns.
    pub(crate) fn close(&self) {
        self.waiting.close();
        let _ = self.desk.ask(Ask::Close);
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.close();
    }
}
