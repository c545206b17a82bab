//! fjall, the embedded default: a log-structured tree with a journal.
//!
//! Keys grow with the revision, so its tables hardly overlap and compaction mostly moves them; its caches are kept
//! small, because reads never come here.

use super::{Backend, Batch, Visit, guarded};
use crate::error::BackendError;
use ::fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::fmt;
use std::path::{Path, PathBuf};

/// Blocks are read once, when the store is opened.
const CACHE_BYTES: u64 = 8 << 20;
/// What a crash leaves to be replayed, and what is held twice in memory.
const MEMTABLE_BYTES: u64 = 16 << 20;
/// The least that fjall accepts is 64 MiB, one journal file.
const JOURNAL_BYTES: u64 = 256 << 20;

const LEDGER_KEY: &str = "ledger";

pub struct FjallBackend {
    dir: PathBuf,
    /// `None` after a reopening failed.
    open: Option<Open>,
}

struct Open {
    database: Database,
    pairs: Keyspace,
    ledger: Keyspace,
}

impl FjallBackend {
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, BackendError> {
        let dir = dir.into();
        let open = Some(open(&dir)?);
        Ok(Self { dir, open })
    }

    fn opened(&self) -> Result<&Open, BackendError> {
        self.open.as_ref().ok_or_else(|| BackendError::Io { path: self.dir.clone(), what: "it is not open".into() })
    }
}

fn open(dir: &Path) -> Result<Open, BackendError> {
    let failed = |error| explain(dir, error);
    guarded(dir, || {
        let database = Database::builder(dir)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .manual_journal_persist(true)
            .open()
            .map_err(failed)?;
        let options =
            || KeyspaceCreateOptions::default().max_memtable_size(MEMTABLE_BYTES).manual_journal_persist(true);
        let pairs = database.keyspace("pairs", options).map_err(failed)?;
        let ledger = database.keyspace("ledger", options).map_err(failed)?;
        Ok(Open { database, pairs, ledger })
    })
}

impl fmt::Debug for FjallBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FjallBackend").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Backend for FjallBackend {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        let open = self.opened()?;
        guarded(&self.dir, || {
            for pair in open.pairs.range(from..to) {
                let (key, value) = pair.into_inner().map_err(|error| explain(&self.dir, error))?;
                if visit(&key, &value)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        let open = self.opened()?;
        guarded(&self.dir, || {
            let ledger = open.ledger.get(LEDGER_KEY).map_err(|error| explain(&self.dir, error))?;
            Ok(ledger.map(|ledger| ledger.to_vec()))
        })
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        let open = self.opened()?;
        guarded(&self.dir, || {
            let mut writes = open.database.batch().durability(Some(PersistMode::SyncData));
            for (key, value) in &batch.puts {
                writes.insert(&open.pairs, key.as_slice(), value.as_slice());
            }
            for key in &batch.removals {
                writes.remove(&open.pairs, key.as_slice());
            }
            writes.insert(&open.ledger, LEDGER_KEY, batch.ledger.as_slice());
            writes.commit().map_err(|error| explain(&self.dir, error))
        })
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        self.open = None;
        self.open = Some(open(&self.dir)?);
        Ok(())
    }
}

fn explain(dir: &Path, error: ::fjall::Error) -> BackendError {
    use ::fjall::{Error, LsmError};
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => BackendError::io(dir, &error),
        Error::Poisoned | Error::Locked | Error::KeyspaceDeleted => {
            BackendError::Io { path: dir.to_owned(), what: error.to_string() }
        }
        damaged => BackendError::Damaged { path: dir.to_owned(), what: damaged.to_string() },
    }
}
