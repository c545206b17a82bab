//! `hanse storage verify`: reads all of it and says what was checked.

use super::Error;
use super::notation::number;
use super::source::{Kind, Source};
use crate::cli::answer;
use crate::cli::output::Form;
use clap::Args;
use serde_json::json;
use std::path::PathBuf;
use storage::Revision;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The data directory of a server, or a backup
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,
    #[command(flatten)]
    form: Form,
}

pub(super) fn run(flags: &Flags) -> Result<(), Error> {
    let source = Source::open(&flags.path)?;
    let oldest = source.stats().map(|stats| stats.oldest);
    let (what, checked) = describe(&source.kind, oldest);
    let summary = source.read(drop)?;
    let path = flags.path.display().to_string();
    let person = || {
        let (keys, bytes) = (number(summary.entries), number(summary.bytes));
        let size = format!("revision {}, {keys} keys, {bytes} bytes", summary.revision);
        format!("{path}: sound\n{what}, {size}\nchecked: {checked}\n")
    };
    let program = || {
        json!({ "path": path, "sound": true, "what": what, "revision": summary.revision.0, "keys": summary.entries,
            "bytes": summary.bytes, "checked": checked })
    };
    Ok(answer(&flags.form.write(person, program))?)
}

/// What it is, and what reading it to its end without an error proves.
fn describe(kind: &Kind, oldest: Option<Revision>) -> (String, &'static str) {
    match kind {
        Kind::Stopped { engine, .. } => (
            format!("{} store, readable from revision {}", engine.name(), oldest.unwrap_or_default()),
            "every record against its checksum, all records against the ledger, and the ledger against the last \
             acknowledged revision",
        ),
        Kind::Running { engine, .. } => (
            format!("{} store, running", engine.name()),
            "every entry of a copy from the running server, their number and the overall checksum; the files on disk are \
             checked when the server is stopped, and whenever it starts",
        ),
        Kind::Backup(_) => ("backup".to_owned(), "every entry, their number and the overall checksum"),
    }
}
