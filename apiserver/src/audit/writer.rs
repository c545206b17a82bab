//! The near end of wherever a record is kept.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Takes lines without ever waiting. Cheap to clone.
#[derive(Clone)]
pub struct Writer {
    /// Whether there was room for the line.
    take: Arc<dyn Fn(String) -> bool + Send + Sync>,
    lost: Arc<AtomicU64>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").field("lost", &self.lost()).finish_non_exhaustive()
    }
}

impl Writer {
    pub(super) fn new(take: impl Fn(String) -> bool + Send + Sync + 'static, lost: Arc<AtomicU64>) -> Self {
        Self { take: Arc::new(take), lost }
    }

    pub(super) fn write(&self, line: String) {
        if !(self.take)(line) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Lines that nobody will ever read.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}
