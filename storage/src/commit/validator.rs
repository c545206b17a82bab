//! Checks transactions and gives out revisions.

use super::desk::{Checking, Gone};
use super::{Ask, Batch, Checked, Committed, Progress};
use crate::error::CommitError;
use crate::key::Key;
use crate::shared::Shared;
use crate::timeline::Writes;
use crate::txn::{Expect, Revision, Txn, Write};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Transactions in one batch: past this a larger batch saves no syncs worth its latency.
const BATCH_MAX: usize = 1024;

/// How often history is looked through for what has grown old, while no commits come.
const IDLE_TICK: Duration = Duration::from_secs(1);

/// What keys will hold once the batches that are under way are applied: a revision, or nothing.
type Overlay = HashMap<Key, Option<Revision>>;

pub(super) struct Validator {
    shared: Arc<Shared>,
    progress: Arc<Progress>,
    /// The last revision given out. It may have been given to a commit that failed.
    last: Revision,
    /// The newest revision there is, or will be if the batches under way succeed.
    newest: Revision,
    batch: Batch,
    forming: Overlay,
    syncing: Overlay,
}

/// What became of an ask.
enum Flow {
    Continue,
    Close,
}

impl Validator {
    pub(super) fn new(shared: Arc<Shared>, progress: Arc<Progress>) -> Self {
        let last = shared.timeline.read().revision();
        let batch = Batch::default();
        Self { shared, progress, last, newest: last, batch, forming: Overlay::new(), syncing: Overlay::new() }
    }

    pub(super) fn run(mut self, desk: &Checking) {
        loop {
            let time = (!self.progress.quiet.load(Ordering::Acquire)).then_some(IDLE_TICK);
            let first = desk.wait(time);
            self.begin();
            let mut flow = first.map_or(Flow::Continue, |ask| self.take(ask));
            if matches!(flow, Flow::Continue) {
                flow = self.fill(desk);
            }
            if self.hand_over(desk).is_err() || matches!(flow, Flow::Close) {
                return;
            }
        }
    }

    /// A new batch. If something failed since the last one, what was assumed of it no longer holds.
    fn begin(&mut self) {
        let generation = self.progress.generation.load(Ordering::Acquire);
        if generation != self.batch.generation {
            self.syncing.clear();
            self.newest = self.shared.timeline.read().revision();
            // A batch of uncertain fate may have been adopted: never give out a revision twice.
            self.last = self.last.max(self.newest);
        }
        self.batch = Batch { generation, ..Batch::default() };
    }

    /// Takes whatever is waiting, and whatever comes until the persister is free.
    fn fill(&mut self, desk: &Checking) -> Flow {
        while self.batch.commits.len() < BATCH_MAX {
            let Some(ask) = desk.more() else { return Flow::Continue };
            if matches!(self.take(ask), Flow::Close) {
                return Flow::Close;
            }
        }
        Flow::Continue
    }

    fn hand_over(&mut self, desk: &Checking) -> Result<(), Gone> {
        let generation = self.batch.generation;
        let batch = std::mem::replace(&mut self.batch, Batch { generation, ..Batch::default() });
        let idle = batch.commits.is_empty();
        // The persister takes this batch only when the one before it is applied: its overlay is then the timeline's.
        desk.hand_over(batch)?;
        if !idle {
            // It will find work for later in this batch, but we may be waiting again before it says so.
            self.progress.quiet.store(false, Ordering::Release);
        }
        self.syncing = std::mem::take(&mut self.forming);
        Ok(())
    }

    fn take(&mut self, ask: Ask) -> Flow {
        match ask {
            Ask::Commit { txn, waiter } => match self.check(txn) {
                Ok(Some((revision, writes))) => self.batch.commits.push(Checked { revision, writes, waiter }),
                Ok(None) => {
                    let nothing = Committed { revision: self.newest, changes: Arc::from([]) };
                    self.batch.settled.push((waiter, Ok(nothing)));
                }
                Err(conflict) => self.batch.settled.push((waiter, Err(conflict))),
            },
            Ask::Forget { floor, reply } => self.batch.forget.push((floor, reply)),
            Ask::Close => return Flow::Close,
        }
        Flow::Continue
    }

    /// A revision and the writes it makes; `None` if the transaction changes nothing.
    fn check(&mut self, txn: Txn) -> Result<Option<(Revision, Writes)>, CommitError> {
        for (key, expected) in txn.expects {
            let found = self.found(&key);
            let holds = match expected {
                Expect::Absent => found.is_none(),
                Expect::At(revision) => found == Some(revision),
            };
            if !holds {
                return Err(CommitError::Conflict { key, expected, found });
            }
        }
        let revision = self.last.next();
        let mut writes = Writes::with_capacity(txn.writes.len());
        for (key, write) in txn.writes {
            match write {
                Write::Put(draft) => writes.push((key, Some(draft.stamped(revision)))),
                Write::Delete if self.found(&key).is_some() => writes.push((key, None)),
                Write::Delete => {}
            }
        }
        if writes.is_empty() {
            return Ok(None);
        }
        (self.last, self.newest) = (revision, revision);
        for (key, value) in &writes {
            self.forming.insert(key.clone(), value.is_some().then_some(revision));
        }
        Ok(Some((revision, writes)))
    }

    /// Which commit last wrote `key`, the unfinished ones included.
    fn found(&self, key: &Key) -> Option<Revision> {
        if let Some(pending) = self.forming.get(key).or_else(|| self.syncing.get(key)) {
            return *pending;
        }
        self.shared.timeline.read().newest(key.as_bytes()).map(|version| version.modified)
    }
}
