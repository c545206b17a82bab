//! A revisioned, watchable, durable map of bytes.
//!
//! One ordered history: every commit gets the next revision, changes one or several keys at once, and is on the disk
//! when it is acknowledged. Reads come from memory, at any revision the history still holds. A watch yields every
//! later change once, in order.
//!
//! Start with [`Store`]. A commit goes `commit` (check, persist, publish) → `timeline` (state and history) → `watch`.
//! The engines under `backend` only keep pairs of bytes; everything else exists once, above them.

mod backend;
mod backup;
mod commit;
#[cfg(feature = "conformance")]
#[doc(hidden)]
pub mod conformance;
mod control;
mod datadir;
mod engine;
mod error;
#[cfg(feature = "etcd")]
mod etcd;
mod hub;
mod index;
mod key;
mod load;
mod record;
mod seal;
mod shared;
mod snapshot;
mod store;
mod thread;
mod timeline;
mod txn;
mod watch;
mod witness;
mod writer;

pub use backend::{Backend, Batch, Faults, FaultyBackend, FjallBackend, LogBackend, MemoryBackend, SledBackend, Visit};
pub use backup::{BackupSummary, read as read_backup};
pub use commit::Committed;
pub use control::copy_of_running;
pub use datadir::engine_of;
pub use engine::Engine;
pub use error::{BackendError, BackupError, CommitError, OpenError, ReadError};
#[cfg(feature = "etcd")]
pub use etcd::{EtcdIdentity, EtcdTls};
pub use index::{ShareOf, Size, Version};
pub use key::{Inverted, Key, KeyRange};
pub use seal::{Ring, Seal, SealKey, UnfitKey, sealed_by};
pub use shared::Clock;
pub use snapshot::{Entry, Scan, Snapshot};
pub use store::{Options, Place, RESTORE_BUMP, Stats, Store, restore};
pub use timeline::{Change, HistoryBounds};
pub use txn::{Draft, Expect, Invalid, Limits, Revision, Txn, Write};
pub use watch::Watcher;
