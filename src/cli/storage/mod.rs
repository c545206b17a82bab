//! `hanse storage`: looking into a store, copying it, checking it.
//!
//! A stopped store is opened with its own engine and left as it was. One that another process holds is read through
//! the copy which that process hands out.

mod backup;
mod inspect;
mod notation;
mod restore;
mod source;
mod verify;

use clap::Subcommand;
use std::io;
use std::path::PathBuf;
use storage::{BackupError, OpenError, ReadError};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show what a store or a backup holds
    Inspect(inspect::Flags),
    /// Write everything at the newest revision to a file
    Backup(backup::Flags),
    /// Make a new store out of a backup
    Restore(restore::Flags),
    /// Check a store or a backup, all of it
    Verify(verify::Flags),
}

pub(super) fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Inspect(flags) => inspect::run(&flags),
        Command::Backup(flags) => backup::run(&flags),
        Command::Restore(flags) => restore::run(&flags),
        Command::Verify(flags) => verify::run(&flags),
    }
}

/// Why one of these commands did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot look at {}", .path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("there is no store in {}", .dir.display())]
    NoStore { dir: PathBuf },
    #[error("{} holds a {engine} store, which this version does not know", .dir.display())]
    UnknownEngine { dir: PathBuf, engine: String },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{} is in use by another process, which hands out no copy of it", .dir.display())]
    NoCopy {
        dir: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read {}", .path.display())]
    Backup {
        path: PathBuf,
        #[source]
        source: BackupError,
    },
    #[error("{} goes on after its end", .path.display())]
    TrailingBytes { path: PathBuf },
    #[error("cannot read {}", .dir.display())]
    Read {
        dir: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("{} exists already; choose another name", .file.display())]
    Exists { file: PathBuf },
    #[error("cannot write {}", .file.display())]
    Write {
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot restore {} from {}", .dir.display(), .from.display())]
    Restore {
        dir: PathBuf,
        from: PathBuf,
        #[source]
        source: OpenError,
    },
    #[error("cannot write the answer")]
    Answer(#[from] io::Error),
}
