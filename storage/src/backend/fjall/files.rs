//! What fjall's files must be like before fjall may touch them, and which of them is to blame when it complains.
//!
//! fjall removes what nothing refers to: tables that no version lists, keyspaces that are not in its first keyspace.
//! If what refers to them is damaged, the data would go as well. It also takes a missing mark for a new directory.
//!
//! ```text
//!   version, lock, N.jnl         the mark of its format, its lock, its journals
//!   keyspaces/0                  the names of the others: 1 holds our pairs, 2 the ledger
//!   keyspaces/N/current          the number of the version that counts, and the checksum of its file
//!   keyspaces/N/vM               a version: which tables there are, with their checksums
//!   keyspaces/N/tables/T         a table
//! ```

use super::journal::Reading;
use crate::error::BackendError;
use crate::txn::Revision;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_128};

pub(super) const MARK: &str = "version";
const PAIRS: &str = "keyspaces/1";
const LEDGER: &str = "keyspaces/2";
const MARK_BYTES: [u8; 4] = *b"FJL\x03";

/// Whether fjall can be let in. Changes nothing that holds data.
pub(super) fn check(dir: &Path, acknowledged: Revision) -> Result<(), BackendError> {
    let mark = dir.join(MARK);
    if read(&mark)? != MARK_BYTES {
        return Err(damaged(mark, "it is not the mark of a fjall 3 database"));
    }
    make_lock(&dir.join("lock"))?;
    for tree in ["keyspaces/0", PAIRS, LEDGER] {
        for table in listed(&dir.join(tree))? {
            table.check_presence()?;
        }
    }
    for table in listed(&dir.join("keyspaces/0"))? {
        table.check_content()?;
    }
    check_journals(dir, acknowledged)
}

/// The file that made fjall complain, if it can be known.
pub(super) fn blame(dir: &Path) -> Option<BackendError> {
    let looked = check(dir, Revision::ZERO).and_then(|()| {
        for tree in [PAIRS, LEDGER] {
            listed(&dir.join(tree))?.iter().try_for_each(Table::check_content)?;
        }
        // fjall has cut off what it could not read by now. What is missing at the end was in the last journal.
        let suspect = journals(dir)?.into_iter().rfind(|(_, reading)| reading.has_rest() || reading.newest.is_none());
        suspect.map_or(Ok(()), |(path, reading)| Err(unreadable_after(path, &reading)))
    });
    looked.err().filter(|error| matches!(error, BackendError::Damaged { .. }))
}

/// The lock holds nothing, and the directory has one of our own.
fn make_lock(path: &Path) -> Result<(), BackendError> {
    let made = File::options().write(true).create(true).truncate(false).open(path);
    made.map(drop).map_err(|error| BackendError::io(path, &error))
}

struct Table {
    path: PathBuf,
    checksum: u128,
}

impl Table {
    fn check_presence(&self) -> Result<(), BackendError> {
        match self.path.try_exists() {
            Ok(true) => Ok(()),
            Ok(false) => Err(missing(&self.path)),
            Err(error) => Err(BackendError::io(&self.path, &error)),
        }
    }

    fn check_content(&self) -> Result<(), BackendError> {
        let found = checksum(&self.path).map_err(|error| failed(&self.path, &error))?;
        if found == self.checksum { Ok(()) } else { Err(damaged(&self.path, "it does not match its checksum")) }
    }
}

/// The tables of the version that counts.
fn listed(tree: &Path) -> Result<Vec<Table>, BackendError> {
    let current = tree.join("current");
    let bytes = read(&current)?;
    let Some((number, rest)) = bytes.split_first_chunk::<8>() else { return Err(damaged(current, "it is cut short")) };
    let Some((expected, _)) = rest.split_first_chunk::<16>() else { return Err(damaged(current, "it is cut short")) };
    let version = tree.join(format!("v{}", u64::from_le_bytes(*number)));
    let found = match std::fs::read(&version) {
        Ok(bytes) => xxh3_128(&bytes),
        // Which of the two is wrong cannot be told, but both are named.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(damaged(current, format!("it refers to {}, which is missing", version.display())));
        }
        Err(error) => return Err(failed(&version, &error)),
    };
    if found != u128::from_le_bytes(*expected) {
        return Err(damaged(&version, format!("it does not match the checksum in {}", current.display())));
    }
    tables(tree, &version).map_err(|error| failed(&version, &error))
}

/// Reads a version: levels, each with runs, each with tables.
fn tables(tree: &Path, version: &Path) -> io::Result<Vec<Table>> {
    let archive = sfa::Reader::new(version).map_err(io::Error::other)?;
    let section = archive.toc().section(b"tables").ok_or(io::ErrorKind::InvalidData)?;
    let mut input = section.buf_reader(version)?;
    let mut found = Vec::new();
    let [levels] = take(&mut input)?;
    for _ in 0..levels {
        let [runs] = take(&mut input)?;
        for _ in 0..runs {
            for _ in 0..u32::from_le_bytes(take(&mut input)?) {
                let number = u64::from_le_bytes(take(&mut input)?);
                let [_kind] = take(&mut input)?;
                let checksum = u128::from_le_bytes(take(&mut input)?);
                let _sequence: [u8; 8] = take(&mut input)?;
                found.push(Table { path: tree.join("tables").join(number.to_string()), checksum });
            }
        }
    }
    Ok(found)
}

fn take<const N: usize>(input: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.read_exact(&mut bytes).map(|()| bytes)
}

/// Refuses journals that fjall would cut short although what follows was acknowledged.
fn check_journals(dir: &Path, acknowledged: Revision) -> Result<(), BackendError> {
    let journals = journals(dir)?;
    let Some(((last, reading), earlier)) = journals.split_last() else {
        return Err(damaged(dir, "it has no journal"));
    };
    for (path, reading) in earlier {
        if reading.resumes() {
            return Err(unreadable_after(path, reading));
        }
    }
    // A journal ends with the newest batch, unless it has none yet and all of them are in tables or earlier journals.
    match reading.newest {
        Some(newest) if newest < acknowledged => {
            let what = format!("it ends with revision {newest}, but {acknowledged} was acknowledged");
            Err(damaged(last, what))
        }
        None if reading.resumes() => Err(unreadable_after(last, reading)),
        None if acknowledged > Revision::ZERO && earlier.is_empty() && listed(&dir.join(PAIRS))?.is_empty() => {
            Err(damaged(last, format!("it holds nothing that can be read, but {acknowledged} was acknowledged")))
        }
        _ => Ok(()),
    }
}

fn unreadable_after(path: impl Into<PathBuf>, reading: &Reading) -> BackendError {
    damaged(path, format!("it cannot be read from byte {} on", reading.end))
}

/// Every journal, the oldest first.
fn journals(dir: &Path) -> Result<Vec<(PathBuf, Reading)>, BackendError> {
    let failed_dir = |error: io::Error| failed(dir, &error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed_dir)? {
        let path = entry.map_err(failed_dir)?.path();
        if path.extension().is_none_or(|extension| extension != "jnl") {
            continue;
        }
        let number: Option<u64> = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let Some(number) = number else { return Err(damaged(path, "a journal's name is a number")) };
        found.push((number, path));
    }
    found.sort_unstable();
    let read = |(_, path): (u64, PathBuf)| match Reading::of(&path) {
        Ok(reading) => Ok((path, reading)),
        Err(error) => Err(failed(&path, &error)),
    };
    found.into_iter().map(read).collect()
}

fn checksum(path: &Path) -> io::Result<u128> {
    let mut file = File::open(path)?;
    let mut hash = Xxh3::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            return Ok(hash.digest128());
        }
        hash.update(&buffer[..length]);
    }
}

fn read(path: &Path) -> Result<Vec<u8>, BackendError> {
    std::fs::read(path).map_err(|error| failed(path, &error))
}

fn failed(path: &Path, error: &io::Error) -> BackendError {
    match error.kind() {
        io::ErrorKind::NotFound => missing(path),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::Other => {
            damaged(path, error.to_string())
        }
        _ => BackendError::io(path, error),
    }
}

fn missing(path: &Path) -> BackendError {
    damaged(path, "it is missing")
}

fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> BackendError {
    BackendError::Damaged { path: path.into(), what: what.into() }
}
