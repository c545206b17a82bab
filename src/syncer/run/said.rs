//! What the cells of an object say of it: each record is read once, however often the others change.

use crate::apis::kinds::Health;
use crate::syncer::reduce::CellStatus;
use apiserver::object::Object;
use bytes::Bytes;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// By the names of the records; with what each was read from. Whoever keeps bytes of the store keeps them where they are:
/// what is elsewhere is another version.
#[derive(Debug, Default)]
pub(super) struct Said(HashMap<String, (Bytes, Arc<CellStatus>)>);

impl Said {
    /// What records say, of which some were read before. Each has a name, and the name of its cell.
    pub(super) fn of(
        records: impl Iterator<Item = (String, String, Bytes)>,
        before: Option<&Self>,
        read: impl Fn(String, &Bytes) -> CellStatus,
    ) -> Self {
        let said = |(name, cell, record): (String, String, Bytes)| {
            let known = before.and_then(|before| before.0.get(&name)).filter(|(known, _)| is_same(known, &record));
            let status = known.map_or_else(|| Arc::new(read(cell, &record)), |(_, status)| status.clone());
            (name, (record, status))
        };
        Self(records.map(said).collect())
    }

    pub(super) fn cells(&self) -> Vec<Arc<CellStatus>> {
        self.0.values().map(|(_, status)| status.clone()).collect()
    }

    pub(super) fn weight(&self) -> usize {
        self.0.values().map(|(record, _)| record.len()).sum()
    }
}

fn is_same(one: &Bytes, other: &Bytes) -> bool {
    (one.as_ptr(), one.len()) == (other.as_ptr(), other.len())
}

/// What a record says of its cell.
pub(super) fn read(cell: String, record: &Bytes) -> CellStatus {
    let Ok(record) = Object::parse(record) else { return CellStatus { cell, ..CellStatus::default() } };
    let number = |key: &str| record.pointer(&["status", key]).and_then(Value::as_i64).unwrap_or_default();
    CellStatus {
        cell,
        status: record.pointer(&["status", "observed"]).cloned(),
        generation: number("cellGeneration"),
        source_generation: number("generation"),
        applied: record.text(&["status", "applied"]) == "True",
        message: record.text(&["status", "message"]).to_owned(),
        health: Health::named(record.text(&["status", "health"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::cell::Cell;

    #[test]
    fn of_a_hundred_cells_only_the_one_is_read_that_has_said_something_new() {
        let record = |ready: usize| Bytes::from(json!({ "status": { "observed": { "ready": ready } } }).to_string());
        let mut records: Vec<Bytes> = (0..100).map(record).collect();
        let reads = Cell::new(0);
        let counted = |cell: String, record: &Bytes| {
            reads.set(reads.get() + 1);
            read(cell, record)
        };
        let all = |records: &[Bytes]| {
            let named = |(at, record): (usize, &Bytes)| (at.to_string(), format!("c{at}"), record.clone());
            records.iter().enumerate().map(named).collect::<Vec<_>>().into_iter()
        };
        let first = Said::of(all(&records), None, counted);
        assert_eq!(reads.take(), 100);
        records[7] = record(1000);
        let second = Said::of(all(&records), Some(&first), counted);
        assert_eq!(reads.take(), 1);
        let total = |said: &Said| {
            let ready = |cell: &Arc<CellStatus>| cell.status.as_ref().and_then(|status| status["ready"].as_u64());
            said.cells().iter().filter_map(ready).sum::<u64>()
        };
        assert_eq!((total(&first), total(&second)), (4950, 4950 - 7 + 1000));
        let fewer = Said::of(all(&records[..10]), Some(&second), counted);
        assert_eq!((reads.take(), fewer.cells().len()), (0, 10));
    }
}
