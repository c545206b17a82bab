//! A worker for every cell that is up, and nobody for those that are not: what they missed, they are told when they
//! come back.

use super::actual::Actuals;
use super::dispatch::Post;
use super::records;
use super::upsync::Upsyncs;
use super::watches::Watches;
use super::wish::Wishes;
use super::worker::Worker;
use crate::apis::definitions::CELLS;
use crate::controller::Controller;
use crate::fleet::{CellId, CopyId, CopyKind, Fleet, Ledger, Served, Session};
use apiserver::client::Client;
use apiserver::error::ApiError;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// Copies of one cell that are dealt with at once: as many requests as a cell gets at once.
const COPIES_AT_ONCE: usize = 64;

/// Those of them that each cell has whatever becomes of others, and what all cells share of the rest. What is dealt with
/// holds some 10 KB; and cells that do not answer hold what is shared for a while.
const COPIES_OF_ITS_OWN: usize = 2;
const COPIES_SHARED: usize = 512;

/// Lists of cells that are read at once: each is a page of objects as trees.
const LISTED_AT_ONCE: usize = 8;

/// How often it is looked whether there are records of cells that nobody knows any more.
const SWEEP: Duration = Duration::from_secs(2);

pub(super) struct Supervisor {
    pub(super) client: Client,
    pub(super) fleet: Fleet,
    pub(super) ledger: Arc<Ledger>,
    pub(super) wishes: Wishes,
    pub(super) hub: Arc<str>,
    pub(super) post: Post,
    pub(super) shared: Shared,
}

/// What all cells have together.
pub(super) struct Shared {
    workers: Arc<Semaphore>,
    listing: Arc<Semaphore>,
}

impl Default for Shared {
    fn default() -> Self {
        Self { workers: Arc::new(Semaphore::new(COPIES_SHARED)), listing: Arc::new(Semaphore::new(LISTED_AT_ONCE)) }
    }
}

struct Running {
    session: Arc<Session>,
    stop: CancellationToken,
    task: JoinHandle<()>,
    /// Nothing of it works on the cell any more.
    done: CancellationToken,
    /// What the cell served when its copies were last told of it.
    served: Arc<Served>,
}

impl Supervisor {
    pub(super) async fn run(self, stop: CancellationToken) {
        let mut changes = self.fleet.changes();
        let mut running: BTreeMap<CellId, Running> = BTreeMap::new();
        let mut sweep = tokio::time::interval(SWEEP);
        // Workers that end are told of like cells that come and go: nobody takes their place any more.
        while !stop.is_cancelled() {
            self.adjust(&mut running, &stop).await;
            tokio::select! {
                () = stop.cancelled() => break,
                changed = changes.changed() => if changed.is_err() { break },
                _ = sweep.tick() => self.forget_lost(&running).await,
            }
        }
        for (_, running) in running {
            running.end().await;
        }
    }

    /// Ends the workers of cells that are down or another by now, and starts those of cells that are up.
    async fn adjust(&self, running: &mut BTreeMap<CellId, Running>, stop: &CancellationToken) {
        let up: BTreeMap<CellId, Arc<Session>> = self
            .fleet
            .sessions()
            .into_iter()
            .filter(|session| session.is_up())
            .map(|up| (up.cell.clone(), up))
            .collect();
        let ended: BTreeSet<CellId> = running
            .iter()
            .filter(|(cell, running)| !running.serves(up.get(*cell)))
            .map(|(cell, _)| cell.clone())
            .collect();
        for cell in ended {
            // Only one may work on a cell at a time, so the former one is waited for; it gives up soon.
            if let Some(former) = running.remove(&cell) {
                former.stop.cancel();
                if !former.has_ended() {
                    running.insert(cell, former);
                }
            }
        }
        for (cell, running) in running.iter_mut() {
            self.retry_refused(cell, running);
        }
        for (cell, session) in up {
            running.entry(cell).or_insert_with(|| self.start(session, stop));
        }
    }

    /// A cell that serves other kinds by now may take what it could not.
    fn retry_refused(&self, cell: &CellId, running: &mut Running) {
        let served = running.session.resources();
        if served == running.served {
            return;
        }
        running.served = served;
        let mailbox = self.post.mailbox(cell);
        for id in self.ledger.in_cell(cell) {
            mailbox.put(id);
        }
    }

    fn start(&self, session: Arc<Session>, stop: &CancellationToken) -> Running {
        let stop = stop.child_token();
        let mailbox = self.post.mailbox(&session.cell);
        let actuals = Arc::new(Actuals::default());
        let watching = (&*self.hub, &self.shared.listing);
        let watches = Watches::new(&session, &self.ledger, &actuals, &mailbox, watching, &stop);
        let upsyncs = Upsyncs::new(&self.wishes, &session, &self.ledger, &stop);
        let worker = Worker {
            client: self.client.clone(),
            session: session.clone(),
            ledger: self.ledger.clone(),
            wishes: self.wishes.clone(),
            hub: self.hub.clone(),
            actuals,
            watches: watches.clone(),
            upsyncs: upsyncs.clone(),
        };
        let all = self.post.wanted_in(&session.cell).into_iter().chain(self.ledger.in_cell(&session.cell));
        // Of the others the watches tell that are begun here. Most are of few kinds.
        let mut watched: Vec<(Arc<CopyKind>, bool)> = Vec::new();
        let mut waits_for_watch = |id: &CopyId| {
            let Some(kind) = self.ledger.made_as(id) else { return false };
            if let Some((_, waits)) = watched.iter().find(|(known, _)| Arc::ptr_eq(known, &kind)) {
                return *waits;
            }
            let waits = worker.waits_for_watch_of(&kind);
            watched.push((kind, waits));
            waits
        };
        all.filter(|id| !waits_for_watch(id)).for_each(|id| mailbox.put(id));
        let controller = Controller::new(worker).mailbox(&mailbox).workers(COPIES_AT_ONCE);
        let controller = controller.sharing(COPIES_OF_ITS_OWN, &self.shared.workers);
        let (fleet, until, done) = (self.fleet.clone(), stop.clone(), CancellationToken::new());
        let ended = done.clone();
        let task = tokio::spawn(async move {
            controller.run(until).await;
            watches.stopped().await;
            upsyncs.stopped().await;
            ended.cancel();
            fleet.nudge();
        });
        let served = session.resources();
        Running { session, stop, task, done, served }
    }

    /// Forgets the copies in cells that were removed on purpose without having been emptied.
    async fn forget_lost(&self, running: &BTreeMap<CellId, Running>) {
        for cell in self.ledger.cells().into_iter().filter(|cell| !running.contains_key(cell)) {
            if let Err(error) = self.forget_if_lost(&cell).await {
                tracing::warn!(%cell, %error, "records of a cell that is no more could not be removed");
            }
        }
    }

    async fn forget_if_lost(&self, cell: &CellId) -> Result<(), ApiError> {
        let place = self.client.at(CELLS, &cell.workspace, None)?.object(&cell.name);
        if self.client.glance(&place)?.is_some() {
            return Ok(());
        }
        for id in self.ledger.in_cell(cell) {
            records::forget(&self.client, &id).await?;
        }
        Ok(())
    }
}

impl Running {
    /// Whether it works for this session, and goes on doing so. One that was stopped is of no use to a cell that is
    /// back before it has ended.
    fn serves(&self, session: Option<&Arc<Session>>) -> bool {
        let same = session.is_some_and(|session| Arc::ptr_eq(session, &self.session));
        same && !self.stop.is_cancelled() && !self.has_ended()
    }

    fn has_ended(&self) -> bool {
        self.done.is_cancelled() || self.task.is_finished()
    }

    async fn end(self) {
        self.stop.cancel();
        // It ends by itself; a panic in it has been told.
        let _ = self.task.await;
    }
}
