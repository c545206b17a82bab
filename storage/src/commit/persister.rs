//! Makes batches durable, shows them, answers for them, and forgets what is old.

use super::desk::Persisting;
use super::{Batch, Checked, Committed, Disk, Progress};
use crate::backend;
use crate::error::{BackendError, CommitError};
use crate::index::Slot;
use crate::key::Key;
use crate::load;
use crate::record::{Dead, Ledger, Record, SealedRecords};
use crate::shared::Shared;
use crate::timeline::{HistoryBounds, Writes};
use crate::txn::Revision;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Changes forgotten in one go: bounds how long readers wait for it.
const FORGET_STEP: usize = 512;

pub(super) struct Persister {
    disk: Disk,
    shared: Arc<Shared>,
    bounds: HistoryBounds,
    progress: Arc<Progress>,
    /// A batch that failed halfway: only the engine knows whether it is there.
    uncertain: Option<Box<Uncertain>>,
}

struct Uncertain {
    commits: Vec<(Revision, Writes)>,
    stored: backend::Batch,
    ledger: Ledger,
    removed: Dead,
    sealed: SealedRecords,
}

impl Persister {
    pub(super) fn new(disk: Disk, shared: Arc<Shared>, bounds: HistoryBounds, progress: Arc<Progress>) -> Self {
        Self { disk, shared, bounds, progress, uncertain: None }
    }

    pub(super) fn run(mut self, desk: &Persisting) {
        while let Some(batch) = desk.next() {
            self.handle(batch);
        }
    }

    fn handle(&mut self, mut batch: Batch) {
        let forget = std::mem::take(&mut batch.forget);
        let changes: usize = batch.commits.iter().map(|commit| commit.writes.len()).sum();
        let idle = changes == 0;
        match self.ready().and_then(|()| self.check_generation(&batch)) {
            Ok(()) => self.write(batch),
            Err(failure) => Self::refuse(batch, &failure),
        }
        for (floor, reply) in forget {
            let _ = reply.send(self.forget(floor, usize::MAX));
        }
        // In step with the writing: a busy store forgets twice as fast as it learns, an idle one catches up.
        let _ = self.forget(None, if idle { usize::MAX } else { 2 * changes + FORGET_STEP });
        let nothing_left = self.disk.dead.is_empty() && self.shared.timeline.read().history_bytes() == 0;
        self.progress.quiet.store(idle && nothing_left && self.uncertain.is_none(), Ordering::Release);
    }

    /// After a failure: finds out what is really stored. Until that works, nothing is written.
    fn ready(&mut self) -> Result<(), Arc<BackendError>> {
        let Some(uncertain) = self.uncertain.take() else { return Ok(()) };
        match self.reopen(uncertain) {
            Ok(()) => {
                *self.progress.failure.lock() = None;
                Ok(())
            }
            Err((uncertain, failure)) => {
                self.uncertain = Some(uncertain);
                Err(self.fail(failure))
            }
        }
    }

    fn reopen(&mut self, uncertain: Box<Uncertain>) -> Result<(), (Box<Uncertain>, BackendError)> {
        let stored = match self.look(&uncertain) {
            Ok(stored) => stored,
            Err(failure) => return Err((uncertain, failure)),
        };
        if stored == uncertain.ledger {
            // It arrived after all. A restart would have found it, so we show it, late.
            self.disk.ledger = uncertain.ledger;
            self.disk.sealed.merge(uncertain.sealed);
            self.disk.witness.record(self.disk.ledger.revision);
            self.shared.publish(uncertain.commits);
            self.progress.generation.fetch_add(1, Ordering::AcqRel);
            return Ok(());
        }
        if stored == self.disk.ledger {
            self.disk.dead.merge(uncertain.removed);
            return Ok(());
        }
        let what = format!("it holds revision {}, expected {}", stored.revision, self.disk.ledger.revision);
        Err((uncertain, BackendError::Damaged { path: PathBuf::from("the store"), what }))
    }

    /// The ledger that is really stored. A batch that is there is written once more: it can be read, but the sync that
    /// failed may have dropped it from the way to the disk.
    fn look(&mut self, uncertain: &Uncertain) -> Result<Ledger, BackendError> {
        self.disk.backend.reopen()?;
        let stored = load::ledger(&*self.disk.backend, Path::new("the store"))?.unwrap_or_default();
        if stored == uncertain.ledger {
            self.disk.backend.persist(&uncertain.stored)?;
        }
        Ok(stored)
    }

    fn check_generation(&self, batch: &Batch) -> Result<(), Arc<BackendError>> {
        let tells_nothing = batch.commits.is_empty() && batch.settled.is_empty();
        if tells_nothing || batch.generation == self.progress.generation.load(Ordering::Acquire) {
            return Ok(());
        }
        let failure = self.progress.failure.lock().clone();
        Err(failure.unwrap_or_else(|| Arc::new(BackendError::Interrupted)))
    }

    fn write(&mut self, batch: Batch) {
        let Batch { commits, settled, .. } = batch;
        let removed = self.disk.dead.due(commits.is_empty());
        let (commits, waiters): (Vec<_>, Vec<_>) =
            commits.into_iter().map(|Checked { revision, writes, waiter }| ((revision, writes), waiter)).unzip();
        if commits.is_empty() && removed.is_empty() {
            settled.into_iter().for_each(|(waiter, answer)| waiter.tell(answer));
            return;
        }
        let (stored, ledger, sealed) = self.encode(&commits, &removed);
        if let Err(failure) = self.disk.backend.persist(&stored) {
            self.uncertain = Some(Box::new(Uncertain { commits, stored, ledger, removed, sealed }));
            let failure = self.fail(failure);
            waiters.into_iter().for_each(|waiter| waiter.tell(Err(CommitError::Uncertain(failure.clone()))));
            // They wrote nothing; what they would have been told may not be so.
            settled.into_iter().for_each(|(waiter, _)| waiter.tell(Err(CommitError::Unavailable(failure.clone()))));
            return;
        }
        self.disk.ledger = ledger;
        self.disk.sealed.merge(sealed);
        self.disk.witness.record(ledger.revision);
        for (commit, waiter) in self.shared.publish(commits).into_iter().zip(waiters) {
            waiter.tell(Ok(Committed { revision: commit.revision, changes: commit.changes.clone() }));
        }
        settled.into_iter().for_each(|(waiter, answer)| waiter.tell(answer));
    }

    /// The batch for the engine, and the ledger and what is sealed once it is stored.
    fn encode(&self, commits: &[(Revision, Writes)], removed: &Dead) -> (backend::Batch, Ledger, SealedRecords) {
        let mut ledger = self.disk.ledger;
        let mut batch = backend::Batch::default();
        let mut sealed = SealedRecords::default();
        // A key may be created and changed within the batch: the timeline does not know of the first yet.
        let mut created = CreatedWithin::default();
        for (revision, writes) in commits {
            for (key, value) in writes {
                let slot = created.slot(&self.shared, key, *revision, value.clone());
                let record = Record::plain(key.clone(), slot).under(&self.shared.seal);
                let (encoded, checksum) = record.encode();
                ledger.add(checksum);
                if record.sealed {
                    sealed.add(key.clone(), *revision, checksum);
                }
                batch.puts.push((record.physical_key(), encoded));
            }
            ledger.revision = *revision;
        }
        for (key, checksum) in removed.records() {
            ledger.subtract(*checksum);
            batch.removals.push(key.clone());
        }
        ledger.floor = self.shared.timeline.read().floor();
        batch.ledger = ledger.encode();
        (batch, ledger, sealed)
    }

    /// Whatever was checked on top of a refused batch is of an older generation as well: the failure that is the
    /// reason for refusing has moved it on.
    fn refuse(batch: Batch, failure: &Arc<BackendError>) {
        let refused = || Err(CommitError::Unavailable(failure.clone()));
        batch.commits.into_iter().for_each(|commit| commit.waiter.tell(refused()));
        batch.settled.into_iter().for_each(|(waiter, _)| waiter.tell(refused()));
    }

    fn fail(&self, failure: BackendError) -> Arc<BackendError> {
        let failure = Arc::new(failure);
        tracing::error!(%failure, "the store cannot write");
        *self.progress.failure.lock() = Some(failure.clone());
        self.progress.generation.fetch_add(1, Ordering::AcqRel);
        failure
    }

    /// Forgets up to `floor`, or what is due, but at most about `changes_max` changes; answers how far it got.
    fn forget(&mut self, floor: Option<Revision>, changes_max: usize) -> Result<Revision, CommitError> {
        let now = self.shared.clock.now();
        let target = floor.unwrap_or_else(|| self.shared.timeline.read().due(&self.bounds, now));
        let mut budget = changes_max;
        loop {
            let before = self.shared.timeline.read().floor();
            let slots = self.shared.forget(target, FORGET_STEP.min(budget));
            let reached = self.shared.timeline.read().floor();
            let Disk { dead, sealed, .. } = &mut self.disk;
            slots.into_iter().for_each(|(key, slot)| dead.add(key, slot, sealed));
            budget = budget.saturating_sub(FORGET_STEP);
            if reached >= target || reached == before || budget == 0 {
                return Ok(reached);
            }
        }
    }
}

/// When keys that change in one batch were created.
#[derive(Default)]
struct CreatedWithin(std::collections::HashMap<Key, Option<Revision>>);

impl CreatedWithin {
    fn slot(&mut self, shared: &Shared, key: &Key, revision: Revision, value: Option<bytes::Bytes>) -> Slot {
        let stored = || shared.timeline.read().newest(key.as_bytes()).map(|version| version.created);
        let earlier = self.0.get(key).copied().unwrap_or_else(stored);
        let created = earlier.unwrap_or(revision);
        self.0.insert(key.clone(), value.is_some().then_some(created));
        Slot { modified: revision, created, value }
    }
}
