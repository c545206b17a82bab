//! Where entries come from: a stopped store, a running one, a backup.

use super::Error;
use crate::cli::progress;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use storage::{
    BackupError, BackupSummary, Engine, Entry, HistoryBounds, KeyRange, OpenError, Options, Place, Seal, Stats, Store,
};

/// What is read at once from a file or a socket.
const BUFFER_BYTES: usize = 1 << 20;

/// Something that can be read from its first key to its last.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    /// Opened by us: everything in it was read and checked. Boxed: it is by far the largest.
    Stopped { engine: Engine, store: Box<Store> },
    /// Held by another process, which sends a copy.
    Running { engine: Engine, copy: UnixStream },
    /// Written by `hanse storage backup`.
    Backup(File),
}

impl Source {
    /// A store by its directory, or a backup by its file.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Path { path: path.to_owned(), source };
        if std::fs::metadata(path).map_err(failed)?.is_dir() {
            return Self::of_dir(path);
        }
        let kind = Kind::Backup(File::open(path).map_err(failed)?);
        Ok(Self { path: path.to_owned(), kind })
    }

    /// A store by its directory, which must be there.
    pub(super) fn of_dir(dir: &Path) -> Result<Self, Error> {
        let metadata = std::fs::metadata(dir).map_err(|source| Error::Path { path: dir.to_owned(), source })?;
        if !metadata.is_dir() {
            return Err(Error::NotADirectory { path: dir.to_owned() });
        }
        let name = storage::engine_of(dir)?.ok_or_else(|| Error::NoStore { dir: dir.to_owned() })?;
        let engine = Engine::named(&name).ok_or_else(|| Error::UnknownEngine { dir: dir.to_owned(), engine: name })?;
        let opening = progress::spinner("reading the store");
        let opened = Store::open(&Place::Dir { dir: dir.to_owned(), engine }, as_it_is());
        opening.finish_and_clear();
        let kind = match opened {
            Ok(store) => Kind::Stopped { engine, store: Box::new(store) },
            Err(OpenError::InUse { .. }) => {
                let refused = |source| Error::NoCopy { dir: dir.to_owned(), source };
                Kind::Running { engine, copy: storage::copy_of_running(dir).map_err(refused)? }
            }
            Err(error) => return Err(error.into()),
        };
        Ok(Self { path: dir.to_owned(), kind })
    }

    /// What only a store that we opened ourselves can tell.
    pub(super) fn stats(&self) -> Option<Stats> {
        match &self.kind {
            Kind::Stopped { store, .. } => Some(store.stats()),
            _ => None,
        }
    }

    /// Calls `visit` with every entry. What it saw is only known to be whole when this returns `Ok`.
    pub(super) fn read(self, mut visit: impl FnMut(Entry)) -> Result<BackupSummary, Error> {
        let Self { path, kind } = self;
        match kind {
            Kind::Stopped { store, .. } => scan(&path, &store, visit),
            Kind::Running { copy, .. } => receive(&path, copy, None, &mut visit),
            Kind::Backup(file) => {
                let total = file.metadata().ok().map(|metadata| metadata.len());
                receive(&path, file, total, &mut visit)
            }
        }
    }

    /// Writes everything to `out` in the form of a backup.
    pub(super) fn copy_to(self, out: impl Write) -> Result<BackupSummary, Error> {
        let failed = |source| Error::Backup { path: self.path.clone(), source };
        match self.kind {
            Kind::Stopped { store, .. } => {
                let bar = progress::bytes("writing", Some(store.stats().size.bytes));
                let written = store.backup(io::BufWriter::with_capacity(BUFFER_BYTES, bar.wrap_write(out)));
                bar.finish_and_clear();
                written.map_err(failed)
            }
            Kind::Running { copy, .. } => receive(&self.path, Tee { from: copy, to: out }, None, &mut |_| ()),
            Kind::Backup(file) => receive(&self.path, Tee { from: file, to: out }, None, &mut |_| ()),
        }
    }
}

/// Looking must not change what is there: nothing is too old and nothing too much. Nor does it need to open what is
/// sealed.
fn as_it_is() -> Options {
    let history = HistoryBounds::exactly(Duration::MAX, usize::MAX);
    Options { history, seal: Seal::shut(), ..Options::default() }
}

fn scan(dir: &Path, store: &Store, mut visit: impl FnMut(Entry)) -> Result<BackupSummary, Error> {
    let snapshot = store.recent();
    let size = store.stats().size;
    for entry in snapshot.scan(KeyRange::all()) {
        visit(entry.map_err(|source| Error::Read { dir: dir.to_owned(), source })?);
    }
    Ok(BackupSummary { revision: snapshot.revision(), entries: size.keys, bytes: size.bytes })
}

fn receive(
    path: &Path,
    from: impl Read,
    total: Option<u64>,
    visit: &mut dyn FnMut(Entry),
) -> Result<BackupSummary, Error> {
    let bar = progress::bytes("reading", total);
    let mut from = BufReader::with_capacity(BUFFER_BYTES, bar.wrap_read(from));
    let read = storage::read_backup(&mut from, |entry| {
        visit(entry);
        Ok(())
    });
    let rest = from.fill_buf().map(<[u8]>::is_empty);
    bar.finish_and_clear();
    let failed = |source| Error::Backup { path: path.to_owned(), source };
    let summary = read.map_err(failed)?;
    match rest.map_err(|error| failed(BackupError::Io(error)))? {
        true => Ok(summary),
        false => Err(Error::TrailingBytes { path: path.to_owned() }),
    }
}

/// Hands on what it reads, so that a copy is checked while it is being written.
struct Tee<R, W> {
    from: R,
    to: W,
}

impl<R: Read, W: Write> Read for Tee<R, W> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.to.write_all(&buffer[..read])?;
        Ok(read)
    }
}
