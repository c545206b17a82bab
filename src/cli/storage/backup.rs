//! `hanse storage backup`: a file that is whole or not there.

use super::Error;
use super::notation::number;
use super::source::Source;
use crate::cli::answer;
use crate::cli::output::Form;
use clap::Args;
use serde_json::json;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use storage::BackupSummary;

#[derive(Args, Debug)]
pub(in crate::cli) struct Flags {
    /// The data directory of the server
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The file to write, which must not exist yet; - for standard output
    #[arg(long, value_name = "FILE")]
    to: PathBuf,
    #[command(flatten)]
    form: Form,
}

pub(super) fn run(flags: &Flags) -> Result<(), Error> {
    if flags.to.as_os_str() == "-" {
        let summary = Source::of_dir(&flags.dir)?.copy_to(io::stdout().lock())?;
        // Standard output is the backup.
        io::stderr().write_all(report("standard output", &summary, flags.form).as_bytes())?;
        return Ok(());
    }
    check_absent(&flags.to)?;
    let source = Source::of_dir(&flags.dir)?;
    let unfinished = unfinished(&flags.to);
    let written = write(source, &unfinished, &flags.to);
    if written.is_err() {
        let _ = std::fs::remove_file(&unfinished);
    }
    Ok(answer(&report(&flags.to.display().to_string(), &written?, flags.form))?)
}

fn report(place: &str, summary: &BackupSummary, form: Form) -> String {
    let (keys, bytes) = (number(summary.entries), number(summary.bytes));
    form.write(
        || format!("{place}: backup of revision {}, {keys} keys, {bytes} bytes\n", summary.revision),
        || json!({ "file": place, "revision": summary.revision.0, "keys": summary.entries, "bytes": summary.bytes }),
    )
}

fn write(source: Source, unfinished: &Path, to: &Path) -> Result<BackupSummary, Error> {
    let failed = |source| Error::Write { file: to.to_owned(), source };
    // Only for its owner: a backup holds whatever secrets the store holds.
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(unfinished).map_err(failed)?;
    let summary = source.copy_to(&file)?;
    file.sync_all().map_err(failed)?;
    check_absent(to)?;
    std::fs::rename(unfinished, to).map_err(failed)?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(parent).and_then(|parent| parent.sync_all()).map_err(failed)?;
    Ok(summary)
}

fn check_absent(file: &Path) -> Result<(), Error> {
    match std::fs::symlink_metadata(file) {
        Ok(_) => Err(Error::Exists { file: file.to_owned() }),
        Err(_) => Ok(()),
    }
}

/// Beside its final name, and nobody else's: the process's own number is in it.
fn unfinished(to: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(to.file_name().unwrap_or_default());
    name.push(format!(".{}.unfinished", std::process::id()));
    to.with_file_name(name)
}
