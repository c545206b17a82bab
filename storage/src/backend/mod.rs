//! What an embedded engine must do for us: keep pairs of bytes, in batches that are all there or not at all.
//!
//! Revisions, conditions, snapshots, watches and history are not its business; they exist once, above it.

mod faulty;
pub(crate) mod fjall;
mod log;
mod memory;
pub(crate) mod sled;

pub use faulty::{Faults, FaultyBackend};
pub use fjall::FjallBackend;
pub use log::LogBackend;
pub use memory::MemoryBackend;
pub use sled::SledBackend;

use crate::error::BackendError;
use std::fs::File;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Called with each stored pair, until it breaks off or fails.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, BackendError> + 'a;

/// An embedded engine. One thread writes; several may scan at once.
pub trait Backend: Send + Sync {
    /// Walks all pairs from the key `from` (included) to `to` (excluded), in order of the first eight bytes of their
    /// keys.
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError>;

    /// The ledger of the last batch; `None` if there was none.
    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError>;

    /// Makes `batch` durable: once this returns `Ok` it survives the loss of power; if it returns an error, or the
    /// process dies in it, the whole batch may be there or none of it.
    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError>;

    /// Called after a failed `persist` and before the next: drops whatever state the failure left in memory, so that
    /// `scan` shows what is really stored and `persist` works again if the cause is gone.
    fn reopen(&mut self) -> Result<(), BackendError>;
}

/// Puts and removals that belong together. A key stands in at most one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub puts: Vec<(Vec<u8>, Vec<u8>)>,
    pub removals: Vec<Vec<u8>>,
    /// Replaces the last one. Not among the pairs, because it is written with every batch: an engine that orders its
    /// files by key would find it in all of them, and take them all to overlap.
    pub ledger: Vec<u8>,
}

/// Runs an engine's own code. Engines panic on files they cannot make sense of; to us that is one more way of being
/// damaged, and the engine is not used again before it was reopened.
fn guarded<T>(path: &Path, body: impl FnOnce() -> Result<T, BackendError>) -> Result<T, BackendError> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        let what = format!("the engine gave up: {}", said.unwrap_or("it did not say why"));
        Err(BackendError::Damaged { path: path.to_owned(), what })
    })
}

/// Makes an engine's directory so that it is there whole or not at all: engines cannot tell a directory whose making
/// was interrupted from one that lost its files.
fn made_whole(dir: &Path, make: impl FnOnce(&Path) -> Result<(), BackendError>) -> Result<(), BackendError> {
    let mut unfinished = dir.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let failed = |error: io::Error| BackendError::io(dir, &error);
    match std::fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => make(&unfinished)?,
    }
    sync_all_in(&unfinished).map_err(failed)?;
    std::fs::rename(&unfinished, dir).map_err(failed)?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_dir(parent).map_err(failed)
}

/// Makes the names in `dir` durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

fn sync_all_in(dir: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => sync_all_in(&entry.path())?,
            false => File::open(entry.path())?.sync_all()?,
        }
    }
    sync_dir(dir)
}

/// A file that must stay where it is while an engine is open: writes and syncs to a removed file succeed as if nothing
/// had happened.
#[derive(Debug)]
struct Anchor {
    path: PathBuf,
    file: File,
}

impl Anchor {
    fn cast(path: PathBuf) -> Result<Self, BackendError> {
        let opened = File::options().read(true).write(true).open(&path);
        opened.map_err(|error| BackendError::io(&path, &error)).map(|file| Self { path, file })
    }

    fn check(&self) -> Result<(), BackendError> {
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BackendError::Gone { path: self.path.clone() },
            _ => BackendError::io(&self.path, &error),
        };
        let there = std::fs::metadata(&self.path).map_err(failed)?;
        let ours = self.file.metadata().map_err(failed)?;
        if there.ino() == ours.ino() { Ok(()) } else { Err(BackendError::Gone { path: self.path.clone() }) }
    }
}

fn exists(dir: &Path) -> Result<bool, BackendError> {
    dir.try_exists().map_err(|error| BackendError::io(dir, &error))
}
