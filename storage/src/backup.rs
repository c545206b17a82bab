//! A store at one revision, as a stream of bytes: the form of backups and of copies of a running store.
//!
//! ```text
//!   "hanse-backup 1\n"  revision(8)
//!   entry*              1  key length(4)  value length(4)  created(8)  modified(8)  key  value
//!                       2 instead of 1: the value is sealed (`seal`)
//!   end                 0  entries(8)  checksum of everything before it(8)
//! ```

use crate::error::{BackupError, ReadError};
use crate::index::Version;
use crate::key::{Key, KeyRange};
use crate::seal::Seal;
use crate::snapshot::{Entry, Snapshot};
use crate::txn::Revision;
use bytes::Bytes;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::Xxh3;

const MAGIC: &[u8; 15] = b"hanse-backup 1\n";
const ENTRY: u8 = 1;
const SEALED: u8 = 2;
const END: u8 = 0;
/// No stored key or value comes near it; a length beyond it is damage, not a reason to allocate.
const LENGTH_MAX: u32 = 256 << 20;

/// What a backup holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupSummary {
    pub revision: Revision,
    pub entries: u64,
    /// Keys and values.
    pub bytes: u64,
}

/// Writes everything that `snapshot` shows; what is sealed on the disk is sealed here.
pub(crate) fn write(snapshot: &Snapshot, to: impl Write) -> Result<BackupSummary, BackupError> {
    write_entries(snapshot.revision(), snapshot.scan(KeyRange::all()), snapshot.seal(), to)
}

fn write_entries(
    revision: Revision,
    entries: impl Iterator<Item = Result<Entry, ReadError>>,
    seal: &Seal,
    to: impl Write,
) -> Result<BackupSummary, BackupError> {
    let mut out = Hashed { inner: to, hash: Xxh3::new() };
    let mut summary = BackupSummary { revision, entries: 0, bytes: 0 };
    out.put(MAGIC)?;
    out.put(&summary.revision.0.to_le_bytes())?;
    for entry in entries {
        let (entry, mark) = sealed(entry?, seal);
        out.put_entry(mark, &entry)?;
        summary.count(&entry);
    }
    out.put(&[END])?;
    out.put(&summary.entries.to_le_bytes())?;
    let checksum = out.hash.digest();
    out.put(&checksum.to_le_bytes())?;
    out.inner.flush().map_err(BackupError::Io)?;
    Ok(summary)
}

/// As it is to be written, and how it is marked.
fn sealed(mut entry: Entry, seal: &Seal) -> (Entry, u8) {
    if seal.is_left_closed(&entry.key, entry.version.modified) {
        return (entry, SEALED);
    }
    let Some(value) = seal.seal(&entry.key, &entry.version.value) else { return (entry, ENTRY) };
    entry.version.value = value.into();
    (entry, SEALED)
}

/// Reads a backup entry by entry, sealed values as they are. It is only known to be whole when `visit` was called for all of it and this
/// returned `Ok`.
pub fn read(
    from: impl Read,
    mut visit: impl FnMut(Entry) -> Result<(), BackupError>,
) -> Result<BackupSummary, BackupError> {
    read_stored(from, |entry, _| visit(entry))
}

/// The same, telling of each entry whether its value is sealed.
pub(crate) fn read_stored(
    from: impl Read,
    mut visit: impl FnMut(Entry, bool) -> Result<(), BackupError>,
) -> Result<BackupSummary, BackupError> {
    let mut input = Hashed { inner: from, hash: Xxh3::new() };
    let magic: [u8; 15] = input.take().map_err(|error| match error {
        BackupError::CutShort => BackupError::NotABackup,
        other => other,
    })?;
    if magic != *MAGIC {
        return Err(BackupError::NotABackup);
    }
    let mut summary = BackupSummary { revision: Revision(input.take_u64()?), entries: 0, bytes: 0 };
    let mut last: Option<Key> = None;
    loop {
        match input.take::<1>()? {
            [mark @ (ENTRY | SEALED)] => {
                let entry = input.take_entry()?;
                check_place(&entry, last.as_ref(), summary.revision)?;
                last = Some(entry.key.clone());
                summary.count(&entry);
                visit(entry, mark == SEALED)?;
            }
            [END] => break,
            [other] => return Err(damaged(format!("unknown mark {other} after {} entries", summary.entries))),
        }
    }
    let entries = input.take_u64()?;
    let expected = input.hash.digest();
    let checksum = input.take_u64()?;
    if entries != summary.entries {
        return Err(damaged(format!("it says {entries} entries and has {}", summary.entries)));
    }
    if checksum != expected {
        return Err(damaged("it does not match its checksum".to_owned()));
    }
    Ok(summary)
}

/// A key comes once, after those before it, from no later than the backup itself.
fn check_place(entry: &Entry, last: Option<&Key>, revision: Revision) -> Result<(), BackupError> {
    let Entry { key, version } = entry;
    if last.is_some_and(|last| last >= key) {
        return Err(damaged(format!("{key} is out of order")));
    }
    if version.created > version.modified || version.modified > revision {
        let (created, modified) = (version.created, version.modified);
        return Err(damaged(format!("{key} of {created}, changed at {modified}, in a backup of revision {revision}")));
    }
    Ok(())
}

fn damaged(what: String) -> BackupError {
    BackupError::Damaged { what }
}

impl BackupSummary {
    fn count(&mut self, entry: &Entry) {
        self.entries += 1;
        self.bytes += (entry.key.as_bytes().len() + entry.version.value.len()) as u64;
    }
}

/// A stream and the checksum of what went through it.
struct Hashed<S> {
    inner: S,
    hash: Xxh3,
}

impl<S: Write> Hashed<S> {
    fn put(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.hash.update(bytes);
        self.inner.write_all(bytes).map_err(BackupError::Io)
    }

    fn put_entry(&mut self, mark: u8, entry: &Entry) -> Result<(), BackupError> {
        let Version { created, modified, value } = &entry.version;
        self.put(&[mark])?;
        self.put(&(entry.key.as_bytes().len() as u32).to_le_bytes())?;
        self.put(&(value.len() as u32).to_le_bytes())?;
        self.put(&created.0.to_le_bytes())?;
        self.put(&modified.0.to_le_bytes())?;
        self.put(entry.key.as_bytes())?;
        self.put(value)
    }
}

impl<S: Read> Hashed<S> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], BackupError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn take_u32(&mut self) -> Result<u32, BackupError> {
        self.take().map(u32::from_le_bytes)
    }

    fn take_u64(&mut self) -> Result<u64, BackupError> {
        self.take().map(u64::from_le_bytes)
    }

    fn take_bytes(&mut self, length: u32) -> Result<Vec<u8>, BackupError> {
        if length > LENGTH_MAX {
            return Err(damaged(format!("a key or value of {length} bytes")));
        }
        // Grows as bytes arrive: a false length costs nothing.
        let mut bytes = Vec::new();
        let read = (&mut self.inner).take(u64::from(length)).read_to_end(&mut bytes).map_err(BackupError::Io)?;
        if read < length as usize {
            return Err(BackupError::CutShort);
        }
        self.hash.update(&bytes);
        Ok(bytes)
    }

    fn take_entry(&mut self) -> Result<Entry, BackupError> {
        let (key_length, value_length) = (self.take_u32()?, self.take_u32()?);
        let (created, modified) = (Revision(self.take_u64()?), Revision(self.take_u64()?));
        let key = Key::new(self.take_bytes(key_length)?);
        let value = Bytes::from(self.take_bytes(value_length)?);
        if key.as_bytes().is_empty() {
            return Err(damaged("an empty key".to_owned()));
        }
        Ok(Entry { key, version: Version { created, modified, value } })
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), BackupError> {
        self.inner.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => BackupError::CutShort,
            _ => BackupError::Io(error),
        })?;
        self.hash.update(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(key: &[u8], created: u64, modified: u64, value: &[u8]) -> Entry {
        let version =
            Version { created: Revision(created), modified: Revision(modified), value: Bytes::copy_from_slice(value) };
        Entry { key: Key::new(key), version }
    }

    fn backup_of(revision: u64, entries: &[Entry]) -> Vec<u8> {
        let mut bytes = Vec::new();
        write_entries(Revision(revision), entries.iter().cloned().map(Ok), &Seal::default(), &mut bytes).unwrap();
        bytes
    }

    fn read_all(from: impl Read) -> Result<(BackupSummary, Vec<Entry>), BackupError> {
        let mut entries = Vec::new();
        let summary = read(from, |entry| {
            entries.push(entry);
            Ok(())
        })?;
        Ok((summary, entries))
    }

    fn any_entries() -> impl Strategy<Value = (u64, Vec<Entry>)> {
        let bytes = |most| prop::collection::vec(any::<u8>(), 0..most);
        let values = (bytes(40), any::<u32>(), any::<u32>());
        let key = prop::collection::vec(any::<u8>(), 1..20);
        prop::collection::btree_map(key, values, 0..8).prop_map(|entries: BTreeMap<_, _>| {
            let entries = entries
                .into_iter()
                .map(|(key, (value, one, other))| entry(&key, one.min(other).into(), one.max(other).into(), &value));
            (u32::MAX.into(), entries.collect())
        })
    }

    fn small() -> Vec<u8> {
        backup_of(9, &[entry(b"a", 1, 1, b"1"), entry(b"a\0", 2, 9, b""), entry(b"\xff", 3, 3, &[7; 60])])
    }

    proptest! {
        #[test]
        fn a_backup_reads_back_as_it_was_written((revision, entries) in any_entries()) {
            let (summary, found) = read_all(backup_of(revision, &entries).as_slice()).unwrap();
            prop_assert_eq!(summary.revision, Revision(revision));
            prop_assert_eq!(summary.entries, entries.len() as u64);
            prop_assert_eq!(found, entries);
        }

        #[test]
        fn one_flipped_bit_is_noticed((revision, entries) in any_entries(), at in any::<prop::sample::Index>(), bit in 0..8) {
            let mut bytes = backup_of(revision, &entries);
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            prop_assert!(read_all(bytes.as_slice()).is_err());
        }

        #[test]
        fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read_all(bytes.as_slice()).is_err());
            prop_assert!(read_all([MAGIC.as_slice(), &bytes].concat().as_slice()).is_err());
        }

        #[test]
        fn bytes_in_the_middle_are_noticed(at in 23usize..100, bytes in prop::collection::vec(0u8..4, 1..50)) {
            let whole = small();
            let at = at.min(whole.len() - 17);
            prop_assert!(read_all([&whole[..at], &bytes, &whole[at..]].concat().as_slice()).is_err());
            let written_over = [&whole[..at], &bytes, &whole[(at + bytes.len()).min(whole.len())..]].concat();
            prop_assert!(written_over == whole || read_all(written_over.as_slice()).is_err());
        }
    }

    #[test]
    fn a_backup_cut_anywhere_is_noticed() {
        let whole = small();
        assert!(read_all(whole.as_slice()).is_ok());
        for length in 0..whole.len() {
            let refused = read_all(&whole[..length]).unwrap_err();
            let expected = if length < MAGIC.len() { "not a backup" } else { "ends before its end" };
            assert!(refused.to_string().contains(expected), "{refused} after {length} bytes");
        }
    }

    #[test]
    fn entries_that_no_store_would_write_are_refused_though_the_checksum_matches() {
        let refused = |entries: &[Entry]| read_all(backup_of(5, entries).as_slice()).unwrap_err().to_string();
        let a = entry(b"a", 1, 1, b"");
        assert!(refused(&[a.clone(), a.clone()]).contains("a is out of order"));
        assert!(refused(&[entry(b"b", 1, 1, b""), a.clone()]).contains("a is out of order"));
        assert!(refused(&[entry(b"a", 1, 6, b"")]).contains("a of 1, changed at 6, in a backup of revision 5"));
        assert!(refused(&[entry(b"a", 3, 2, b"")]).contains("a of 3, changed at 2"));
        assert!(refused(&[entry(b"", 1, 1, b"")]).contains("an empty key"));
    }

    #[test]
    fn a_false_length_costs_no_memory_and_an_endless_stream_ends() {
        let mut header = [MAGIC.as_slice(), &9u64.to_le_bytes(), &[ENTRY]].concat();
        header.extend((LENGTH_MAX + 1).to_le_bytes());
        header.extend([0; 100]);
        assert!(read_all(header.as_slice()).unwrap_err().to_string().contains("a key or value of 268435457 bytes"));
        let endless = MAGIC.chain(io::repeat(1));
        assert!(matches!(read(endless, |_| Ok(())), Err(BackupError::Damaged { .. })));
    }

    #[test]
    fn a_reader_that_fails_is_not_taken_for_damage() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the cable is loose"))
            }
        }
        let cut = small().len() - 5;
        assert!(matches!(read_all(small()[..cut].chain(Broken)), Err(BackupError::Io(_))));
        assert!(matches!(read_all(Broken), Err(BackupError::Io(_))));
    }
}
