//! What the embedded stores keep: one record for every version of every key, and one ledger that sums them up.
//!
//! ```text
//!   physical key                 value
//!   revision(8, big endian) key  format(1) kind(1) created(8) checksum(8) bytes
//!
//!   kind: 0 a value, 1 a tombstone, 2 a sealed value (`seal`)
//! ```
//!
//! Records are ordered by revision, so the engine only ever appends, and a record is never overwritten. The ledger is
//! written in the same batch as the records it counts. A store that lost a record, or found one too many, does not
//! add up, whatever its engine says.

use crate::index::Slot;
use crate::key::Key;
use crate::seal::{Locked, Seal};
use crate::txn::Revision;
use bytes::Bytes;
use std::collections::HashMap;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const FORMAT: u8 = 1;
const VALUE: u8 = 0;
const TOMBSTONE: u8 = 1;
const SEALED: u8 = 2;
const HEADER_BYTES: usize = 18;

/// Where the records from `revision` on begin.
pub(crate) fn records_from(revision: Revision) -> Vec<u8> {
    revision.0.to_be_bytes().to_vec()
}

/// Where the records end: no revision comes near it.
pub(crate) const RECORDS_END: &[u8] = &[u8::MAX; 9];

/// What is wrong with bytes that should be a record or a ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Damage {
    #[error("the key of a record is malformed")]
    Key,
    #[error("the record of {key} at revision {revision} is cut short")]
    Short { key: Key, revision: Revision },
    #[error("the record of {key} at revision {revision} has the unknown format {format}")]
    Format { key: Key, revision: Revision, format: u8 },
    #[error("the record of {key} at revision {revision} does not match its checksum")]
    Checksum { key: Key, revision: Revision },
    #[error("the ledger is malformed")]
    Ledger,
    #[error("the value of {key} at revision {revision} {why}")]
    Sealed { key: Key, revision: Revision, why: Locked },
}

/// One version of one key, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) key: Key,
    pub(crate) slot: Slot,
    /// Whether the value is sealed.
    pub(crate) sealed: bool,
}

impl Record {
    /// As it is in memory.
    pub(crate) fn plain(key: Key, slot: Slot) -> Self {
        Self { key, slot, sealed: false }
    }

    /// Sealed, if its key is one whose values are.
    #[must_use]
    pub(crate) fn under(mut self, seal: &Seal) -> Self {
        if let Some(sealed) = self.slot.value.as_ref().and_then(|value| seal.seal(&self.key, value)) {
            self.slot.value = Some(sealed.into());
            self.sealed = true;
        }
        self
    }

    /// As it is to be in memory.
    pub(crate) fn opened(mut self, seal: &Seal) -> Result<Self, Damage> {
        let Some(value) = self.slot.value.as_ref().filter(|_| self.sealed) else { return Ok(self) };
        if seal.is_shut() {
            seal.leave_closed(&self.key, self.slot.modified);
            return Ok(self);
        }
        match seal.open(&self.key, value) {
            Ok(value) => self.slot.value = Some(value.into()),
            Err(why) => return Err(Damage::Sealed { revision: self.slot.modified, key: self.key, why }),
        }
        self.sealed = false;
        Ok(self)
    }

    pub(crate) fn physical_key(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(8 + self.key.as_bytes().len());
        bytes.extend_from_slice(&self.slot.modified.0.to_be_bytes());
        bytes.extend_from_slice(self.key.as_bytes());
        bytes
    }

    /// What is stored at its physical key, and the checksum in it.
    pub(crate) fn encode(&self) -> (Vec<u8>, u64) {
        let checksum = self.checksum();
        let value = self.slot.value.as_deref().unwrap_or_default();
        let mut bytes = Vec::with_capacity(HEADER_BYTES + value.len());
        bytes.push(FORMAT);
        bytes.push(self.kind());
        bytes.extend_from_slice(&self.slot.created.0.to_le_bytes());
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes.extend_from_slice(value);
        (bytes, checksum)
    }

    /// The record, and its checksum.
    pub(crate) fn decode(physical_key: &[u8], bytes: &[u8]) -> Result<(Self, u64), Damage> {
        let (revision, key) = take_u64(physical_key, u64::from_be_bytes).ok_or(Damage::Key)?;
        if key.is_empty() {
            return Err(Damage::Key);
        }
        let (key, revision) = (Key::new(key), Revision(revision));
        let short = || Damage::Short { key: key.clone(), revision };
        let [format, kind, rest @ ..] = bytes else { return Err(short()) };
        if *format != FORMAT || *kind > SEALED {
            return Err(Damage::Format { key, revision, format: *format });
        }
        let (created, rest) = take_u64(rest, u64::from_le_bytes).ok_or_else(short)?;
        let (checksum, value) = take_u64(rest, u64::from_le_bytes).ok_or_else(short)?;
        let value = (*kind != TOMBSTONE).then(|| Bytes::copy_from_slice(value));
        let record =
            Self { key, slot: Slot { modified: revision, created: Revision(created), value }, sealed: *kind == SEALED };
        if record.checksum() != checksum {
            return Err(Damage::Checksum { key: record.key, revision });
        }
        Ok((record, checksum))
    }

    fn kind(&self) -> u8 {
        match &self.slot.value {
            None => TOMBSTONE,
            Some(_) if self.sealed => SEALED,
            Some(_) => VALUE,
        }
    }

    /// Covers the place as well as the value: a record that strayed to another key or revision does not match.
    pub(crate) fn checksum(&self) -> u64 {
        let mut place = Vec::with_capacity(17 + self.key.as_bytes().len());
        place.push(self.kind());
        place.extend_from_slice(&self.slot.created.0.to_le_bytes());
        place.extend_from_slice(&self.slot.modified.0.to_le_bytes());
        place.extend_from_slice(self.key.as_bytes());
        xxh3_64_with_seed(self.slot.value.as_deref().unwrap_or_default(), xxh3_64(&place))
    }
}

/// The sum of everything stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ledger {
    /// The last commit.
    pub(crate) revision: Revision,
    /// The oldest revision that can be read.
    pub(crate) floor: Revision,
    pub(crate) records: u64,
    /// The wrapping sum of the records' checksums: the same in whatever order they came and went.
    pub(crate) digest: u64,
}

impl Ledger {
    pub(crate) fn add(&mut self, checksum: u64) {
        self.records += 1;
        self.digest = self.digest.wrapping_add(checksum);
    }

    /// Adds what was counted elsewhere.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.records += other.records;
        self.digest = self.digest.wrapping_add(other.digest);
    }

    pub(crate) fn subtract(&mut self, checksum: u64) {
        self.records -= 1;
        self.digest = self.digest.wrapping_sub(checksum);
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        for number in [self.revision.0, self.floor.0, self.records, self.digest] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = xxh3_64(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damage> {
        let body = bytes.len().checked_sub(8).map(|body| &bytes[..body]).ok_or(Damage::Ledger)?;
        let [FORMAT, rest @ ..] = body else { return Err(Damage::Ledger) };
        let mut numbers = [0; 5];
        let mut rest = [rest, &bytes[body.len()..]].concat();
        if rest.len() != numbers.len() * 8 {
            return Err(Damage::Ledger);
        }
        for (number, chunk) in numbers.iter_mut().zip(rest.chunks_exact_mut(8)) {
            *number = take_u64(chunk, u64::from_le_bytes).ok_or(Damage::Ledger)?.0;
        }
        let [revision, floor, records, digest, checksum] = numbers;
        if checksum != xxh3_64(body) {
            return Err(Damage::Ledger);
        }
        Ok(Self { revision: Revision(revision), floor: Revision(floor), records, digest })
    }
}

/// The checksums of sealed records: they cover what is stored, and only the plain value is in memory.
#[derive(Debug, Default)]
pub(crate) struct SealedRecords(HashMap<(Revision, Key), u64>);

impl SealedRecords {
    pub(crate) fn add(&mut self, key: Key, modified: Revision, checksum: u64) {
        self.0.insert((modified, key), checksum);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    fn take(&mut self, record: &Record) -> Option<u64> {
        if self.0.is_empty() {
            return None;
        }
        self.0.remove(&(record.slot.modified, record.key.clone()))
    }
}

/// Records that nobody can read any more. They are removed many at a time: a removal is a write like any other, and an
/// engine that orders its files by key has to rewrite all that lies between what it removes and what it adds.
#[derive(Debug, Default)]
pub(crate) struct Dead {
    /// Where each is stored, and its checksum.
    records: Vec<(Vec<u8>, u64)>,
    bytes: usize,
}

/// Dead bytes that are worth a removal while the store is busy; an idle one removes what there is.
const DEAD_BYTES_MIN: usize = 1 << 20;

impl Dead {
    /// `sealed` knows the checksums that cannot be told from what is in memory.
    pub(crate) fn add(&mut self, key: Key, slot: Slot, sealed: &mut SealedRecords) {
        let record = Record::plain(key, slot);
        self.bytes += record.key.as_bytes().len() + record.slot.value.as_ref().map_or(0, Bytes::len);
        let checksum = sealed.take(&record).unwrap_or_else(|| record.checksum());
        self.records.push((record.physical_key(), checksum));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.records.extend(other.records);
    }

    /// What should be removed now.
    pub(crate) fn due(&mut self, idle: bool) -> Self {
        if idle || self.bytes >= DEAD_BYTES_MIN { std::mem::take(self) } else { Self::default() }
    }

    pub(crate) fn records(&self) -> &[(Vec<u8>, u64)] {
        &self.records
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

fn take_u64(bytes: &[u8], from: fn([u8; 8]) -> u64) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((from(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_record() -> impl Strategy<Value = Record> {
        let key = prop::collection::vec(any::<u8>(), 1..60);
        let value = prop::option::of(prop::collection::vec(any::<u8>(), 0..300));
        (key, any::<u64>(), any::<u64>(), value, any::<bool>()).prop_map(|(key, modified, created, value, sealed)| {
            Record {
                key: Key::new(key),
                sealed: sealed && value.is_some(),
                slot: Slot { modified: Revision(modified), created: Revision(created), value: value.map(Bytes::from) },
            }
        })
    }

    proptest! {
        #[test]
        fn a_record_reads_back_as_it_was_written(record in any_record()) {
            let (bytes, checksum) = record.encode();
            prop_assert_eq!(Record::decode(&record.physical_key(), &bytes), Ok((record, checksum)));
        }

        #[test]
        fn one_flipped_bit_is_noticed(record in any_record(), at in any::<prop::sample::Index>(), bit in 0..8) {
            let (mut key, mut value) = (record.physical_key(), record.encode().0);
            let at = at.index(key.len() + value.len());
            let byte = if at < key.len() { &mut key[at] } else { &mut value[at - record.physical_key().len()] };
            *byte ^= 1u8 << bit;
            prop_assert!(Record::decode(&key, &value).is_err());
        }

        #[test]
        fn a_cut_record_is_noticed(record in any_record(), at in any::<prop::sample::Index>()) {
            let (value, _) = record.encode();
            prop_assert!(Record::decode(&record.physical_key(), &value[..at.index(value.len())]).is_err());
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(key in prop::collection::vec(any::<u8>(), 0..40), value in prop::collection::vec(any::<u8>(), 0..80)) {
            let _ = Record::decode(&key, &value);
            let _ = Ledger::decode(&value);
        }

        #[test]
        fn a_ledger_reads_back_and_a_changed_one_does_not(revision in any::<u64>(), records in any::<u64>(), at in 0usize..41, bit in 0..8) {
            let ledger = Ledger { revision: Revision(revision), floor: Revision(revision / 2), records, digest: !records };
            let mut bytes = ledger.encode();
            prop_assert_eq!(Ledger::decode(&bytes), Ok(ledger));
            bytes[at] ^= 1u8 << bit;
            prop_assert_eq!(Ledger::decode(&bytes), Err(Damage::Ledger));
        }

        #[test]
        fn the_ledger_does_not_care_for_order(records in prop::collection::vec(any_record(), 1..8)) {
            let (mut forward, mut backward) = (Ledger::default(), Ledger::default());
            records.iter().for_each(|record| forward.add(record.checksum()));
            records.iter().rev().for_each(|record| backward.add(record.checksum()));
            prop_assert_eq!(forward, backward);
            records.iter().for_each(|record| forward.subtract(record.checksum()));
            prop_assert_eq!(forward, Ledger::default());
        }
    }
}
