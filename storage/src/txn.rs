//! What a writer asks for: conditions on keys, writes to keys, all or nothing.

use crate::key::Key;
use bytes::{Bytes, BytesMut};
use std::fmt;

/// A point in the one history of a store: strictly increasing, never reused, 0 is before everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(pub u64);

impl Revision {
    pub const ZERO: Self = Self(0);

    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A value on its way in. It may have a gap in which the revision of its own commit is written, in decimal:
/// the writer cannot know that number, and a reader should not have to add it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    bytes: Bytes,
    gap: Option<usize>,
}

impl Draft {
    pub fn plain(bytes: impl Into<Bytes>) -> Self {
        Self { bytes: bytes.into(), gap: None }
    }

    /// The revision will stand between `bytes[..gap]` and `bytes[gap..]`. A gap past the end is at the end.
    pub fn with_gap(bytes: impl Into<Bytes>, gap: usize) -> Self {
        let bytes = bytes.into();
        let gap = Some(gap.min(bytes.len()));
        Self { bytes, gap }
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    pub fn gap(&self) -> Option<usize> {
        self.gap
    }

    /// The value as every reader will see it once it is committed at `revision`.
    pub fn stamped(&self, revision: Revision) -> Bytes {
        let Some(gap) = self.gap else { return self.bytes.clone() };
        let digits = revision.to_string();
        let mut bytes = BytesMut::with_capacity(self.bytes.len() + digits.len());
        bytes.extend_from_slice(&self.bytes[..gap]);
        bytes.extend_from_slice(digits.as_bytes());
        bytes.extend_from_slice(&self.bytes[gap..]);
        bytes.freeze()
    }
}

impl<T: Into<Bytes>> From<T> for Draft {
    fn from(bytes: T) -> Self {
        Self::plain(bytes)
    }
}

/// A condition on one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// There is no such key.
    Absent,
    /// The key was last changed by exactly this commit.
    At(Revision),
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => write!(f, "no such key"),
            Self::At(revision) => write!(f, "revision {revision}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    Put(Draft),
    /// Deleting what is not there changes nothing.
    Delete,
}

/// Conditions and writes that hold or happen together, at one revision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Txn {
    pub(crate) expects: Vec<(Key, Expect)>,
    pub(crate) writes: Vec<(Key, Write)>,
}

impl Txn {
    pub fn new() -> Self {
        Self::default()
    }

    /// A key that must not exist yet.
    pub fn create(key: impl Into<Key>, value: impl Into<Draft>) -> Self {
        let key = key.into();
        Self::new().expect(key.clone(), Expect::Absent).put(key, value)
    }

    /// A key that must still be as it was at `expected`.
    pub fn replace(key: impl Into<Key>, expected: Revision, value: impl Into<Draft>) -> Self {
        let key = key.into();
        Self::new().expect(key.clone(), Expect::At(expected)).put(key, value)
    }

    /// The end of a key that must still be as it was at `expected`.
    pub fn remove(key: impl Into<Key>, expected: Revision) -> Self {
        let key = key.into();
        Self::new().expect(key.clone(), Expect::At(expected)).delete(key)
    }

    #[must_use]
    pub fn expect(mut self, key: impl Into<Key>, expect: Expect) -> Self {
        self.expects.push((key.into(), expect));
        self
    }

    #[must_use]
    pub fn put(mut self, key: impl Into<Key>, value: impl Into<Draft>) -> Self {
        self.writes.push((key.into(), Write::Put(value.into())));
        self
    }

    #[must_use]
    pub fn delete(mut self, key: impl Into<Key>) -> Self {
        self.writes.push((key.into(), Write::Delete));
        self
    }

    /// What this transaction weighs while it waits: keys and values, in bytes.
    pub(crate) fn weight(&self) -> usize {
        let expects: usize = self.expects.iter().map(|(key, _)| key.as_bytes().len()).sum();
        let writes: usize = self
            .writes
            .iter()
            .map(|(key, write)| {
                let value = if let Write::Put(draft) = write { draft.len() } else { 0 };
                key.as_bytes().len() + value
            })
            .sum();
        expects + writes
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Invalid> {
        let operations = self.expects.len().max(self.writes.len());
        if operations > limits.operations_max {
            return Err(Invalid::TooManyOperations { operations, max: limits.operations_max });
        }
        let keys = self.expects.iter().map(|(key, _)| key).chain(self.writes.iter().map(|(key, _)| key));
        for key in keys {
            limits.check_key(key)?;
        }
        for (nth, (key, write)) in self.writes.iter().enumerate() {
            if let Write::Put(draft) = write
                && draft.len() > limits.value_bytes_max
            {
                return Err(Invalid::ValueTooLarge {
                    key: key.clone(),
                    bytes: draft.len(),
                    max: limits.value_bytes_max,
                });
            }
            if self.writes[..nth].iter().any(|(earlier, _)| earlier == key) {
                return Err(Invalid::WrittenTwice { key: key.clone() });
            }
        }
        Ok(())
    }
}

/// A transaction that no store would take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("a key must not be empty")]
    EmptyKey,
    #[error("key of {bytes} bytes is over the limit of {max}")]
    KeyTooLong { bytes: usize, max: usize },
    #[error("value of {bytes} bytes for {key} is over the limit of {max}")]
    ValueTooLarge { key: Key, bytes: usize, max: usize },
    #[error("transaction of {operations} operations is over the limit of {max}")]
    TooManyOperations { operations: usize, max: usize },
    #[error("{key} is written twice in one transaction")]
    WrittenTwice { key: Key },
    /// Some stores have limits of their own, such as etcd on the size of a whole transaction.
    #[error("the store takes no such transaction: {what}")]
    Refused { what: String },
}

/// What one transaction may carry. Over a limit is a named error, never a truncation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Well under what every backend can hold in one key (sled and fjall: 64 KiB).
    pub key_bytes_max: usize,
    /// 1.5 MiB, etcd's default request size, so that a store can move to etcd without surprises.
    pub value_bytes_max: usize,
    /// Conditions, and writes, in one transaction: etcd's default of 128.
    pub operations_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { key_bytes_max: 4096, value_bytes_max: 1536 * 1024, operations_max: 128 }
    }
}

impl Limits {
    fn check_key(&self, key: &Key) -> Result<(), Invalid> {
        let bytes = key.as_bytes().len();
        if bytes == 0 {
            return Err(Invalid::EmptyKey);
        }
        if bytes > self.key_bytes_max {
            return Err(Invalid::KeyTooLong { bytes, max: self.key_bytes_max });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_fills_the_gap() {
        let draft = Draft::with_gap(r#"{"rv":"","name":"a"}"#, 7);
        assert_eq!(draft.stamped(Revision(812)), r#"{"rv":"812","name":"a"}"#);
        assert_eq!(Draft::plain("as it is").stamped(Revision(812)), "as it is");
        assert_eq!(Draft::with_gap("ab", 99).stamped(Revision(3)), "ab3");
    }

    #[test]
    fn over_a_limit_is_a_named_error() {
        let limits = Limits { key_bytes_max: 4, value_bytes_max: 3, operations_max: 2 };
        let check = |txn: Txn| txn.check(&limits).unwrap_err().to_string();
        assert_eq!(check(Txn::new().put("", "v")), "a key must not be empty");
        assert_eq!(check(Txn::new().put("abcde", "v")), "key of 5 bytes is over the limit of 4");
        assert_eq!(check(Txn::new().put("a", "vvvv")), "value of 4 bytes for a is over the limit of 3");
        assert_eq!(check(Txn::new().put("a", "v").delete("a")), "a is written twice in one transaction");
        let three = Txn::new().delete("a").delete("b").delete("c");
        assert_eq!(check(three), "transaction of 3 operations is over the limit of 2");
        assert_eq!(Txn::create("abcd", "vvv").check(&limits), Ok(()));
    }
}
