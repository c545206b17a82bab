//! The log, the embedded default: every batch is appended to the newest of a row of segments, and synced.
//!
//! Reads never come here, so nothing is sorted, indexed or cached; where each pair is stands in memory. Segments go in
//! the order in which they came. What is still needed of the oldest is written once more at the end, a little with
//! each batch, and when nothing of it is needed the next frame says so and the file is removed. In that order a
//! removal outlives every put that it is about, so it need not be carried on.
//!
//! ```text
//!   N.log   a segment: frames, the first of which has the number N
//! ```

mod frame;
mod places;
mod replay;
#[cfg(test)]
mod tests;

use super::{Anchor, Backend, Batch, Visit, exists, made_whole, sync_dir};
use crate::error::BackendError;
use crate::txn::Revision;
use frame::{Carried, Entry, Frame, HEAD_BYTES};
use places::{Id, Place, Places, prefix};
use replay::damaged;
use std::fs::File;
use std::hash::RandomState;
use std::io;
use std::ops::RangeInclusive;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// A segment is an eighth of what is needed, within these bounds: small enough that the last pieces of garbage are
/// little beside it, large enough that there are not thousands.
const SEGMENT_BYTES: RangeInclusive<u64> = 1 << 20..=32 << 20;
const SEGMENTS: u64 = 8;
/// Garbage that is not worth any work, in segments.
const SLACK: u64 = 2;
/// What is carried on with one batch, beside twice its own bytes: enough to gain on any garbage.
const CARRIED_MIN: usize = 64 << 10;
/// For each byte that may be carried on so many are looked at.
const LOOKS: usize = 4;
/// Read at once while pairs are read in order.
const WINDOW_BYTES: usize = 64 << 10;
/// What the buffer for frames keeps between them.
const BUFFER_BYTES_MAX: usize = 8 << 20;

#[derive(Debug)]
pub struct LogBackend {
    dir: PathBuf,
    /// `None` after a failure.
    open: Option<Open>,
}

#[derive(Debug)]
struct Open {
    /// The newest segment.
    current: Anchor,
    /// The number of the next frame.
    next: u64,
    ledger: Option<Vec<u8>>,
    places: Places,
    hasher: RandomState,
    cleaning: Cleaning,
    /// It cannot be cleaned: part of it can no longer be read.
    stuck: bool,
    buffer: Vec<u8>,
}

/// How far the oldest segment has been looked through for what is still needed.
#[derive(Debug, Default)]
struct Cleaning {
    /// Where the frame begins that is being looked at; the frame; how many of its entries were looked at.
    offset: u64,
    frame: Vec<u8>,
    entries: usize,
}

impl LogBackend {
    /// Opens what is in `dir`; makes it if there is nothing.
    pub fn open(dir: impl Into<PathBuf>) -> Result<Self, BackendError> {
        Self::open_after(dir, Revision::ZERO)
    }

    /// The same, but knowing that commits up to `acknowledged` must be there.
    pub(crate) fn open_after(dir: impl Into<PathBuf>, acknowledged: Revision) -> Result<Self, BackendError> {
        let dir = dir.into();
        if acknowledged == Revision::ZERO && !exists(&dir)? {
            made_whole(&dir, |unfinished| {
                std::fs::create_dir_all(unfinished).map_err(|error| BackendError::io(unfinished, &error))?;
                create(unfinished, 1).map(drop)
            })?;
        }
        let open = replay::open(&dir, acknowledged)?;
        Ok(Self { dir, open: Some(open) })
    }

    fn opened(&self) -> Result<&Open, BackendError> {
        self.open.as_ref().ok_or_else(|| not_open(&self.dir))
    }
}

fn not_open(dir: &Path) -> BackendError {
    BackendError::Io { path: dir.to_owned(), what: "it is not open".into() }
}

fn segment_path(dir: &Path, first: u64) -> PathBuf {
    dir.join(format!("{first:020}.log"))
}

fn create(dir: &Path, first: u64) -> Result<Anchor, BackendError> {
    let path = segment_path(dir, first);
    let created = File::options().read(true).write(true).create_new(true).open(&path);
    let file = created.map_err(|error| BackendError::io(&path, &error))?;
    sync_dir(dir).map_err(|error| BackendError::io(dir, &error))?;
    Ok(Anchor { path, file })
}

impl Backend for LogBackend {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        let open = self.opened()?;
        let mut reader = Reader { dir: &self.dir, segment: None, start: 0, window: Vec::new() };
        for place in open.places.within(prefix(from)..=prefix(to)) {
            let (key, value) = reader.pair(place)?;
            if from <= key && key < to && visit(key, value)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        Ok(self.opened()?.ledger.clone())
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        let open = self.open.as_mut().ok_or_else(|| not_open(&self.dir))?;
        let persisted = open.persist(&self.dir, batch);
        if persisted.is_err() {
            // What of it is stored is only known when it was read back.
            self.open = None;
        }
        persisted
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        self.open = None;
        if !exists(&self.dir)? {
            return Err(BackendError::Gone { path: self.dir.clone() });
        }
        self.open = Some(replay::open(&self.dir, Revision::ZERO)?);
        Ok(())
    }
}

impl Open {
    fn new(current: Anchor, next: u64, ledger: Option<Vec<u8>>, places: Places, hasher: RandomState) -> Self {
        Self { current, next, ledger, places, hasher, cleaning: Cleaning::default(), stuck: false, buffer: Vec::new() }
    }

    fn persist(&mut self, dir: &Path, batch: &Batch) -> Result<(), BackendError> {
        let bytes: usize = batch.puts.iter().map(|(key, value)| key.len() + value.len()).sum();
        let carried = self.survivors(dir, 2 * bytes + CARRIED_MIN);
        self.append(dir, batch, &carried, 0)?;
        self.drop_unneeded(dir)
    }

    /// Writes a frame that does what `batch` says and lets go of the `gone` oldest segments.
    fn append(&mut self, dir: &Path, batch: &Batch, carried: &Carried, gone: usize) -> Result<(), BackendError> {
        let (first, offset) = self.room(dir)?;
        let mut frame = std::mem::take(&mut self.buffer);
        let path = &self.current.path;
        if !frame::encode(&mut frame, self.next, self.places.oldest_without(gone), batch, carried) {
            return Err(BackendError::Io { path: path.clone(), what: "the batch is too large".into() });
        }
        let file = &self.current.file;
        let written = file.write_all_at(&frame, offset).and_then(|()| file.sync_data());
        written.map_err(|error| BackendError::io(path, &error))?;
        self.current.check()?;
        self.next += 1;
        self.places.grow(frame.len() as u64);
        if let Some(frame) = Frame::trusted(&frame) {
            replay::steps(&frame, first, offset as usize, &self.hasher).for_each(|step| self.places.apply(step));
        }
        self.ledger = Some(batch.ledger.clone());
        frame.clear();
        frame.shrink_to(BUFFER_BYTES_MAX);
        self.buffer = frame;
        Ok(())
    }

    /// The segment that the next frame goes to, and where in it; a new one if the newest is full.
    fn room(&mut self, dir: &Path) -> Result<(u64, u64), BackendError> {
        let newest = self.places.newest().map(|newest| (newest.first, newest.bytes));
        if let Some((first, bytes)) = newest.filter(|(_, bytes)| *bytes < self.segment_bytes()) {
            return Ok((first, bytes));
        }
        self.current = create(dir, self.next)?;
        self.places.begin(self.next);
        Ok((self.next, 0))
    }

    fn segment_bytes(&self) -> u64 {
        (self.places.kept() / SEGMENTS).clamp(*SEGMENT_BYTES.start(), *SEGMENT_BYTES.end())
    }

    /// The oldest segment, if it is worth cleaning: if little of it is needed, or if there is more garbage than
    /// anything else.
    fn worth_cleaning(&self) -> Option<(u64, u64)> {
        let oldest = self.places.oldest_finished().filter(|_| !self.stuck)?;
        let garbage = self.places.garbage();
        let cheap = oldest.kept <= oldest.bytes / 4;
        let due = garbage > SLACK * self.segment_bytes() && (cheap || garbage > self.places.kept());
        due.then_some((oldest.first, oldest.bytes))
    }

    /// About `budget` bytes of what is needed of the oldest segment, if it should go.
    fn survivors(&mut self, dir: &Path, budget: usize) -> Carried {
        let mut carried = Carried::default();
        let Some((first, end)) = self.worth_cleaning() else { return carried };
        let path = segment_path(dir, first);
        if let Err(error) = self.carry(&path, first, end, budget, &mut carried) {
            // Everything is in memory still, and can be backed up. Refusing to write would not make it better.
            tracing::error!(%error, path = %path.display(), "a segment cannot be read any more; make a backup");
            self.stuck = true;
        }
        carried
    }

    fn carry(&mut self, path: &Path, first: u64, end: u64, budget: usize, carried: &mut Carried) -> io::Result<()> {
        let file = File::open(path)?;
        let mut looked = 0;
        while self.cleaning.offset < end && looked < LOOKS * budget {
            let Cleaning { offset, frame, entries } = &mut self.cleaning;
            if frame.is_empty() {
                *frame = read_frame(&file, *offset)?;
                looked += frame.len();
            }
            let read = Frame::trusted(frame).ok_or(io::ErrorKind::InvalidData)?;
            for entry in read.entries().skip(*entries) {
                if carried.bytes.len() >= budget {
                    return Ok(());
                }
                *entries += 1;
                let Entry::Put { key, at, bytes } = entry else { break };
                let place = Place { segment: first, offset: *offset as u32 + at as u32, length: bytes.len() as u32 };
                if self.places.holds(Id::of(key, &self.hasher), place) {
                    carried.add(bytes);
                }
            }
            self.cleaning = Cleaning { offset: *offset + frame.len() as u64, ..Cleaning::default() };
        }
        Ok(())
    }

    /// Lets go of the oldest segments that nobody needs.
    fn drop_unneeded(&mut self, dir: &Path) -> Result<(), BackendError> {
        let gone = self.places.unneeded();
        if gone == 0 {
            return Ok(());
        }
        let ledger = self.ledger.clone().unwrap_or_default();
        self.append(dir, &Batch { ledger, ..Batch::default() }, &Carried::default(), gone)?;
        for _ in 0..gone {
            let Some(segment) = self.places.drop_oldest() else { break };
            self.cleaning = Cleaning::default();
            // If it comes back after a loss of power, it is older than what the last frame says is needed.
            let path = segment_path(dir, segment.first);
            if let Err(error) = std::fs::remove_file(&path) {
                tracing::warn!(%error, path = %path.display(), "could not be removed");
            }
        }
        Ok(())
    }
}

/// The frame that begins at `at`, checked.
fn read_frame(file: &File, at: u64) -> io::Result<Vec<u8>> {
    let mut head = [0; HEAD_BYTES];
    file.read_exact_at(&mut head, at)?;
    let length = frame::length(&head).ok_or(io::ErrorKind::InvalidData)?;
    let left = file.metadata()?.len().saturating_sub(at);
    if length as u64 > left {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, at)?;
    Frame::parse(&bytes).ok_or(io::ErrorKind::InvalidData)?;
    Ok(bytes)
}

/// Reads pairs, some way ahead: those that follow each other are mostly beside each other.
struct Reader<'a> {
    dir: &'a Path,
    segment: Option<(u64, File)>,
    start: u64,
    window: Vec<u8>,
}

impl Reader<'_> {
    fn pair(&mut self, place: Place) -> Result<(&[u8], &[u8]), BackendError> {
        let (offset, length) = (u64::from(place.offset), place.length as usize);
        let ahead = offset.checked_sub(self.start).map(|ahead| ahead as usize);
        let here = self.segment.as_ref().is_some_and(|(segment, _)| *segment == place.segment);
        let at = match ahead.filter(|ahead| here && ahead + length <= self.window.len()) {
            Some(at) => at,
            None => {
                self.fill(place).map_err(|error| BackendError::io(segment_path(self.dir, place.segment), &error))?
            }
        };
        let stored = self.window.get(at..at + length).and_then(frame::pair);
        stored.ok_or_else(|| damaged(segment_path(self.dir, place.segment), "it changed while it was read"))
    }

    /// Moves the window to where `place` begins.
    fn fill(&mut self, place: Place) -> io::Result<usize> {
        let file = match self.segment.take() {
            Some((segment, file)) if segment == place.segment => file,
            _ => File::open(segment_path(self.dir, place.segment))?,
        };
        self.start = u64::from(place.offset);
        self.window.resize(WINDOW_BYTES.max(place.length as usize), 0);
        let mut filled = 0;
        while filled < self.window.len() {
            match file.read_at(&mut self.window[filled..], self.start + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        self.window.truncate(filled);
        self.segment = Some((place.segment, file));
        Ok(0)
    }
}
