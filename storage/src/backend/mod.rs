//! What an embedded engine must do for us: keep pairs of bytes, in batches that are all there or not at all.
//!
//! Revisions, conditions, snapshots, watches and history are not its business; they exist once, above it.

mod faulty;
mod fjall;
mod memory;
mod sled;

pub use faulty::{Faults, FaultyBackend};
pub use fjall::FjallBackend;
pub use memory::MemoryBackend;
pub use sled::SledBackend;

use crate::error::BackendError;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Called with each stored pair, until it breaks off or fails.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<ControlFlow<()>, BackendError> + 'a;

/// An embedded engine. One thread writes; several may scan at once.
pub trait Backend: Send + Sync {
    /// Walks all pairs from the key `from` (included) to `to` (excluded), in order of their keys.
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
