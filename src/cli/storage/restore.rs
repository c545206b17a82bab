//! `hanse storage restore`: a new store out of a backup.

use super::Error;
use super::notation::number;
use crate::cli::output::Form;
use crate::cli::{answer, progress};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use storage::{Engine, RESTORE_BUMP};

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The directory for the new store, which must be empty or not exist yet
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The backup to read; - for standard input
    #[arg(long, value_name = "FILE")]
    from: PathBuf,
    /// The engine of the new store; it need not be the one of the old store
    #[arg(long, value_enum, default_value_t = Embedded::Log)]
    storage: Embedded,
    /// How many revisions to skip
    ///
    /// Clients may have seen revisions of the old store that are later than the backup. The new store must not use them
    /// again.
    #[arg(long, value_name = "N", default_value_t = RESTORE_BUMP)]
    bump: u64,
    #[command(flatten)]
    form: Form,
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
    let (dir, next) = (flags.dir.display().to_string(), summary.revision.0 + flags.bump);
    let person = || {
        let (revision, keys, bytes) = (summary.revision, number(summary.entries), number(summary.bytes));
        let restored = format!("{} store restored from the backup of revision {revision}", engine.name());
        format!("{dir}: {restored}, {keys} keys, {bytes} bytes; new revisions start after {next}\n")
    };
    let program = || {
        json!({ "dir": dir, "engine": engine.name(), "backupRevision": summary.revision.0, "revision": next,
            "keys": summary.entries, "bytes": summary.bytes })
    };
    Ok(answer(&flags.form.write(person, program))?)
}
