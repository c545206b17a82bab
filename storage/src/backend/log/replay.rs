//! Reads the segments back and refuses what does not fit together. Nothing is changed before all of it was checked.
//!
//! The last frame may be torn: it was being written when the process or the power went. It is cut off, unless it was
//! acknowledged or a whole frame follows it. Everywhere else what cannot be read is damage.

use super::frame::{Entry, Frame, resumes};
use super::places::{Id, Place, Places, Step};
use super::{Open, segment_path};
use crate::backend::{Anchor, sync_dir};
use crate::error::BackendError;
use crate::record::Ledger;
use crate::txn::Revision;
use std::fs::File;
use std::hash::RandomState;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

const THREADS_MAX: usize = 8;

/// What one segment holds.
struct Chapter {
    first: u64,
    /// The number that follows its last frame.
    next: u64,
    /// Where its whole frames end, and where the last of them begins.
    end: u64,
    last_begins: u64,
    /// Of the last frame.
    oldest: u64,
    ledger: Vec<u8>,
    steps: Vec<Step>,
    rest: Rest,
}

/// What follows the whole frames of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Nothing,
    Torn,
    /// A whole frame follows behind it.
    Damaged,
}

/// Opens the log in `dir`, which must reach up to `acknowledged`.
pub(super) fn open(dir: &Path, acknowledged: Revision) -> Result<Open, BackendError> {
    let hasher = RandomState::new();
    let mut chapters = read_all(dir, &segments(dir)?, &hasher)?;
    let left_over = check(dir, &chapters, acknowledged)?;
    let needed = chapters.split_off(left_over);
    let Some(last) = needed.last() else { return Err(damaged(dir, "it has no segment")) };
    let current = settle(dir, last)?;
    for chapter in chapters {
        let path = segment_path(dir, chapter.first);
        std::fs::remove_file(&path).map_err(|error| BackendError::io(&path, &error))?;
    }
    sync_dir(dir).map_err(|error| BackendError::io(dir, &error))?;
    let next = last.next;
    let ledger = needed.iter().rfind(|chapter| chapter.end > 0).map(|chapter| chapter.ledger.clone());
    let mut places = Places::default();
    for chapter in needed {
        places.begin(chapter.first);
        places.grow(chapter.end);
        chapter.steps.into_iter().for_each(|step| places.apply(step));
    }
    Ok(Open::new(current, next, ledger, places, hasher))
}

/// The numbers of the segments in `dir`, in order.
fn segments(dir: &Path) -> Result<Vec<u64>, BackendError> {
    let failed = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => damaged(dir, "it is missing"),
        _ => BackendError::io(dir, &error),
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let number = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".log")?.parse().ok());
        // One whose name is not the one we would give it is not ours.
        found.extend(number.filter(|number| segment_path(dir, *number) == path));
    }
    found.sort_unstable();
    Ok(found)
}

/// Reads every segment, on several threads.
fn read_all(dir: &Path, segments: &[u64], hasher: &RandomState) -> Result<Vec<Chapter>, BackendError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX);
    let next = AtomicUsize::new(0);
    let read_some = || {
        let (mut chapters, mut buffer) = (Vec::new(), Vec::new());
        while let Some(first) = segments.get(next.fetch_add(1, Ordering::Relaxed)) {
            chapters.push(read(dir, *first, hasher, &mut buffer)?);
        }
        Ok(chapters)
    };
    let mut all: Vec<Chapter> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(segments.len())).map(|_| scope.spawn(read_some)).collect();
        let mut all = read_some()?;
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok::<_, BackendError>(all)
    })?;
    all.sort_unstable_by_key(|chapter| chapter.first);
    Ok(all)
}

fn read(dir: &Path, first: u64, hasher: &RandomState, buffer: &mut Vec<u8>) -> Result<Chapter, BackendError> {
    let path = segment_path(dir, first);
    buffer.clear();
    let read = File::open(&path).and_then(|mut file| file.read_to_end(buffer));
    read.map_err(|error| BackendError::io(&path, &error))?;
    let (mut next, mut end, mut last_begins) = (first, 0, 0);
    let (mut steps, mut last) = (Vec::new(), None);
    while let Some(frame) = Frame::parse(&buffer[end..]).filter(|frame| frame.number == next) {
        steps.extend(self::steps(&frame, first, end, hasher));
        last = Some((frame.oldest, frame.ledger.to_vec()));
        last_begins = end;
        end += frame.length;
        next += 1;
    }
    let rest = match &buffer[end..] {
        [] => Rest::Nothing,
        rest if resumes(rest, next) => Rest::Damaged,
        _ => Rest::Torn,
    };
    let (oldest, ledger) = last.unwrap_or((first, Vec::new()));
    Ok(Chapter { first, next, end: end as u64, last_begins: last_begins as u64, oldest, ledger, steps, rest })
}

/// What a frame that begins at `offset` of a segment does.
pub(super) fn steps(
    frame: &Frame<'_>,
    segment: u64,
    offset: usize,
    hasher: &RandomState,
) -> impl Iterator<Item = Step> {
    frame.entries().map(move |entry| match entry {
        Entry::Put { key, at, bytes } => {
            let place = Place { segment, offset: (offset + at) as u32, length: bytes.len() as u32 };
            Step::Put(Id::of(key, hasher), place)
        }
        Entry::Removal { key } => Step::Removal(Id::of(key, hasher)),
    })
}

/// Whether the segments make one log. Answers with how many at its beginning are not needed any more.
fn check(dir: &Path, chapters: &[Chapter], acknowledged: Revision) -> Result<usize, BackendError> {
    let Some(last) = chapters.last() else { return Err(damaged(dir, "it has no segment")) };
    let written = chapters.iter().rfind(|chapter| chapter.end > 0);
    check_end(dir, last, written, acknowledged)?;
    let oldest = written.map_or(last.first, |chapter| chapter.oldest);
    let left_over = chapters.partition_point(|chapter| chapter.first < oldest);
    let needed = &chapters[left_over..];
    if needed.first().is_none_or(|chapter| chapter.first != oldest) {
        return Err(damaged(segment_path(dir, oldest), "it is missing"));
    }
    for pair in needed.windows(2) {
        let [earlier, later] = pair else { continue };
        if earlier.rest != Rest::Nothing {
            return Err(unreadable(dir, earlier));
        }
        if earlier.next != later.first {
            return Err(damaged(segment_path(dir, earlier.next), "it is missing"));
        }
    }
    Ok(left_over)
}

/// Whether what cannot be read at the end may be cut off: nobody was told of it.
fn check_end(
    dir: &Path,
    last: &Chapter,
    written: Option<&Chapter>,
    acknowledged: Revision,
) -> Result<(), BackendError> {
    let newest = written.and_then(|chapter| Ledger::decode(&chapter.ledger).ok());
    let newest = newest.map_or(Revision::ZERO, |ledger| ledger.revision);
    match last.rest {
        Rest::Damaged => Err(unreadable(dir, last)),
        _ if newest >= acknowledged => Ok(()),
        Rest::Torn => Err(unreadable(dir, last)),
        Rest::Nothing => {
            let following = segment_path(dir, last.next);
            let what = format!(
                "it ends with revision {newest}, but {acknowledged} was acknowledged; if it is whole, {} is missing",
                following.display()
            );
            Err(damaged(segment_path(dir, last.first), what))
        }
    }
}

/// Makes the last segment end with its last whole frame, on the disk too, and opens it for more. That frame is written
/// once more: it could be read, but if its sync failed it may have dropped from the way to the disk.
fn settle(dir: &Path, last: &Chapter) -> Result<Anchor, BackendError> {
    let segment = Anchor::cast(segment_path(dir, last.first))?;
    let settled = || {
        let mut frame = vec![0; (last.end - last.last_begins) as usize];
        segment.file.read_exact_at(&mut frame, last.last_begins)?;
        segment.file.write_all_at(&frame, last.last_begins)?;
        segment.file.set_len(last.end)?;
        segment.file.sync_all()
    };
    settled().map_err(|error: io::Error| BackendError::io(&segment.path, &error))?;
    Ok(segment)
}

fn unreadable(dir: &Path, chapter: &Chapter) -> BackendError {
    damaged(segment_path(dir, chapter.first), format!("it cannot be read from byte {} on", chapter.end))
}

pub(super) fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> BackendError {
    BackendError::Damaged { path: path.into(), what: what.into() }
}
