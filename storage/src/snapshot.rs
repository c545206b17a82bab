//! A view of everything at one revision.

use crate::error::ReadError;
use crate::index::{Part, Version};
use crate::key::{Key, KeyRange};
use crate::seal::Seal;
use crate::shared::Shared;
use crate::txn::Revision;
use std::sync::Arc;

/// Keys visited under one lock: enough to make the lock cheap, few enough not to keep a commit waiting.
const SCAN_STEP: usize = 256;

/// A key and what it held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: Key,
    pub version: Version,
}

/// Everything as it was at one revision. Free to take and to keep; readable while history reaches back that far,
/// `Compacted` afterwards. It never shows anything else.
#[derive(Clone, Debug)]
pub struct Snapshot {
    shared: Arc<Shared>,
    revision: Revision,
}

impl Snapshot {
    pub(crate) fn newest(shared: Arc<Shared>) -> Self {
        let revision = shared.timeline.read().revision();
        Self { shared, revision }
    }

    pub(crate) fn at(shared: Arc<Shared>, revision: Revision) -> Result<Self, ReadError> {
        shared.timeline.read().check(revision)?;
        Ok(Self { shared, revision })
    }

    pub(crate) fn seal(&self) -> &Seal {
        &self.shared.seal
    }

    pub fn revision(&self) -> Revision {
        self.revision
    }

    pub fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<Version>, ReadError> {
        self.shared.timeline.read().get(key.as_ref(), self.revision)
    }

    /// The entries of `range` in order of their keys.
    pub fn scan(&self, range: KeyRange) -> Scan {
        Scan { snapshot: self.clone(), rest: Some(range), step: Vec::new().into_iter() }
    }

    /// The first `limit` entries of `range`.
    pub fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Entry>, ReadError> {
        self.scan(range.clone()).take(limit).collect()
    }

    pub fn count(&self, range: KeyRange) -> Result<usize, ReadError> {
        let mut count = 0;
        for entry in self.scan(range) {
            entry?;
            count += 1;
        }
        Ok(count)
    }

    /// The entries among the next few keys of `range`, and what is left of it.
    fn read(&self, range: &KeyRange) -> Result<(Vec<Entry>, Option<KeyRange>), ReadError> {
        let Part { found, rest } = self.shared.timeline.read().scan(range, self.revision, SCAN_STEP)?;
        Ok((found.into_iter().map(|(key, version)| Entry { key, version }).collect(), rest))
    }
}

/// Walks a range, a few hundred entries at a time. After an error it is over.
#[derive(Debug)]
pub struct Scan {
    snapshot: Snapshot,
    rest: Option<KeyRange>,
    step: std::vec::IntoIter<Entry>,
}

impl Iterator for Scan {
    type Item = Result<Entry, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.step.next() {
                return Some(Ok(entry));
            }
            let range = self.rest.take()?;
            match self.snapshot.read(&range) {
                Ok((entries, rest)) => (self.step, self.rest) = (entries.into_iter(), rest),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
