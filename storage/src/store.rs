//! The store: one ordered history of commits, readable at every revision it still remembers, watchable from each.

use crate::backend::{Backend, Batch, MemoryBackend, sync_dir};
use crate::backup::{self, BackupSummary};
use crate::commit::{Answer, Committer, Disk};
use crate::control::Control;
use crate::datadir::{DataDir, control_socket};
use crate::engine::Engine;
use crate::error::{BackendError, BackupError, CommitError, OpenError, ReadError};
#[cfg(feature = "etcd")]
use crate::etcd::{EtcdTls, Replica, Settings};
use crate::index::{ShareOf, Size};
use crate::key::KeyRange;
use crate::load::{self, Stored};
use crate::record::{Ledger, Record};
use crate::seal::Seal;
use crate::shared::{Clock, Shared};
use crate::snapshot::Snapshot;
use crate::timeline::HistoryBounds;
use crate::txn::{Limits, Revision, Txn};
use crate::watch::Watcher;
use crate::witness::Witness;
use crate::writer::Writer;
use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where a store keeps its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Nowhere: it ends with the process.
    Memory,
    /// In a directory, by an embedded engine.
    Dir { dir: PathBuf, engine: Engine },
    /// In etcd, under a prefix, shared by every process that opens it there.
    ///
    /// etcd's `--max-request-bytes` bounds a whole transaction; by default it leaves no room for a value of the
    /// largest size. The store compacts etcd, other prefixes included, when it forgets its own history.
    #[cfg(feature = "etcd")]
    Etcd {
        /// URLs, all of the same etcd. One is used at a time; the others are for when it fails.
        endpoints: Vec<String>,
        prefix: String,
        tls: Option<EtcdTls>,
    },
}

/// How a store behaves, wherever it is kept.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub limits: Limits,
    pub history: HistoryBounds,
    pub clock: Clock,
    /// What is sealed wherever the store is kept, and with which keys.
    pub seal: Seal,
    /// Whose keys are counted apart, for [`Store::share`]; nobody's, if nobody asks.
    pub share_of: Option<ShareOf>,
}

/// How a store is doing.
#[derive(Clone, Debug)]
pub struct Stats {
    pub revision: Revision,
    pub oldest: Revision,
    pub size: Size,
    pub history_bytes: usize,
    /// Ranges that are being watched, each counted once.
    pub watched_ranges: usize,
    /// Stored values that are not the store's own and were passed over, each reported by its key. Only where others
    /// can write, too.
    pub unreadable: u64,
    /// What waits for its answer, in KiB and a little more.
    pub waiting_kib: usize,
    /// Everything up to here was sent to the watchers whom it concerns.
    pub told: Revision,
    /// Why it cannot write at the moment.
    pub failure: Option<Arc<BackendError>>,
}

/// An open store. Cheap to clone; closed by `close`, or when the last clone is dropped.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    // In the order in which they must go: no more copies, no more commits, and only then the directory.
    control: parking_lot::Mutex<Option<Control>>,
    writer: Writer,
    shared: Arc<Shared>,
    dir: parking_lot::Mutex<Option<DataDir>>,
}

impl Store {
    /// Opens a store, making it if there is none. Everything is read and checked before this returns.
    pub fn open(place: &Place, options: Options) -> Result<Self, OpenError> {
        match place {
            Place::Memory => Self::on(Box::new(MemoryBackend::default()), options),
            Place::Dir { dir, engine } => Self::in_dir(dir, *engine, options),
            #[cfg(feature = "etcd")]
            Place::Etcd { endpoints, prefix, tls } => {
                let Options { limits, history, clock, seal, share_of } = options;
                let (endpoints, prefix, tls) = (endpoints.clone(), prefix.clone(), tls.clone());
                let settings = Settings { endpoints, prefix, tls, limits, history, clock, seal, share_of };
                let (replica, shared) = Replica::open(settings)?;
                Ok(Self::assemble(Writer::Etcd(replica), shared, None, None))
            }
        }
    }

    fn in_dir(dir: &Path, engine: Engine, options: Options) -> Result<Self, OpenError> {
        let held = DataDir::hold(dir, engine.name())?;
        let (mut witness, acknowledged) = Witness::open(&held.witness())?;
        let engine_dir = held.engine_dir();
        let backend = engine.open(&engine_dir, acknowledged).map_err(damaged_by_name)?;
        let found = load::load(&*backend, &engine_dir, acknowledged, options.clock.now(), &options.seal);
        let Stored { timeline, ledger, dead, sealed } = match found {
            Ok(loaded) => loaded,
            Err(error) => {
                drop(backend);
                return Err(damaged_by_name(engine.blamed(&engine_dir, error)));
            }
        };
        witness.catch_up(ledger.revision);
        let shared = Shared::start(timeline, options.clock, options.seal, options.share_of);
        let socket = control_socket(dir);
        let control = Control::listen(socket.clone(), &shared)
            .inspect_err(|error| tracing::warn!(%error, socket = %socket.display(), "no copies while running"))
            .ok();
        let disk = Disk { backend, witness, ledger, dead, sealed };
        let committer = Committer::start(disk, shared.clone(), options.limits, options.history);
        Ok(Self::assemble(Writer::Embedded(committer), shared, control, Some(held)))
    }

    /// A store on a backend of the caller's choice.
    pub fn on(backend: Box<dyn Backend>, options: Options) -> Result<Self, OpenError> {
        let (now, name) = (options.clock.now(), Path::new("the backend"));
        let Stored { timeline, ledger, dead, sealed } =
            load::load(&*backend, name, Revision::ZERO, now, &options.seal)?;
        let shared = Shared::start(timeline, options.clock, options.seal, options.share_of);
        let disk = Disk { backend, witness: Witness::default(), ledger, dead, sealed };
        let committer = Committer::start(disk, shared.clone(), options.limits, options.history);
        Ok(Self::assemble(Writer::Embedded(committer), shared, None, None))
    }

    fn assemble(writer: Writer, shared: Arc<Shared>, control: Option<Control>, dir: Option<DataDir>) -> Self {
        let (control, dir) = (parking_lot::Mutex::new(control), parking_lot::Mutex::new(dir));
        Self { inner: Arc::new(Inner { control, writer, shared, dir }) }
    }

    /// All of the transaction or none of it. When this returns `Ok`, it is durable, readable and on its way to the
    /// watchers.
    pub async fn commit(&self, txn: Txn) -> Answer {
        if self.inner.shared.seal.is_shut() {
            return Err(CommitError::Unavailable(Arc::new(BackendError::Shut)));
        }
        self.inner.writer.commit(txn).await
    }

    /// A view that includes every commit acknowledged before this was called, by whomever.
    pub async fn snapshot(&self) -> Result<Snapshot, ReadError> {
        self.inner.writer.settle().await?;
        Ok(self.recent())
    }

    /// A view of the newest revision known here, without asking anybody.
    pub fn recent(&self) -> Snapshot {
        Snapshot::newest(self.inner.shared.clone())
    }

    /// A view of the past.
    pub fn snapshot_at(&self, revision: Revision) -> Result<Snapshot, ReadError> {
        Snapshot::at(self.inner.shared.clone(), revision)
    }

    /// Every change in `range` after `after`. From before the oldest revision: `Compacted`; from the future: `Future`.
    pub fn watch(&self, range: KeyRange, after: Revision) -> Result<Watcher, ReadError> {
        Watcher::new(self.inner.shared.clone(), range, after)
    }

    /// Waits until everything up to `revision` can be read here.
    pub async fn reached(&self, revision: Revision) -> Result<(), ReadError> {
        self.inner.shared.reached(revision).await
    }

    /// Forgets what happened before `floor` and answers with the oldest revision that can still be read.
    pub async fn compact(&self, floor: Revision) -> Result<Revision, CommitError> {
        self.inner.writer.forget(Some(floor)).await
    }

    /// Forgets what the history bounds say is too old or too much, now rather than in time.
    pub async fn enforce_bounds(&self) -> Result<Revision, CommitError> {
        self.inner.writer.forget(None).await
    }

    /// Writes out everything at the newest revision, while the store goes on.
    pub fn backup(&self, to: impl Write) -> Result<BackupSummary, BackupError> {
        backup::write(&self.recent(), to)
    }

    /// Ends watches, finishes what was accepted, and lets go of the data. Reads of what is in memory still work.
    pub async fn close(&self) {
        let inner = self.inner.clone();
        let closed = tokio::task::spawn_blocking(move || inner.close()).await;
        debug_assert!(closed.is_ok(), "closing does not panic");
    }

    /// What somebody has of the newest revision: counted along with every commit, if the store was opened to.
    pub fn share(&self, owner: &[u8]) -> Size {
        self.inner.shared.timeline.read().share_of(owner)
    }

    pub fn stats(&self) -> Stats {
        // In this order: once nobody waits, it is the last revision that may not have been told yet.
        let waiting_kib = self.inner.writer.waiting_kib();
        let timeline = self.inner.shared.timeline.read();
        Stats {
            revision: timeline.revision(),
            oldest: timeline.floor(),
            size: timeline.size(),
            history_bytes: timeline.history_bytes(),
            watched_ranges: self.inner.shared.hub.ranges(),
            unreadable: self.inner.writer.unreadable(),
            waiting_kib,
            told: self.inner.shared.hub.dispatched(),
            failure: self.inner.writer.failure(),
        }
    }
}

impl Inner {
    fn close(&self) {
        drop(self.control.lock().take());
        self.writer.close();
        self.shared.close();
        drop(self.dir.lock().take());
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.stats()).finish()
    }
}

fn damaged_by_name(error: BackendError) -> OpenError {
    match error {
        BackendError::Damaged { path, what } => OpenError::Damaged { file: path, what },
        other => OpenError::Backend(other),
    }
}

/// How far a restored store starts after its backup. Readers may have seen revisions after the backup was taken;
/// none of them may come again with another meaning.
pub const RESTORE_BUMP: u64 = 1_000_000_000;

/// What is written to the engine at a time while restoring: enough to make its sync worth it, little enough to hold in
/// memory whatever the size of the values.
const RESTORE_RECORDS: usize = 4096;
const RESTORE_BYTES: usize = 16 << 20;

/// Makes a new store in `dir` out of a backup. `dir` must not exist or be empty; until all of the backup was read and
/// found whole, nothing is there under that name.
pub fn restore(dir: &Path, engine: Engine, from: impl Read, bump: u64) -> Result<BackupSummary, OpenError> {
    // Without a slash at its end, which would make "beside it" mean "in it".
    let dir: &Path = &dir.components().collect::<PathBuf>();
    let failed = |source| OpenError::Io { path: dir.to_owned(), source };
    let empty = std::fs::read_dir(dir).map_or(true, |mut entries| entries.next().is_none());
    if !empty {
        return Err(OpenError::NotEmpty { dir: dir.to_owned() });
    }
    let mut unfinished = dir.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let _ = std::fs::remove_dir_all(&unfinished);
    let summary = fill(&unfinished, engine, from, bump).inspect_err(|_| drop(std::fs::remove_dir_all(&unfinished)))?;
    let _ = std::fs::remove_dir(dir);
    std::fs::rename(&unfinished, dir).map_err(failed)?;
    let parent = dir.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    sync_dir(parent).map_err(failed)?;
    Ok(summary)
}

fn fill(dir: &Path, engine: Engine, from: impl Read, bump: u64) -> Result<BackupSummary, OpenError> {
    let held = DataDir::hold(dir, engine.name())?;
    let mut backend = engine.open(&held.engine_dir(), Revision::ZERO)?;
    copy_into(&mut *backend, from, bump)
}

fn copy_into(backend: &mut dyn Backend, from: impl Read, bump: u64) -> Result<BackupSummary, OpenError> {
    let mut ledger = Ledger::default();
    let (mut batch, mut bytes) = (Batch::default(), 0);
    let summary = backup::read_stored(from, |entry, sealed| {
        let crate::index::Version { created, modified, value } = entry.version;
        let slot = crate::index::Slot { modified, created, value: Some(value) };
        let record = Record { key: entry.key, slot, sealed };
        let (encoded, checksum) = record.encode();
        ledger.add(checksum);
        bytes += encoded.len();
        batch.puts.push((record.physical_key(), encoded));
        if batch.puts.len() >= RESTORE_RECORDS || bytes >= RESTORE_BYTES {
            let mut full = std::mem::take(&mut batch);
            full.ledger = ledger.encode();
            bytes = 0;
            backend.persist(&full).map_err(|error| BackupError::Io(std::io::Error::other(error)))?;
        }
        Ok(())
    })?;
    let bumped = summary.revision.0.checked_add(bump).ok_or_else(|| BackupError::Damaged {
        what: format!("its revision {} leaves no room for {bump} more", summary.revision),
    })?;
    ledger.revision = Revision(bumped);
    ledger.floor = ledger.revision;
    batch.ledger = ledger.encode();
    backend.persist(&batch)?;
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Visit;

    /// Keeps nothing but the size of the largest batch.
    #[derive(Default)]
    struct Scales {
        batches: usize,
        bytes_max: usize,
    }

    impl Backend for Scales {
        fn scan(&self, _: &[u8], _: &[u8], _: &mut Visit<'_>) -> Result<(), BackendError> {
            Ok(())
        }

        fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
            Ok(None)
        }

        fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
            self.batches += 1;
            self.bytes_max = self.bytes_max.max(batch.puts.iter().map(|(_, value)| value.len()).sum());
            Ok(())
        }

        fn reopen(&mut self) -> Result<(), BackendError> {
            Ok(())
        }
    }

    /// Keeps nothing, and takes until it is let go.
    struct Slow(crossbeam_channel::Receiver<()>);

    impl Backend for Slow {
        fn scan(&self, _: &[u8], _: &[u8], _: &mut Visit<'_>) -> Result<(), BackendError> {
            Ok(())
        }

        fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
            Ok(None)
        }

        fn persist(&mut self, _: &Batch) -> Result<(), BackendError> {
            let _ = self.0.recv();
            Ok(())
        }

        fn reopen(&mut self) -> Result<(), BackendError> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_waits_is_counted_until_it_was_answered_and_told() {
        let (let_go, slow) = crossbeam_channel::bounded(1);
        let (patience, store) =
            (std::time::Duration::from_secs(20), Store::on(Box::new(Slow(slow)), Options::default()));
        let store = store.unwrap();
        let until = async |is_so: &dyn Fn(&Stats) -> bool| {
            let looking = async {
                while !is_so(&store.stats()) {
                    tokio::task::yield_now().await;
                }
            };
            tokio::time::timeout(patience, looking).await.expect("it comes true");
        };
        let asked = tokio::spawn({
            let store = store.clone();
            async move { store.commit(Txn::new().put("a", vec![7; 4096])).await }
        });
        until(&|stats| stats.waiting_kib >= 4).await;
        assert_eq!(store.stats().told, store.stats().revision);
        let_go.send(()).unwrap();
        let made = asked.await.unwrap().unwrap().revision;
        until(&|stats| stats.waiting_kib == 0 && stats.told == made).await;
    }

    #[tokio::test]
    async fn restoring_large_values_holds_few_of_them_at_a_time() {
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let value = bytes::Bytes::from(vec![7; 1 << 20]);
        for nth in 0..40 {
            store.commit(Txn::new().put(format!("k{nth}"), value.clone())).await.unwrap();
        }
        let mut copy = Vec::new();
        store.backup(&mut copy).unwrap();
        let mut scales = Scales::default();
        assert_eq!(copy_into(&mut scales, copy.as_slice(), 1).unwrap().entries, 40);
        assert!(scales.bytes_max < RESTORE_BYTES + (2 << 20), "{} bytes at once", scales.bytes_max);
        assert_eq!(scales.batches, 3);
    }

    #[tokio::test]
    async fn a_restored_store_goes_on_after_its_backup_also_where_the_name_ends_in_a_slash() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("restored/");
        let store = Store::open(&Place::Memory, Options::default()).unwrap();
        let made = store.commit(Txn::new().put("a", "1")).await.unwrap().revision;
        let mut copy = Vec::new();
        store.backup(&mut copy).unwrap();
        restore(&dir, Engine::Fjall, copy.as_slice(), RESTORE_BUMP).unwrap();
        let restored = Store::open(&Place::Dir { dir, engine: Engine::Fjall }, Options::default()).unwrap();
        assert_eq!(restored.recent().get("a").unwrap().unwrap().modified, made);
        assert_eq!(restored.recent().revision(), Revision(made.0 + RESTORE_BUMP));
        restored.commit(Txn::replace("a", made, "2")).await.unwrap();
    }
}
