//! sled, used with the care it needs.
//!
//! Its own `flush` asks Linux to start writing, not to finish, and what does not fit a segment goes to files that
//! nobody syncs. So: large segments, values in chunks that always fit, and a real sync of its file before anything
//! is acknowledged.

mod files;
mod flusher;

use super::{Anchor, Backend, Batch, Visit, guarded, made_whole};
use crate::error::BackendError;
use crate::txn::Revision;
use ::sled::{Db, IVec};
use flusher::Flusher;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const SEGMENT_BYTES: usize = 16 << 20;
const CACHE_BYTES: u64 = 16 << 20;
/// Far below a segment, so that no value ever leaves the synced file.
const CHUNK_BYTES: usize = 64 << 10;

/// Longer than a thread needs to finish a write that is under way.
const LOCK_MAX: Duration = Duration::from_secs(30);
const LOCK_STEP: Duration = Duration::from_millis(2);

/// A pair is stored under `P key`: either whole (`W value`) or as the number of its chunks (`C count`), which are
/// stored under `Q key number`. The ledger is stored under `L`.
const LEDGER_KEY: &[u8] = b"L";
const PAIR: u8 = b'P';
const CHUNK: u8 = b'Q';
const WHOLE: u8 = b'W';
const CHUNKED: u8 = b'C';

pub struct SledBackend {
    dir: PathBuf,
    /// `None` after a reopening failed.
    open: Option<Open>,
}

struct Open {
    // Dropped before the engine itself: it holds on to it too.
    flusher: Flusher<Result<usize, ::sled::Error>>,
    db: Db,
    log: Anchor,
}

impl SledBackend {
    /// Opens what is in `dir`; makes it if there is nothing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, BackendError> {
        Self::open_after(dir, Revision::ZERO)
    }

    /// The same, but knowing that commits up to `acknowledged` must be there.
    pub(crate) fn open_after(dir: impl Into<PathBuf>, acknowledged: Revision) -> Result<Self, BackendError> {
        let dir = dir.into();
        if acknowledged == Revision::ZERO && !super::exists(&dir)? {
            made_whole(&dir, |unfinished| open(unfinished).map(drop))?;
        }
        files::check(&dir)?;
        let open = open(&dir)?;
        Ok(Self { dir, open: Some(open) })
    }

    fn opened(&self) -> Result<&Open, BackendError> {
        self.open.as_ref().ok_or_else(|| not_open(&self.dir))
    }
}

fn not_open(dir: &Path) -> BackendError {
    BackendError::Io { path: dir.to_owned(), what: "it is not open".into() }
}

/// What was read does not add up: notes it, so that nobody makes it worse.
pub(crate) fn condemned(dir: &Path, error: BackendError) -> BackendError {
    let BackendError::Damaged { what, .. } = error else { return error };
    files::condemn(dir, &what)
}

fn open(dir: &Path) -> Result<Open, BackendError> {
    let path = files::log(dir);
    guarded(&path, || {
        let db = open_unlocked(dir)?;
        let log = Anchor::cast(path.clone())?;
        log.file.sync_all().map_err(|error| BackendError::io(&path, &error))?;
        let flushed = db.clone();
        let flusher = Flusher::start(move || flushed.flush()).map_err(|error| BackendError::io(&path, &error))?;
        Ok(Open { flusher, db, log })
    })
}

/// The threads of a sled that was dropped keep its lock a little longer. Nobody else can have it: the directory is ours.
fn open_unlocked(dir: &Path) -> Result<Db, BackendError> {
    let config =
        ::sled::Config::new().path(dir).segment_size(SEGMENT_BYTES).cache_capacity(CACHE_BYTES).flush_every_ms(None);
    let mut waited = Duration::ZERO;
    loop {
        match config.open() {
            Ok(db) => return Ok(db),
            Err(error) if is_lock(&error) && waited < LOCK_MAX => {
                std::thread::sleep(LOCK_STEP);
                waited += LOCK_STEP;
            }
            Err(error) => {
                return Err(match explain(dir, error) {
                    // Whatever did not make sense to it may be overwritten by now.
                    error @ BackendError::Damaged { .. } => condemned(dir, error),
                    error => error,
                });
            }
        }
    }
}

fn is_lock(error: &::sled::Error) -> bool {
    matches!(error, ::sled::Error::Io(error) if error.to_string().starts_with("could not acquire lock"))
}

impl Open {
    fn put(&self, writes: &mut ::sled::Batch, key: &[u8], value: &[u8]) -> Result<(), ::sled::Error> {
        self.remove_chunks(writes, key)?;
        if value.len() <= CHUNK_BYTES {
            writes.insert(pair_key(key), [&[WHOLE], value].concat());
            return Ok(());
        }
        let chunks = value.chunks(CHUNK_BYTES);
        let count = chunks.len() as u32;
        for (number, chunk) in (0..).zip(chunks) {
            writes.insert(chunk_key(key, number), chunk);
        }
        writes.insert(pair_key(key), [&[CHUNKED], count.to_be_bytes().as_slice()].concat());
        Ok(())
    }

    fn remove(&self, writes: &mut ::sled::Batch, key: &[u8]) -> Result<(), ::sled::Error> {
        self.remove_chunks(writes, key)?;
        writes.remove(pair_key(key));
        Ok(())
    }

    fn remove_chunks(&self, writes: &mut ::sled::Batch, key: &[u8]) -> Result<(), ::sled::Error> {
        if let Some(stored) = self.db.get(pair_key(key))?
            && let Some(count) = chunk_count(&stored)
        {
            (0..count).for_each(|number| writes.remove(chunk_key(key, number)));
        }
        Ok(())
    }

    /// The value behind what is stored at a pair's key; `None` if part of it is missing.
    fn value(&self, key: &[u8], stored: &IVec) -> Result<Option<Vec<u8>>, ::sled::Error> {
        if let [WHOLE, value @ ..] = stored.as_ref() {
            return Ok(Some(value.to_vec()));
        }
        let Some(count) = chunk_count(stored) else { return Ok(None) };
        let mut value = Vec::new();
        for number in 0..count {
            let Some(chunk) = self.db.get(chunk_key(key, number))? else { return Ok(None) };
            value.extend_from_slice(&chunk);
        }
        Ok(Some(value))
    }
}

impl fmt::Debug for SledBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SledBackend").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Backend for SledBackend {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        let open = self.opened()?;
        let failed = |error| explain(&self.dir, error);
        guarded(&self.dir, || {
            for pair in open.db.range(pair_key(from)..pair_key(to)) {
                let (stored_key, stored) = pair.map_err(failed)?;
                let key = &stored_key[1..];
                let value = open.value(key, &stored).map_err(failed)?.ok_or_else(|| BackendError::Damaged {
                    path: files::log(&self.dir),
                    what: format!("part of the value of {} is missing", key.escape_ascii()),
                })?;
                if visit(key, &value)?.is_break() {
                    break;
                }
            }
            Ok(())
        })
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        let open = self.opened()?;
        guarded(&self.dir, || {
            let ledger = open.db.get(LEDGER_KEY).map_err(|error| explain(&self.dir, error))?;
            Ok(ledger.map(|ledger| ledger.to_vec()))
        })
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        let open = self.open.as_mut().ok_or_else(|| not_open(&self.dir))?;
        let failed = |error| explain(&self.dir, error);
        guarded(&self.dir, || {
            let mut writes = ::sled::Batch::default();
            for (key, value) in &batch.puts {
                open.put(&mut writes, key, value).map_err(failed)?;
            }
            for key in &batch.removals {
                open.remove(&mut writes, key).map_err(failed)?;
            }
            writes.insert(LEDGER_KEY, batch.ledger.as_slice());
            open.db.apply_batch(writes).map_err(failed)?;
            match open.flusher.flush() {
                Some(flushed) => flushed.map(drop).map_err(failed)?,
                None => return Err(BackendError::Io { path: self.dir.clone(), what: "it no longer answers".into() }),
            }
            open.log.file.sync_data().map_err(|error| BackendError::io(&open.log.path, &error))?;
            open.log.check()
        })
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        let failed = self.open.take();
        // It panics on its way out if it cannot sync; either way it is gone afterwards.
        let _ = guarded(&self.dir, || {
            drop(failed);
            Ok(())
        });
        if !super::exists(&self.dir)? {
            return Err(BackendError::Gone { path: self.dir.clone() });
        }
        files::check(&self.dir)?;
        self.open = Some(open(&self.dir)?);
        Ok(())
    }
}

fn pair_key(key: &[u8]) -> Vec<u8> {
    [&[PAIR], key].concat()
}

fn chunk_key(key: &[u8], number: u32) -> Vec<u8> {
    [&[CHUNK], key, number.to_be_bytes().as_slice()].concat()
}

fn chunk_count(stored: &[u8]) -> Option<u32> {
    let [CHUNKED, count @ ..] = stored else { return None };
    Some(u32::from_be_bytes(count.try_into().ok()?))
}

fn explain(dir: &Path, error: ::sled::Error) -> BackendError {
    match error {
        ::sled::Error::Io(error) => BackendError::io(files::log(dir), &error),
        damaged => BackendError::Damaged { path: files::log(dir), what: damaged.to_string() },
    }
}
