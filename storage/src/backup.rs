//! A store at one revision, as a stream of bytes: the form of backups and of copies of a running store.
//!
//! ```text
//!   "hanse-backup 1\n"  revision(8)
//!   entry*              1  key length(4)  value length(4)  created(8)  modified(8)  key  value
//!   end                 0  entries(8)  checksum of everything before it(8)
//! ```

use crate::error::BackupError;
use crate::index::Version;
use crate::key::{Key, KeyRange};
use crate::snapshot::{Entry, Snapshot};
use crate::txn::Revision;
use bytes::Bytes;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::Xxh3;

const MAGIC: &[u8; 15] = b"hanse-backup 1\n";
const ENTRY: u8 = 1;
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

/// Writes everything that `snapshot` shows.
pub(crate) fn write(snapshot: &Snapshot, to: impl Write) -> Result<BackupSummary, BackupError> {
    let mut out = Hashed { inner: to, hash: Xxh3::new() };
    let mut summary = BackupSummary { revision: snapshot.revision(), entries: 0, bytes: 0 };
    out.put(MAGIC)?;
    out.put(&summary.revision.0.to_le_bytes())?;
    for entry in snapshot.scan(KeyRange::all()) {
        let entry = entry?;
        out.put_entry(&entry)?;
        summary.count(&entry);
    }
    out.put(&[END])?;
    out.put(&summary.entries.to_le_bytes())?;
    let checksum = out.hash.digest();
    out.put(&checksum.to_le_bytes())?;
    out.inner.flush().map_err(BackupError::Io)?;
    Ok(summary)
}

/// Reads a backup entry by entry. It is only known to be whole when `visit` was called for all of it and this
/// returned `Ok`.
pub fn read(
    from: impl Read,
    mut visit: impl FnMut(Entry) -> Result<(), BackupError>,
) -> Result<BackupSummary, BackupError> {
    let mut input = Hashed { inner: from, hash: Xxh3::new() };
    let magic: [u8; 15] = input.take().map_err(|_| BackupError::NotABackup)?;
    if magic != *MAGIC {
        return Err(BackupError::NotABackup);
    }
    let mut summary = BackupSummary { revision: Revision(input.take_u64()?), entries: 0, bytes: 0 };
    loop {
        match input.take::<1>()? {
            [ENTRY] => {
                let entry = input.take_entry()?;
                summary.count(&entry);
                visit(entry)?;
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

    fn put_entry(&mut self, entry: &Entry) -> Result<(), BackupError> {
        let Version { created, modified, value } = &entry.version;
        self.put(&[ENTRY])?;
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
