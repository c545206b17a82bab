//! Nothing on disk: for tests, and for stores that may be forgotten.

use super::{Backend, Batch, Visit};
use crate::error::BackendError;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct MemoryBackend {
    pairs: BTreeMap<Vec<u8>, Vec<u8>>,
    ledger: Option<Vec<u8>>,
}

impl Backend for MemoryBackend {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        for (key, value) in self.pairs.range(from.to_vec()..to.to_vec()) {
            if visit(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        Ok(self.ledger.clone())
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        self.pairs.extend(batch.puts.iter().cloned());
        for key in &batch.removals {
            self.pairs.remove(key);
        }
        self.ledger = Some(batch.ledger.clone());
        Ok(())
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}
