//! What the server is told before it starts. Flags and environment are read here and nowhere else.

use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;
use storage::{Engine, HistoryBounds, Limits, Options, Place};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};

/// The variable that says what is logged: `warn`, `storage=debug,fjall=info`, ...
pub const LOG_VARIABLE: &str = "HANSE_LOG";

/// Everything the server needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    pub place: Place,
    pub storage: Options,
}

/// The flags of `hanse serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeFlags {
    /// What keeps the data
    #[arg(long, value_enum, default_value_t = StorageKind::Fjall)]
    pub storage: StorageKind,
    /// The directory of the store; made if there is none
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// How long a superseded version stays readable
    #[arg(long, value_name = "SECONDS", default_value_t = HistoryBounds::default().age_max.as_secs())]
    pub history_secs_max: u64,
    /// How much memory superseded versions may take
    #[arg(long, value_name = "BYTES", default_value_t = HistoryBounds::default().bytes_max)]
    pub history_bytes_max: usize,
    /// The largest value that is accepted
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().value_bytes_max)]
    pub value_bytes_max: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StorageKind {
    /// The embedded default
    Fjall,
    /// Embedded, slower
    Sled,
    /// Nothing on disk: everything ends with the process
    Memory,
}

/// Flags that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    #[error("--storage {0} needs --data-dir")]
    NoDataDir(&'static str),
    #[error("--storage memory keeps nothing in --data-dir; leave it out")]
    NoUseForDataDir,
}

impl TryFrom<ServeFlags> for Config {
    type Error = FlagError;

    fn try_from(flags: ServeFlags) -> Result<Self, FlagError> {
        let history =
            HistoryBounds { age_max: Duration::from_secs(flags.history_secs_max), bytes_max: flags.history_bytes_max };
        let limits = Limits { value_bytes_max: flags.value_bytes_max, ..Limits::default() };
        let storage = Options { limits, history, ..Options::default() };
        Ok(Self { place: place(flags.storage, flags.data_dir)?, storage })
    }
}

fn place(kind: StorageKind, dir: Option<PathBuf>) -> Result<Place, FlagError> {
    let engine = match kind {
        StorageKind::Fjall => Engine::Fjall,
        StorageKind::Sled => Engine::Sled,
        StorageKind::Memory if dir.is_some() => return Err(FlagError::NoUseForDataDir),
        StorageKind::Memory => return Ok(Place::Memory),
    };
    let dir = dir.ok_or(FlagError::NoDataDir(engine.name()))?;
    Ok(Place::Dir { dir, engine })
}

/// What is logged: what [`LOG_VARIABLE`] says, or warnings of everybody and news of our own.
pub fn log_filter() -> Result<Targets, ParseError> {
    match std::env::var(LOG_VARIABLE) {
        Ok(directives) => directives.parse(),
        Err(_) => Ok(Targets::new().with_default(LevelFilter::WARN).with_target("hanse", LevelFilter::INFO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_is_asked_for_exactly_when_something_is_kept_in_it() {
        let dir = || Some(PathBuf::from("d"));
        let sled = Place::Dir { dir: "d".into(), engine: Engine::Sled };
        assert_eq!(place(StorageKind::Sled, dir()), Ok(sled));
        assert_eq!(place(StorageKind::Fjall, None), Err(FlagError::NoDataDir("fjall")));
        assert_eq!(place(StorageKind::Memory, None), Ok(Place::Memory));
        assert_eq!(place(StorageKind::Memory, dir()), Err(FlagError::NoUseForDataDir));
    }
}
