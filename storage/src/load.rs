//! From what an engine has stored back to a timeline, checked record by record and as a whole.

use crate::backend::Backend;
use crate::error::BackendError;
use crate::index::Slot;
use crate::key::Key;
use crate::record::{Damage, Dead, Ledger, RECORDS_END, Record, SealedRecords, records_from};
use crate::seal::Seal;
use crate::timeline::Timeline;
use crate::txn::Revision;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Reading is split by revision into so many parts for each thread: enough for the threads to finish together though
/// the parts are not equally large.
const PARTS_PER_THREAD: u64 = 8;
const THREADS_MAX: usize = 8;

/// What an engine has stored.
pub(crate) struct Stored {
    pub(crate) timeline: Timeline,
    pub(crate) ledger: Ledger,
    /// Records that nobody can read any more and that were not removed yet.
    pub(crate) dead: Dead,
    pub(crate) sealed: SealedRecords,
}

/// Reads everything, which must reach up to `acknowledged`. `path` is what a complaint names.
pub(crate) fn load(
    backend: &dyn Backend,
    path: &Path,
    acknowledged: Revision,
    now: Duration,
    seal: &Seal,
) -> Result<Stored, BackendError> {
    let damaged = |what: String| BackendError::Damaged { path: path.to_owned(), what };
    let stored = ledger(backend, path)?;
    let reading = Reading { backend, path, seal };
    let Loaded { slots, mut found, mut sealed } = reading.records(stored.unwrap_or_default().revision)?;
    let ledger = match stored {
        Some(ledger) => ledger,
        None if slots.is_empty() => Ledger::default(),
        None => return Err(damaged(format!("it has {} records and no ledger", found.records))),
    };
    if ledger.revision < acknowledged {
        let what = format!("it ends at revision {}, but {acknowledged} was acknowledged", ledger.revision);
        return Err(damaged(what));
    }
    (found.revision, found.floor) = (ledger.revision, ledger.floor);
    if found != ledger {
        return Err(damaged(format!(
            "its ledger at revision {} counts {} records, but {} were found{}",
            ledger.revision,
            ledger.records,
            found.records,
            if found.records == ledger.records { ", not the same ones" } else { "" },
        )));
    }
    let (timeline, unseen) = Timeline::restore(slots, ledger.floor, ledger.revision, now);
    let mut dead = Dead::default();
    unseen.into_iter().for_each(|(key, slot)| dead.add(key, slot, &mut sealed));
    Ok(Stored { timeline, ledger, dead, sealed })
}

/// The ledger, if there is one.
pub(crate) fn ledger(backend: &dyn Backend, path: &Path) -> Result<Option<Ledger>, BackendError> {
    let damaged = |what: String| BackendError::Damaged { path: path.to_owned(), what };
    let decode = |bytes: Vec<u8>| Ledger::decode(&bytes).map_err(|damage| damaged(damage.to_string()));
    backend.ledger()?.map(decode).transpose()
}

#[derive(Default)]
struct Loaded {
    slots: Vec<(Key, Slot)>,
    found: Ledger,
    sealed: SealedRecords,
}

/// How records are read, and what is blamed if they cannot be.
struct Reading<'a> {
    backend: &'a dyn Backend,
    path: &'a Path,
    seal: &'a Seal,
}

impl Reading<'_> {
    /// Reads all records, on several threads.
    fn records(&self, newest: Revision) -> Result<Loaded, BackendError> {
        let oldest = oldest_record(self.backend)?.unwrap_or(newest);
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
        let parts = threads as u64 * PARTS_PER_THREAD;
        let width = (newest.0.saturating_sub(oldest.0) / parts).max(1);
        let next = AtomicU64::new(0);
        let read_parts = || {
            let mut loaded = Loaded::default();
            loop {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    return Ok(loaded);
                }
                let start = if part == 0 { 0 } else { oldest.0.saturating_add(part * width) };
                let last = part == parts - 1;
                let end = oldest.0.saturating_add((part + 1) * width);
                let to = if last { RECORDS_END.to_vec() } else { records_from(Revision(end)) };
                self.read_part(&records_from(Revision(start)), &to, &mut loaded)?;
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(read_parts)).collect();
            let mut all = read_parts()?;
            for other in others {
                let loaded = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
                all.slots.extend(loaded.slots);
                all.found.merge(&loaded.found);
                all.sealed.merge(loaded.sealed);
            }
            Ok(all)
        })
    }

    fn read_part(&self, from: &[u8], to: &[u8], loaded: &mut Loaded) -> Result<(), BackendError> {
        self.backend.scan(from, to, &mut |key, value| {
            let (record, checksum) = Record::decode(key, value).map_err(|damage| self.refused(&damage))?;
            loaded.found.add(checksum);
            if record.sealed {
                loaded.sealed.add(record.key.clone(), record.slot.modified, checksum);
            }
            let record = record.opened(self.seal).map_err(|damage| self.refused(&damage))?;
            loaded.slots.push((record.key, record.slot));
            Ok(ControlFlow::Continue(()))
        })
    }

    fn refused(&self, damage: &Damage) -> BackendError {
        let what = damage.to_string();
        match damage {
            // Nothing is wrong with it: somebody else can read it.
            Damage::Sealed { why, .. } if why.wants_a_key() => BackendError::Locked { what },
            _ => BackendError::Damaged { path: self.path.to_owned(), what },
        }
    }
}

fn oldest_record(backend: &dyn Backend) -> Result<Option<Revision>, BackendError> {
    let mut oldest = None;
    backend.scan(&records_from(Revision::ZERO), RECORDS_END, &mut |key, _| {
        oldest = key.first_chunk().map(|bytes| Revision(u64::from_be_bytes(*bytes)));
        Ok(ControlFlow::Break(()))
    })?;
    Ok(oldest)
}
