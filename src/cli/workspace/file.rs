//! Workspaces in a file.
//!
//! ```text
//!   "hanse-workspace 1\n"
//!   record*    1  length(4)  JSON: a workspace, or a page of what is in the one before
//!   end        0  records(8)  SHA-256 of everything before it(32)
//! ```

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::io::{self, Read, Write};

const MAGIC: &[u8; 18] = b"hanse-workspace 1\n";
const RECORD: u8 = 1;
const END: u8 = 0;
/// No page comes near it; a length beyond it is damage, not a reason to allocate.
const LENGTH_MAX: u32 = 16 << 20;

/// A workspace, as the file says what it was.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) path: String,
    pub(super) id: String,
    #[serde(rename = "type")]
    pub(super) of: Value,
    #[serde(default)]
    pub(super) labels: Value,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Record {
    Workspace(Header),
    /// What is in the workspace before it, as the server hands it out.
    Page(Value),
}

#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum FileError {
    #[error("it was not written by `hanse workspace export`")]
    Foreign,
    #[error("it is damaged: {0}")]
    Damaged(String),
    #[error("it is incomplete")]
    Short,
    #[error("it cannot be read or written")]
    Io(#[from] io::Error),
}

/// Writes a file. It is whole once [`finish`](Writer::finish) has returned.
pub(super) struct Writer<W> {
    to: W,
    hash: Sha256,
    records: u64,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(to: W) -> Result<Self, FileError> {
        let mut writer = Self { to, hash: Sha256::new(), records: 0 };
        writer.put(MAGIC)?;
        Ok(writer)
    }

    pub(super) fn write(&mut self, record: &Record) -> Result<usize, FileError> {
        let text = serde_json::to_vec(record).map_err(|error| FileError::Damaged(error.to_string()))?;
        let length = u32::try_from(text.len()).ok().filter(|length| *length <= LENGTH_MAX);
        let length = length.ok_or_else(|| FileError::Damaged("a record is too large".to_owned()))?;
        self.put(&[RECORD])?;
        self.put(&length.to_le_bytes())?;
        self.put(&text)?;
        self.records += 1;
        Ok(text.len())
    }

    pub(super) fn finish(mut self) -> Result<W, FileError> {
        self.put(&[END])?;
        self.put(&self.records.to_le_bytes())?;
        let sum = self.hash.finalize();
        self.to.write_all(&sum)?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.hash.update(bytes);
        Ok(self.to.write_all(bytes)?)
    }
}

/// Reads a file record by record. It is only known to be whole when this returned `Ok`.
pub(super) fn read<E: From<FileError>>(
    from: impl Read,
    mut visit: impl FnMut(Record) -> Result<(), E>,
) -> Result<u64, E> {
    let mut from = Hashed { from, hash: Sha256::new() };
    match from.take::<18>() {
        Ok(begin) if begin == *MAGIC => {}
        Ok(_) | Err(FileError::Short) => return Err(FileError::Foreign.into()),
        Err(error) => return Err(error.into()),
    }
    let mut records = 0;
    loop {
        match from.take::<1>()? {
            [RECORD] => {}
            [END] => break,
            [other] => return Err(damaged(format!("there is no sort of record {other}")).into()),
        }
        let length = u32::from_le_bytes(from.take()?);
        if length > LENGTH_MAX {
            return Err(damaged("a length is beyond all bounds").into());
        }
        let text = from.take_some(length as usize)?;
        visit(serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?)?;
        records += 1;
    }
    if u64::from_le_bytes(from.take()?) != records {
        return Err(damaged("records are missing").into());
    }
    let sum = from.hash.clone().finalize();
    if from.take::<32>()? != *sum {
        return Err(damaged("its checksum does not fit").into());
    }
    Ok(records)
}

fn damaged(why: impl Into<String>) -> FileError {
    FileError::Damaged(why.into())
}

struct Hashed<R> {
    from: R,
    hash: Sha256,
}

impl<R: Read> Hashed<R> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn take_some(&mut self, length: usize) -> Result<Vec<u8>, FileError> {
        let mut bytes = vec![0; length];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), FileError> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => FileError::Short,
            _ => error.into(),
        })?;
        self.hash.update(&*bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn some() -> Vec<Record> {
        let of = json!({ "name": "team", "path": "root" });
        let header = Header { path: "root:a".to_owned(), id: "x".to_owned(), of, labels: json!({}) };
        vec![Record::Workspace(header), Record::Page(json!({ "entries": [1, 2] }))]
    }

    fn written() -> Vec<u8> {
        let mut writer = Writer::new(Vec::new()).unwrap();
        for record in some() {
            writer.write(&record).unwrap();
        }
        writer.finish().unwrap()
    }

    fn all(bytes: &[u8]) -> Result<Vec<Record>, FileError> {
        let mut found = Vec::new();
        read(bytes, |record| {
            found.push(record);
            Ok::<(), FileError>(())
        })?;
        Ok(found)
    }

    #[test]
    fn what_was_written_is_read_back() {
        assert_eq!(all(&written()).unwrap(), some());
    }

    #[test]
    fn no_byte_can_be_changed_or_be_missing() {
        let good = written();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            assert!(all(&bad).is_err(), "byte {at}");
            assert!(all(&good[..at]).is_err(), "cut at {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_refused_in_bounded_time(bytes in proptest::collection::vec(any::<u8>(), 0..200), whole in any::<bool>()) {
            let bytes = if whole { [&MAGIC[..], &bytes].concat() } else { bytes };
            prop_assert!(all(&bytes).is_err());
        }
    }
}
