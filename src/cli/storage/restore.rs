//! `hanse storage restore`: a new store out of a backup.

use super::Error;
use super::notation::number;
use crate::cli::{answer, progress};
use clap::{Args, ValueEnum};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use storage::{Engine, RESTORE_BUMP};

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The directory of the new store; must not exist, or be empty
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The backup; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The engine of the new store, whatever the old one's was
    #[arg(long, value_enum, default_value_t = Embedded::Log)]
    storage: Embedded,
    /// How many revisions to skip
    ///
    /// Whoever read the old store after the backup was taken has seen later revisions; none of them may come again
    /// with another meaning.
    #[arg(long, value_name = "N", default_value_t = RESTORE_BUMP)]
    bump: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Embedded {
    Log,
    Fjall,
    Sled,
}

pub(super) fn run(flags: &Flags) -> Result<(), Error> {
    let engine = match flags.storage {
        Embedded::Log => Engine::Log,
        Embedded::Fjall => Engine::Fjall,
        Embedded::Sled => Engine::Sled,
    };
    let (from, total): (Box<dyn Read>, _) = if flags.from.as_os_str() == "-" {
        (Box::new(io::stdin().lock()), None)
    } else {
        let failed = |source| Error::Path { path: flags.from.clone(), source };
        let file = File::open(&flags.from).map_err(failed)?;
        let total = file.metadata().map_err(failed)?.len();
        (Box::new(file), Some(total))
    };
    let bar = progress::bytes("restoring", total);
    let from = BufReader::with_capacity(1 << 20, bar.wrap_read(from));
    let restored = storage::restore(&flags.dir, engine, from, flags.bump);
    bar.finish_and_clear();
    let failed = |source| Error::Restore { dir: flags.dir.clone(), from: flags.from.clone(), source };
    let summary = restored.map_err(failed)?;
    let text = format!(
        "{}: {} store made of the backup of revision {}, {} keys, {} bytes; its next revision comes after {}\n",
        flags.dir.display(),
        engine.name(),
        summary.revision,
        number(summary.entries),
        number(summary.bytes),
        summary.revision.0 + flags.bump,
    );
    Ok(answer(&text)?)
}
