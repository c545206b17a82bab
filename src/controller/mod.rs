//! What every controller runs on: keys that need a look, a few of them looked at at a time, again when it failed.
//!
//! A [`Reconciler`] is given a key, never an event: it reads what is, decides what should be, and acts. Why it was
//! woken is nothing it may depend on. Keys come from a [`Source`]; a [`Controller`] joins the two.

mod mailbox;
mod queue;
mod source;

pub use mailbox::Mailbox;
pub use source::{Source, changes_of, tell};

use apiserver::error::ApiError;
use queue::{Queue, Verdict};
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;

/// Keys on their way from the sources: enough that they need not wait for each other.
const OFFERED_MAX: usize = 256;

/// Everything is looked at again after this long, in case that something went unnoticed.
const RESYNC: Duration = Duration::from_mins(30);

/// When a key needs another look without anything having changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Done,
    After(Duration),
}

/// Brings one thing closer to how it should be.
pub trait Reconciler: Send + Sync + 'static {
    type Key: Clone + Eq + Hash + fmt::Debug + Send + Sync + 'static;

    fn name(&self) -> &'static str;

    /// Never runs twice at once for one key. After an error it is tried again, ever less often.
    fn reconcile(&self, key: &Self::Key) -> impl Future<Output = Result<Action, ApiError>> + Send;
}

/// A reconciler with what wakes it.
pub struct Controller<R: Reconciler> {
    reconciler: Arc<R>,
    sources: Vec<Box<dyn Source<Key = R::Key>>>,
    first: Vec<R::Key>,
    mailbox: Arc<Mailbox<R::Key>>,
    resync: Duration,
    workers: usize,
    shared: Option<Shared>,
}

/// What many controllers of a sort have together.
struct Shared {
    /// How many keys each may look at whatever the others do.
    own: usize,
    more: Arc<Semaphore>,
}

impl<R: Reconciler> Controller<R> {
    pub fn new(reconciler: R) -> Self {
        let reconciler = Arc::new(reconciler);
        let (sources, first, mailbox) = (Vec::new(), Vec::new(), Arc::default());
        Self { reconciler, sources, first, mailbox, resync: RESYNC, workers: 1, shared: None }
    }

    #[must_use]
    pub fn source(mut self, source: impl Source<Key = R::Key>) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Looks at these to begin with.
    #[must_use]
    pub fn first(mut self, keys: impl IntoIterator<Item = R::Key>) -> Self {
        self.first.extend(keys);
        self
    }

    /// Looks at what others put in here.
    #[must_use]
    pub fn mailbox(mut self, mailbox: &Arc<Mailbox<R::Key>>) -> Self {
        self.mailbox = mailbox.clone();
        self
    }

    #[must_use]
    pub fn resync(mut self, every: Duration) -> Self {
        self.resync = every;
        self
    }

    /// How many keys are looked at at once.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Has `own` of its workers for itself, and for each of the others takes one of those that it shares: what is looked at
    /// holds memory, and there may be very many controllers of a sort.
    #[must_use]
    pub fn sharing(mut self, own: usize, more: &Arc<Semaphore>) -> Self {
        self.shared = Some(Shared { own, more: more.clone() });
        self
    }

    /// Works until it is stopped, and then finishes what it has begun.
    pub async fn run(self, stop: CancellationToken) {
        let (mut feeds, mut offered) = fed(self.sources, self.resync);
        let mut queue = Queue::new(self.reconciler.name());
        self.first.into_iter().for_each(|key| queue.add(key));
        let mut running = Running::new(self.reconciler);
        loop {
            while running.tasks.len() < self.workers
                && queue.has_ready()
                && let Some(worker) = free(self.shared.as_ref(), running.tasks.len())
                && let Some(key) = queue.take()
            {
                running.start(key, worker);
            }
            let waits = running.tasks.len() < self.workers && queue.has_ready();
            tokio::select! {
                () = stop.cancelled() => break,
                Some(worker) = freed(self.shared.as_ref()), if waits => {
                    if let Some(key) = queue.take() {
                        running.start(key, Some(worker));
                    }
                }
                Some((key, verdict)) = running.next() => queue.finish(key, verdict),
                Some(()) = queue.due() => {}
                Some(key) = next_of(&mut offered), if queue.has_room() => queue.add(key),
                key = self.mailbox.take(), if queue.has_room() => queue.add(key),
            }
        }
        feeds.shutdown().await;
        while running.next().await.is_some() {}
    }
}

/// Keys that sources offer; nothing for a controller that has none.
type Offered<K> = Option<mpsc::Receiver<K>>;

/// Begins to ask the sources. Where there are none, there is no queue: it takes some KB, and each cell has controllers that
/// live on their mailboxes.
fn fed<K: Send + 'static>(sources: Vec<Box<dyn Source<Key = K>>>, resync: Duration) -> (JoinSet<()>, Offered<K>) {
    let mut feeds = JoinSet::new();
    if sources.is_empty() {
        return (feeds, None);
    }
    let (offer, offered) = mpsc::channel(OFFERED_MAX);
    for source in sources {
        feeds.spawn(source::feed(source, offer.clone(), resync));
    }
    (feeds, Some(offered))
}

/// The next key that a source offers; `None` when there will never be one. Cancel safe.
async fn next_of<K>(offered: &mut Offered<K>) -> Option<K> {
    offered.as_mut()?.recv().await
}

/// A worker of its own, or one of those that are shared; nothing while there is neither.
fn free(shared: Option<&Shared>, busy: usize) -> Option<Option<OwnedSemaphorePermit>> {
    match shared {
        Some(Shared { own, more }) if busy >= *own => more.clone().try_acquire_owned().ok().map(Some),
        _ => Some(None),
    }
}

/// Waits for one of those that are shared, in line with others. Cancel safe.
async fn freed(shared: Option<&Shared>) -> Option<OwnedSemaphorePermit> {
    shared?.more.clone().acquire_owned().await.ok()
}

impl<R: Reconciler> fmt::Debug for Controller<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller").field("name", &self.reconciler.name()).finish_non_exhaustive()
    }
}

/// The keys that are being looked at.
struct Running<R: Reconciler> {
    reconciler: Arc<R>,
    tasks: JoinSet<Result<Action, ApiError>>,
    keys: HashMap<Id, R::Key>,
}

impl<R: Reconciler> Running<R> {
    fn new(reconciler: Arc<R>) -> Self {
        Self { reconciler, tasks: JoinSet::new(), keys: HashMap::new() }
    }

    fn start(&mut self, key: R::Key, worker: Option<OwnedSemaphorePermit>) {
        let (reconciler, at) = (self.reconciler.clone(), key.clone());
        let task = self.tasks.spawn(async move {
            let ended = reconciler.reconcile(&at).await;
            drop(worker);
            ended
        });
        self.keys.insert(task.id(), key);
    }

    /// The next that is done; `None` when nothing runs. Cancel safe.
    async fn next(&mut self) -> Option<(R::Key, Verdict)> {
        let (id, verdict) = match self.tasks.join_next_with_id().await? {
            Ok((id, Ok(Action::Done))) => (id, Verdict::Done),
            Ok((id, Ok(Action::After(delay)))) => (id, Verdict::After(delay)),
            Ok((id, Err(error))) => (id, Verdict::Failed(error.to_string())),
            // A bug in one reconciliation is no reason to stop all others.
            Err(error) => (error.id(), Verdict::Failed(error.to_string())),
        };
        let key = self.keys.remove(&id)?;
        if let Verdict::Failed(error) = &verdict {
            tracing::debug!(controller = self.reconciler.name(), ?key, error, "will be tried again");
        }
        Some((key, verdict))
    }
}

#[cfg(test)]
mod tests;
