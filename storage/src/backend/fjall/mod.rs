//! fjall, the embedded default: a log-structured tree with a journal.
//!
//! Keys grow with the revision, so its tables hardly overlap and compaction mostly moves them; its caches are kept
//! small, because reads never come here.

mod files;
mod journal;

use super::{Anchor, Backend, Batch, Visit, guarded, made_whole};
use crate::error::BackendError;
use crate::txn::Revision;
use ::fjall::{Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Blocks are read once, when the store is opened.
const CACHE_BYTES: u64 = 8 << 20;
/// What a crash leaves to be replayed, and what is held twice in memory.
const MEMTABLE_BYTES: u64 = 16 << 20;
/// The least that fjall accepts is 64 MiB, one journal file.
const JOURNAL_BYTES: u64 = 256 << 20;

/// fjall itself waits, for ever, at 4 memtables that are not written out and at 30 tables that are not compacted. A
/// batch adds at most 2 of either, so whoever waits at these never waits in there.
const SEALED_MAX: usize = 2;
const LEVEL_ZERO_MAX: usize = 20;
/// Longer than any disk that works needs to write out a memtable.
const STALL_MAX: Duration = Duration::from_secs(60);
const STALL_STEP: Duration = Duration::from_millis(1);

/// Shorter than the key of any pair.
const LEDGER_KEY: &[u8] = b"ledger";

pub struct FjallBackend {
    dir: PathBuf,
    /// `None` after a reopening failed.
    open: Option<Open>,
}

struct Open {
    database: Database,
    pairs: Keyspace,
    ledger: Keyspace,
    anchor: Anchor,
}

impl FjallBackend {
    /// Opens what is in `dir`; makes it if there is nothing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, BackendError> {
        Self::open_after(dir, Revision::ZERO)
    }

    /// The same, but knowing that commits up to `acknowledged` must be there: fjall is not let in if it would lose some.
    pub(crate) fn open_after(dir: impl Into<PathBuf>, acknowledged: Revision) -> Result<Self, BackendError> {
        let dir = dir.into();
        if acknowledged == Revision::ZERO && !super::exists(&dir)? {
            made_whole(&dir, |unfinished| open(unfinished).map(drop))?;
        }
        files::check(&dir, acknowledged)?;
        let open = open(&dir).map_err(|error| blamed(&dir, error))?;
        Ok(Self { dir, open: Some(open) })
    }

    fn opened(&self) -> Result<&Open, BackendError> {
        self.open.as_ref().ok_or_else(|| BackendError::Io { path: self.dir.clone(), what: "it is not open".into() })
    }
}

/// Names the file that is behind a complaint about the whole directory.
pub(crate) fn blamed(dir: &Path, error: BackendError) -> BackendError {
    let BackendError::Damaged { path, what } = error else { return error };
    match files::blame(dir) {
        Some(BackendError::Damaged { path, what: found }) => {
            BackendError::Damaged { path, what: format!("{found} ({what})") }
        }
        _ => BackendError::Damaged { path, what },
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
        Ok(Open { database, pairs, ledger, anchor: Anchor::cast(dir.join(files::MARK))? })
    })
}

impl Open {
    /// Waits until fjall's own waiting cannot begin, or until it has given up writing in the background.
    fn wait_for_room(&self, dir: &Path) -> Result<(), BackendError> {
        let mut steps = 0;
        while self.pairs.sealed_memtable_count() >= SEALED_MAX || self.pairs.l0_table_count() >= LEVEL_ZERO_MAX {
            // Nothing is waiting to be persisted: this only tells whether a background write has failed.
            self.database.persist(PersistMode::Buffer).map_err(|error| explain(dir, error))?;
            steps += 1;
            if steps * STALL_STEP > STALL_MAX {
                let what = format!("it has written nothing in the background for {STALL_MAX:?}");
                return Err(BackendError::Io { path: dir.to_owned(), what });
            }
            std::thread::sleep(STALL_STEP);
        }
        Ok(())
    }
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
            open.wait_for_room(&self.dir)?;
            let mut writes = open.database.batch().durability(Some(PersistMode::SyncData));
            for (key, value) in &batch.puts {
                writes.insert(&open.pairs, key.as_slice(), value.as_slice());
            }
            for key in &batch.removals {
                writes.remove(&open.pairs, key.as_slice());
            }
            writes.insert(&open.ledger, LEDGER_KEY, batch.ledger.as_slice());
            writes.commit().map_err(|error| explain(&self.dir, error))?;
            open.anchor.check()
        })
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        let failed = self.open.take();
        // It panics on its way out if a panic is what made it fail; either way it is gone afterwards.
        let _ = guarded(&self.dir, || {
            drop(failed);
            Ok(())
        });
        if !super::exists(&self.dir)? {
            return Err(BackendError::Gone { path: self.dir.clone() });
        }
        files::check(&self.dir, Revision::ZERO)?;
        self.open = Some(open(&self.dir).map_err(|error| blamed(&self.dir, error))?);
        Ok(())
    }
}

fn explain(dir: &Path, error: ::fjall::Error) -> BackendError {
    use ::fjall::{Error, LsmError};
    match error {
        Error::Io(error) | Error::Storage(LsmError::Io(error)) => match error.kind() {
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                BackendError::Damaged { path: dir.to_owned(), what: error.to_string() }
            }
            _ => BackendError::io(dir, &error),
        },
        Error::Poisoned => why_poisoned(dir),
        Error::Locked | Error::KeyspaceDeleted => BackendError::Io { path: dir.to_owned(), what: error.to_string() },
        damaged => BackendError::Damaged { path: dir.to_owned(), what: damaged.to_string() },
    }
}

/// A write failed in one of fjall's own threads, which does not say why: we try one of the same size and see.
fn why_poisoned(dir: &Path) -> BackendError {
    let probe = dir.join("probe");
    let tried = File::create(&probe).and_then(|mut file| {
        let megabyte = vec![1; 1 << 20];
        (0..MEMTABLE_BYTES >> 20).try_for_each(|_| file.write_all(&megabyte))?;
        file.sync_all()
    });
    let _ = std::fs::remove_file(&probe);
    match tried {
        Err(error) => BackendError::io(dir, &error),
        Ok(()) => BackendError::Io { path: dir.to_owned(), what: "a write in the background failed".to_owned() },
    }
}
