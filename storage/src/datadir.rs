//! The directory of an embedded store: who holds it, what is in it.
//!
//! ```text
//!   lock           held by the process that has the store open
//!   format         "hanse-store 1 log"
//!   acknowledged   the witness
//!   log/           the engine's files, under its name
//!   control.sock   where the holder hands out copies
//! ```

use crate::backend::sync_dir;
use crate::engine::Engine;
use crate::error::OpenError;
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

const MAGIC: &str = "hanse-store 1";
/// Far more than any format has: what is longer is something else.
const FORMAT_BYTES_MAX: u64 = 256;

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
        match engine_of(path)? {
            Some(found) => check_engine(path, &found, engine)?,
            None => {
                // It may have lost its format and nothing else.
                if let Some(other) = Engine::ALL.iter().find(|other| path.join(other.name()).exists()) {
                    check_engine(path, other.name(), engine)?;
                }
                write_format(path, &format, engine).map_err(|source| OpenError::Io { path: format, source })?;
            }
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
    let mut found = Vec::new();
    let read = File::open(&file).and_then(|format| format.take(FORMAT_BYTES_MAX).read_to_end(&mut found));
    match read {
        Ok(_) => parse_format(&file, &found).map(Some),
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

/// The name of the engine: `hanse-store 1 NAME`, on a line.
fn parse_format(file: &Path, found: &[u8]) -> Result<String, OpenError> {
    let found = String::from_utf8_lossy(found);
    let engine = found.strip_prefix(MAGIC).and_then(|rest| rest.strip_prefix(' ')).map(str::trim_end);
    let named = engine.filter(|name| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase()));
    named.map(str::to_owned).ok_or_else(|| OpenError::UnknownFormat {
        file: file.to_owned(),
        found: found.chars().take(60).collect::<String>().escape_debug().to_string(),
    })
}

fn check_engine(dir: &Path, found: &str, asked: &str) -> Result<(), OpenError> {
    if found != asked {
        let (asked, found) = (asked.to_owned(), found.to_owned());
        return Err(OpenError::OtherBackend { dir: dir.to_owned(), asked, found });
    }
    Ok(())
}

/// The format must not be there by half.
fn write_format(dir: &Path, path: &Path, engine: &str) -> io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = File::create(&unfinished)?;
    file.write_all(format!("{MAGIC} {engine}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    sync_dir(dir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn any_other_bytes_are_not_a_format(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("format"), &bytes).unwrap();
            let refused = engine_of(dir.path()).unwrap_err();
            prop_assert!(matches!(refused, OpenError::UnknownFormat { .. }), "{}", refused);
            prop_assert!(refused.to_string().len() < 1000 && !refused.to_string().contains(char::is_control));
            prop_assert!(DataDir::hold(dir.path(), "fjall").is_err());
            prop_assert_eq!(std::fs::read(dir.path().join("format")).unwrap(), bytes, "it is left as it was");
        }

        #[test]
        fn a_format_with_one_flipped_bit_never_opens_as_what_it_was(at in 0usize..20, bit in 0..8) {
            let dir = tempfile::tempdir().unwrap();
            drop(DataDir::hold(dir.path(), "fjall").unwrap());
            let mut bytes = std::fs::read(dir.path().join("format")).unwrap();
            // The end of the line is not part of the name.
            let at = at.min(bytes.len() - 2);
            bytes[at] ^= 1u8 << bit;
            std::fs::write(dir.path().join("format"), bytes).unwrap();
            prop_assert!(DataDir::hold(dir.path(), "fjall").is_err());
        }
    }
}
