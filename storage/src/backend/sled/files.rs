//! What sled's files must be like before sled may touch them.
//!
//! sled reads its log as far as it makes sense, takes the rest for a write that was never finished, and overwrites it.
//! What it cannot make sense of any more is then gone. We can look at its two small files only; whether the log was
//! whole is seen afterwards, by what is missing from it. A log that was found damaged is not opened again: every
//! opening would destroy a little more, and the next could find another story.
//!
//! ```text
//!   db            the log
//!   conf          how the log was made, and a checksum
//!   snap.N        where pages are in the log up to N, its length, and a checksum; made anew when sled opens
//!   blobs/        values that did not fit the log: none of ours
//!   damaged       ours: what was found
//! ```

use crate::error::BackendError;
use std::io;
use std::path::{Path, PathBuf};

const VERDICT: &str = "damaged";
const UNFINISHED: &str = ".generating";
const LENGTH_BYTES: usize = 8;

/// Whether sled can be let in. Removes what sled left unfinished: it would read it.
pub(super) fn check(dir: &Path) -> Result<(), BackendError> {
    let verdict = dir.join(VERDICT);
    if let Ok(what) = std::fs::read_to_string(&verdict) {
        return Err(BackendError::Damaged { path: log(dir), what });
    }
    if !super::super::exists(&log(dir))? {
        return Err(damaged(log(dir), "it is missing"));
    }
    check_sum(dir.join("conf"), 0)?;
    for path in snapshots(dir).map_err(|error| BackendError::io(dir, &error))? {
        if path.to_string_lossy().ends_with(UNFINISHED) {
            std::fs::remove_file(&path).map_err(|error| BackendError::io(&path, &error))?;
        } else {
            check_sum(path, LENGTH_BYTES)?;
        }
    }
    Ok(())
}

/// Notes that the log is damaged, so that it is not opened again.
pub(super) fn condemn(dir: &Path, what: &str) -> BackendError {
    let verdict = dir.join(VERDICT);
    let what = format!(
        "{what} (sled overwrites what it cannot read, so it is not opened again while {} is there)",
        verdict.display()
    );
    if let Err(error) = std::fs::write(&verdict, &what) {
        tracing::warn!(%error, verdict = %verdict.display(), "could not be written");
    }
    BackendError::Damaged { path: log(dir), what }
}

pub(super) fn log(dir: &Path) -> PathBuf {
    dir.join("db")
}

fn snapshots(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let paths: io::Result<Vec<_>> = std::fs::read_dir(dir)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let is_snapshot = |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().starts_with("snap"));
    Ok(paths?.into_iter().filter(is_snapshot).collect())
}

/// A file that ends with the checksum of all but its last `skipped` bytes before it.
fn check_sum(path: PathBuf, skipped: usize) -> Result<(), BackendError> {
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(damaged(path, "it is missing")),
        Err(error) => return Err(BackendError::io(path, &error)),
    };
    let Some((body, checksum)) = bytes.split_last_chunk::<4>() else { return Err(damaged(path, "it is cut short")) };
    let Some(length) = body.len().checked_sub(skipped) else { return Err(damaged(path, "it is cut short")) };
    if crc32fast::hash(&body[..length]) != u32::from_le_bytes(*checksum) {
        return Err(damaged(path, "it does not match its checksum"));
    }
    Ok(())
}

fn damaged(path: PathBuf, what: &str) -> BackendError {
    BackendError::Damaged { path, what: what.to_owned() }
}
