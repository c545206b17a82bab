//! Reads fjall's journals without touching them.
//!
//! fjall takes the first thing it cannot read in a journal for a write that was never finished, and cuts the file
//! there. After a crash that is right; after a flipped bit it destroys every commit that follows. So we look first.
//!
//! ```text
//!   batch   start item* end
//!   start   1  items(4)  sequence(8)
//!   item    2  kind(1)  compression(1)  keyspace(8)  key length(2)  value length(4)  stored length(4)  key  value
//!   end     3  checksum of all bytes of the items(8)  "FJL" 3
//! ```

use super::LEDGER_KEY;
use crate::record::Ledger;
use crate::txn::Revision;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use xxhash_rust::xxh3::Xxh3;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const MAGIC: [u8; 4] = *b"FJL\x03";
const ITEM_HEADER_BYTES: usize = 20;
/// No value comes near it; a length beyond it is damage, not a reason to read on.
const LENGTH_MAX: u32 = 64 << 20;
const BUFFER_BYTES: usize = 1 << 20;

/// What a journal holds.
#[derive(Debug)]
pub(super) struct Reading {
    /// Of the last whole batch; `None` if there is no such batch.
    pub(super) newest: Option<Revision>,
    /// Where the whole batches end.
    pub(super) end: u64,
    /// What follows them; empty if that is only the space made for more.
    rest: Vec<u8>,
}

impl Reading {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let mut batches = Batches { input: BufReader::with_capacity(BUFFER_BYTES, File::open(path)?), position: 0 };
        let (mut newest, mut end) = (None, 0);
        while let Some(revision) = batches.next_whole()? {
            newest = revision.or(newest);
            end = batches.position;
        }
        drop(batches);
        Ok(Self { newest, end, rest: rest(path, end)? })
    }

    /// Whether something is left that is not a whole batch: an unfinished write, or damage.
    pub(super) fn has_rest(&self) -> bool {
        !self.rest.is_empty()
    }

    /// Whether a whole batch follows what cannot be read. A write that was never finished is the last in its journal.
    pub(super) fn resumes(&self) -> bool {
        let starts = (1..self.rest.len()).filter(|at| self.rest[*at] == START);
        starts.into_iter().any(|at| {
            let mut batches = Batches { input: &self.rest[at..], position: 0 };
            matches!(batches.next_whole(), Ok(Some(_)))
        })
    }
}

/// The bytes after `end`, without the zeros at their end.
fn rest(path: &Path, end: u64) -> io::Result<Vec<u8>> {
    use std::io::Seek as _;
    let mut file = File::open(path)?;
    file.seek(io::SeekFrom::Start(end))?;
    let mut rest = Vec::new();
    let mut zeros = 0;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = file.read(&mut buffer)?;
        let chunk = &buffer[..length];
        if length == 0 {
            return Ok(rest);
        }
        let Some(last) = chunk.iter().rposition(|byte| *byte != 0) else {
            zeros += length;
            continue;
        };
        rest.resize(rest.len() + std::mem::take(&mut zeros), 0);
        rest.extend_from_slice(&chunk[..=last]);
        zeros = length - last - 1;
    }
}

struct Batches<R> {
    input: R,
    position: u64,
}

/// Why the next batch cannot be had.
enum Stop {
    Unreadable,
    Io(io::Error),
}

impl<R: Read> Batches<R> {
    /// The next batch and the revision its ledger gives, if it has one; `None` if no whole batch follows.
    fn next_whole(&mut self) -> io::Result<Option<Option<Revision>>> {
        match self.batch() {
            Ok(revision) => Ok(Some(revision)),
            Err(Stop::Unreadable) => Ok(None),
            Err(Stop::Io(error)) => Err(error),
        }
    }

    fn batch(&mut self) -> Result<Option<Revision>, Stop> {
        if self.take()? != [START] {
            return Err(Stop::Unreadable);
        }
        let items = u32::from_le_bytes(self.take()?);
        let _sequence: [u8; 8] = self.take()?;
        let mut hash = Xxh3::new();
        let mut revision = None;
        for _ in 0..items {
            revision = self.item(&mut hash)?.or(revision);
        }
        if self.take()? != [END] || u64::from_le_bytes(self.take()?) != hash.digest() || self.take()? != MAGIC {
            return Err(Stop::Unreadable);
        }
        Ok(revision)
    }

    fn item(&mut self, hash: &mut Xxh3) -> Result<Option<Revision>, Stop> {
        let header: [u8; 1 + ITEM_HEADER_BYTES] = self.take()?;
        let [ITEM, _kind, _compression, _k0, _k1, _k2, _k3, _k4, _k5, _k6, _k7, fields @ ..] = header else {
            return Err(Stop::Unreadable);
        };
        let [k0, k1, _, _, _, _, stored @ ..] = fields;
        let (key_length, stored_length) = (u16::from_le_bytes([k0, k1]), u32::from_le_bytes(stored));
        let key = self.take_bytes(u32::from(key_length))?;
        let value = self.take_bytes(stored_length)?;
        hash.update(&header);
        hash.update(&key);
        hash.update(&value);
        let ledger = (key == LEDGER_KEY).then(|| Ledger::decode(&value).ok()).flatten();
        Ok(ledger.map(|ledger| ledger.revision))
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    fn take_bytes(&mut self, length: u32) -> Result<Vec<u8>, Stop> {
        if length > LENGTH_MAX {
            return Err(Stop::Unreadable);
        }
        // Grows as bytes arrive: a false length costs nothing.
        let mut bytes = Vec::new();
        let read = (&mut self.input).take(u64::from(length)).read_to_end(&mut bytes)?;
        self.position += read as u64;
        if read < length as usize { Err(Stop::Unreadable) } else { Ok(bytes) }
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::UnexpectedEof { Self::Unreadable } else { Self::Io(error) }
    }
}
