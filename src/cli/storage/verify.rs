//! `hanse storage verify`: reads all of it and says what was checked.

use super::Error;
use super::notation::number;
use super::source::{Kind, Source};
use crate::cli::answer;
use clap::Args;
use std::path::PathBuf;
use storage::Revision;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The directory of a store, or a backup
    #[arg(value_name = "DIR|FILE")]
    path: PathBuf,
}

pub(super) fn run(flags: &Flags) -> Result<(), Error> {
    let source = Source::open(&flags.path)?;
    let oldest = source.stats().map(|stats| stats.oldest);
    let (what, checked) = describe(&source.kind, oldest);
    let summary = source.read(drop)?;
    let text = format!(
        "{}: sound\n{what}, revision {}, {} keys, {} bytes\nchecked: {checked}\n",
        flags.path.display(),
        summary.revision,
        number(summary.entries),
        number(summary.bytes),
    );
    Ok(answer(&text)?)
}

/// What it is, and what reading it to its end without an error proves.
fn describe(kind: &Kind, oldest: Option<Revision>) -> (String, &'static str) {
    match kind {
        Kind::Stopped { engine, .. } => (
            format!("{} store, readable from revision {}", engine.name(), oldest.unwrap_or_default()),
            "every record against its checksum, all records against the ledger, the ledger against the last revision \
             that was acknowledged",
        ),
        Kind::Running { engine, .. } => (
            format!("{} store, running", engine.name()),
            "every entry of the copy that it hands out, their number and the checksum of the whole; its files can be \
             checked when it is stopped, and are whenever it is opened",
        ),
        Kind::Backup(_) => ("backup".to_owned(), "every entry, their number and the checksum of the whole"),
    }
}
