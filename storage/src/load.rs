//! From what an engine has stored back to a timeline, checked record by record and as a whole.

use crate::backend::Backend;
use crate::error::BackendError;
use crate::index::Slot;
use crate::key::Key;
use crate::record::{Damage, LEDGER_KEY, Ledger, Record};
use crate::timeline::Timeline;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Reads everything. `path` is what a complaint names.
pub(crate) fn load(backend: &mut dyn Backend, path: &Path, now: Duration) -> Result<(Timeline, Ledger), BackendError> {
    let damaged = |what: String| BackendError::Damaged { path: path.to_owned(), what };
    let mut ledger = None;
    let mut found = Ledger::default();
    let mut slots: Vec<(Key, Slot)> = Vec::new();
    backend.scan(&[], &mut |key, value| {
        if key == LEDGER_KEY {
            ledger = Some(Ledger::decode(value).map_err(|damage| damaged(damage.to_string()))?);
            return Ok(ControlFlow::Continue(()));
        }
        let record = Record::decode(key, value).map_err(|damage| damaged(damage.to_string()))?;
        found.add(&record);
        slots.push((record.key, record.slot));
        Ok(ControlFlow::Continue(()))
    })?;
    let ledger = match ledger {
        Some(ledger) => ledger,
        None if slots.is_empty() => Ledger::default(),
        None => return Err(damaged(format!("it has {} records and no ledger", found.records))),
    };
    found.revision = ledger.revision;
    found.floor = ledger.floor;
    if found != ledger {
        return Err(damaged(format!(
            "its ledger at revision {} counts {} records, but {} were found{}",
            ledger.revision,
            ledger.records,
            found.records,
            if found.records == ledger.records { ", not the same ones" } else { "" },
        )));
    }
    Ok((Timeline::restore(slots, ledger.floor, ledger.revision, now), ledger))
}

/// Just the ledger.
pub(crate) fn ledger(backend: &mut dyn Backend) -> Result<Ledger, BackendError> {
    let mut ledger = Ok(Ledger::default());
    backend.scan(LEDGER_KEY, &mut |key, value| {
        if key == LEDGER_KEY {
            ledger = Ledger::decode(value);
        }
        Ok(ControlFlow::Break(()))
    })?;
    ledger.map_err(|damage: Damage| BackendError::Damaged { path: "the ledger".into(), what: damage.to_string() })
}
