//! Everything that can go wrong, by name.

use crate::key::Key;
use crate::txn::{Expect, Invalid, Revision};
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a commit was not acknowledged.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CommitError {
    #[error("{key}: expected {expected}, found {}", describe(.found))]
    Conflict { key: Key, expected: Expect, found: Option<Revision> },
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// Nothing was written, and nothing of it will appear later.
    #[error("the store cannot write at the moment")]
    Unavailable(#[source] Arc<BackendError>),
    /// It may or may not have been written: the store failed while it was on its way. Read before trying again.
    #[error("the store failed during the write; it may or may not have happened")]
    Uncertain(#[source] Arc<BackendError>),
    #[error("the store is closed")]
    Closed,
}

fn describe(found: &Option<Revision>) -> String {
    found.map_or_else(|| "no such key".to_owned(), |revision| format!("revision {revision}"))
}

/// Why a place in history cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    #[error("revision {asked} is no longer available, the oldest is {oldest}")]
    Compacted { asked: Revision, oldest: Revision },
    #[error("revision {asked} has not happened yet, the newest is {newest}")]
    Future { asked: Revision, newest: Revision },
    #[error("the store is closed")]
    Closed,
    #[error("the store cannot tell what is newest at the moment: {0}")]
    Unavailable(String),
}

/// Why a store could not be opened, each with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by another process; stop it, or choose another directory", .dir.display())]
    InUse { dir: PathBuf },
    #[error("{} holds a {found} store, not {asked}; open it as {found}, or move it with backup and restore", .dir.display())]
    OtherBackend { dir: PathBuf, asked: String, found: String },
    #[error("{} is not a store this version can read: {found}", .file.display())]
    UnknownFormat { file: PathBuf, found: String },
    #[error("{} is damaged: {what}; restore a backup into a new directory, or copy this one away for inspection", .file.display())]
    Damaged { file: PathBuf, what: String },
    #[error("cannot use {}{}", .path.display(), has_to_be(.source))]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot open the store")]
    Backend(#[from] BackendError),
    #[error("{} is not empty; restore into a new directory", .dir.display())]
    NotEmpty { dir: PathBuf },
    #[error("the backup cannot be read")]
    Backup(#[from] BackupError),
}

/// What a path should have been that could not be used.
fn has_to_be(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ", which whoever runs this has to be allowed to write"
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => ", which has to be a directory",
        _ => "",
    }
}

/// Why a backup could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    #[error("this is not a backup, or one of another version")]
    NotABackup,
    #[error("the backup ends before its end")]
    CutShort,
    #[error("the backup is damaged: {what}")]
    Damaged { what: String },
    #[error("the backup could not be transferred")]
    Io(#[source] io::Error),
    #[error("the store could not be read")]
    Read(#[from] ReadError),
}

/// What a backend says when it cannot do its work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackendError {
    #[error("no space left for {}", .path.display())]
    DiskFull { path: PathBuf },
    #[error("no permission to write {}", .path.display())]
    Denied { path: PathBuf },
    #[error("{} was removed while the store was open", .path.display())]
    Gone { path: PathBuf },
    #[error("{} failed: {what}", .path.display())]
    Io { path: PathBuf, what: String },
    #[error("{} is damaged: {what}", .path.display())]
    Damaged { path: PathBuf, what: String },
    #[error("cannot reach {endpoint}: {what}")]
    Unreachable { endpoint: String, what: String },
    #[error("a write before this one failed")]
    Interrupted,
    /// Whoever opens it must give the key that is named.
    #[error("{what}")]
    Locked { what: String },
    #[error("it was opened to be looked at, without the keys of what is sealed in it")]
    Shut,
    #[error("failure injected at step {step}")]
    Injected { step: u64 },
}

impl BackendError {
    pub fn io(path: impl Into<PathBuf>, error: &io::Error) -> Self {
        let path = path.into();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Self::Denied { path },
            _ => Self::Io { path, what: error.to_string() },
        }
    }
}
