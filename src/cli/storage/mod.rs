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
    /// Write a backup of a store to a file
    Backup(backup::Flags),
    /// Create a new store from a backup
    Restore(restore::Flags),
    /// Read all of a store or a backup and check it
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
    #[error("cannot open {}", .path.display())]
    Path {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("no store in {}", .dir.display())]
    NoStore { dir: PathBuf },
    #[error("{} holds a {engine} store, which this version does not know", .dir.display())]
    UnknownEngine { dir: PathBuf, engine: String },
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{} is in use by another process, which does not provide a copy of it", .dir.display())]
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
    #[error("{} has data after the end of the backup", .path.display())]
    TrailingBytes { path: PathBuf },
    #[error("cannot read {}", .dir.display())]
    Read {
        dir: PathBuf,
        #[source]
        source: ReadError,
    },
    #[error("{} already exists; choose another name", .file.display())]
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
    #[error("cannot write the output")]
    Answer(#[from] io::Error),
}
