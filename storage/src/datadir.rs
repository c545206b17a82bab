//! The directory of an embedded store: who holds it, what is in it.
//!
//! ```text
//!   lock           held by the process that has the store open
//!   format         "hanse-store 1 fjall"
//!   acknowledged   the witness
//!   fjall/         the engine's files, under its name
//!   control.sock   where the holder hands out copies
//! ```

use crate::error::OpenError;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const MAGIC: &str = "hanse-store 1";

/// A directory that this process holds. Let go of when dropped.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    engine: String,
    _lock: File,
}

impl DataDir {
    /// Takes hold of `path` for a store on `engine`, making it if there is none.
    pub(crate) fn hold(path: &Path, engine: &str) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Io { path: path.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed)?;
        let lock = lock(path)?;
        let format = path.join("format");
        match std::fs::read_to_string(&format) {
            Ok(found) => check_format(path, &format, &found, engine)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                write_format(path, &format, engine).map_err(|source| OpenError::Io { path: format, source })?;
            }
            Err(source) => return Err(OpenError::Io { path: format, source }),
        }
        Ok(Self { path: path.to_owned(), engine: engine.to_owned(), _lock: lock })
    }

    pub(crate) fn engine_dir(&self) -> PathBuf {
        self.path.join(&self.engine)
    }

    pub(crate) fn witness(&self) -> PathBuf {
        self.path.join("acknowledged")
    }
}

/// Where the holder of the directory listens.
pub(crate) fn control_socket(dir: &Path) -> PathBuf {
    dir.join("control.sock")
}

/// The engine of the store in `dir`; `None` if there is no store.
pub fn engine_of(dir: &Path) -> Result<Option<String>, OpenError> {
    let file = dir.join("format");
    match std::fs::read_to_string(&file) {
        Ok(found) => parse_format(&file, &found).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(OpenError::Io { path: file, source }),
    }
}

fn lock(dir: &Path) -> Result<File, OpenError> {
    let path = dir.join("lock");
    let failed = |source| OpenError::Io { path: path.clone(), source };
    let file = File::options().write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse { dir: dir.to_owned() }),
        Err(TryLockError::Error(source)) => Err(OpenError::Io { path, source }),
    }
}

fn parse_format(file: &Path, found: &str) -> Result<String, OpenError> {
    let engine = found.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' ')).map(str::trim_end);
    engine.map(str::to_owned).ok_or_else(|| OpenError::UnknownFormat {
        file: file.to_owned(),
        found: found.chars().take(60).collect::<String>().escape_debug().to_string(),
    })
}

fn check_format(dir: &Path, file: &Path, found: &str, asked: &str) -> Result<(), OpenError> {
    let found = parse_format(file, found)?;
    if found != asked {
        return Err(OpenError::OtherBackend { dir: dir.to_owned(), asked: asked.to_owned(), found });
    }
    Ok(())
}

/// The format is the last thing a new directory gets and must not be there by half.
fn write_format(dir: &Path, path: &Path, engine: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = File::create(&unfinished)?;
    file.write_all(format!("{MAGIC} {engine}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    sync_dir(dir)
}

/// Makes the names in `dir` durable.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_lets_go() {
        let dir = tempfile::tempdir().unwrap();
        let first = DataDir::hold(dir.path(), "fjall").unwrap();
        let refused = DataDir::hold(dir.path(), "fjall").unwrap_err().to_string();
        assert!(refused.ends_with("is in use by another process; stop it, or choose another directory"), "{refused}");
        drop(first);
        DataDir::hold(dir.path(), "fjall").unwrap();
    }

    #[test]
    fn another_engine_and_another_format_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        drop(DataDir::hold(dir.path(), "fjall").unwrap());
        let refused = DataDir::hold(dir.path(), "sled").unwrap_err().to_string();
        assert!(refused.contains("holds a fjall store, not sled"), "{refused}");
        assert_eq!(engine_of(dir.path()).unwrap().as_deref(), Some("fjall"));

        std::fs::write(dir.path().join("format"), "hanse-store 9 future\n").unwrap();
        let refused = DataDir::hold(dir.path(), "fjall").unwrap_err().to_string();
        assert!(refused.contains(r"format is not a store this version can read: hanse-store 9 future\n"), "{refused}");
    }
}
