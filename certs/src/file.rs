//! Files that are either there as a whole or not at all, over any crash.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

use crate::Error;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    Owner,
    Everybody,
}

impl Readers {
    fn mode(self) -> u32 {
        match self {
            Readers::Owner => 0o600,
            Readers::Everybody => 0o644,
        }
    }
}

/// `None` if there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

/// Writes a file that must not exist yet: of two processes that try, one is refused.
pub(crate) fn create(path: &Path, content: &[u8], readers: Readers) -> Result<(), Error> {
    let written =
        write(path, content, readers, |temporary| temporary.persist_noclobber(path).map_err(|refused| refused.error));
    written.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Writes a file, in place of the one that may be there.
pub(crate) fn replace(path: &Path, content: &[u8], readers: Readers) -> Result<(), Error> {
    let written = write(path, content, readers, |temporary| temporary.persist(path).map_err(|refused| refused.error));
    written.map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// Writes a file that only its owner may read, in place of the one that may be there.
pub fn write_private(path: &Path, content: &str) -> Result<(), Error> {
    replace(path, content.as_bytes(), Readers::Owner)
}

fn write(
    path: &Path,
    content: &[u8],
    readers: Readers,
    persist: impl FnOnce(NamedTempFile) -> io::Result<File>,
) -> io::Result<()> {
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    // Nobody else can open it before it has its last mode: a temporary file begins as its owner's alone.
    let mut temporary = tempfile::Builder::new().prefix(".certs-").tempfile_in(dir)?;
    temporary.write_all(content)?;
    temporary.as_file().set_permissions(Permissions::from_mode(readers.mode()))?;
    temporary.as_file().sync_all()?;
    persist(temporary)?;
    // Without this the name itself may be gone after a crash.
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_get_their_mode_and_leave_nothing_beside_them() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("a/b");
        for (name, readers, expect) in [("secret", Readers::Owner, 0o600), ("public", Readers::Everybody, 0o644)] {
            let path = inner.join(name);
            create(&path, b"1", readers).unwrap();
            replace(&path, b"2", readers).unwrap();
            assert_eq!(mode(&path), expect, "{name}");
            assert_eq!(read(&path).unwrap().unwrap(), b"2");
        }
        assert_eq!(mode(&inner), 0o700);
        assert_eq!(fs::read_dir(&inner).unwrap().count(), 2);
    }

    #[test]
    fn what_exists_is_not_created_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        create(&path, b"first", Readers::Owner).unwrap();
        let refused = create(&path, b"second", Readers::Owner).unwrap_err();
        assert_eq!(refused.to_string(), format!("cannot write {}", path.display()));
        assert_eq!(fs::read(&path).unwrap(), b"first");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_widened_secret_is_narrow_again_once_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        create(&path, b"1", Readers::Owner).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        replace(&path, b"2", Readers::Owner).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn absence_is_no_error_but_a_directory_is() {
        let dir = tempfile::tempdir().unwrap();
        assert!(read(&dir.path().join("nothing")).unwrap().is_none());
        assert!(matches!(read(dir.path()), Err(Error::Read { path, .. }) if path == dir.path()));
    }
}
