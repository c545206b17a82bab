//! What of a range is looked at: all of it, or the keys in it that are known to be enough.

use super::Filter;
use crate::error::ApiError;
use storage::{Entry, Key, KeyRange, ReadError, Scan, Snapshot};

#[derive(Debug)]
pub(super) enum Reading {
    All(Scan),
    These { snapshot: Snapshot, keys: std::vec::IntoIter<Key> },
}

impl Filter {
    /// What has to be looked at to find everything that can be seen.
    pub(super) fn reading(&self, snapshot: &Snapshot, range: KeyRange) -> Result<Reading, ApiError> {
        let keys = self.view().map(|view| view.keys()).transpose()?.flatten();
        let Some(mut keys) = keys else { return Ok(Reading::All(snapshot.scan(range))) };
        keys.retain(|key| range.contains(key.as_bytes()));
        keys.sort_unstable();
        keys.dedup();
        Ok(Reading::These { snapshot: snapshot.clone(), keys: keys.into_iter() })
    }
}

impl Iterator for Reading {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::All(scan) => scan.next(),
            Self::These { snapshot, keys } => keys.find_map(|key| match snapshot.get(key.as_bytes()) {
                Ok(None) => None,
                Ok(Some(version)) => Some(Ok(Entry { key, version })),
                Err(error) => Some(Err(error)),
            }),
        }
    }
}
