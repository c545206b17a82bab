//! A bound on comparisons. Costs count the size of what is compared, but not what is nested in it: a loop that compares
//! two large documents in every round is cheap by its costs, and would take hours.

use std::cell::Cell;

use crate::error::Error;

/// Elements that one run may compare: some tenths of a second.
const COMPARISONS_MAX: u64 = 5_000_000;
/// Outside of runs nothing is counted.
const UNCOUNTED: u64 = u64::MAX;

thread_local! {
    // A run never leaves its thread, and functions of libraries have no other way to share a count.
    static LEFT: Cell<u64> = const { Cell::new(UNCOUNTED) };
}

/// Counts while it lives. A run inside a run counts for the outer one.
pub(crate) struct Count {
    outermost: bool,
}

impl Count {
    pub(crate) fn start() -> Count {
        let outermost = LEFT.get() == UNCOUNTED;
        if outermost {
            LEFT.set(COMPARISONS_MAX);
        }
        Count { outermost }
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        if self.outermost {
            LEFT.set(UNCOUNTED);
        }
    }
}

pub(crate) fn spend(comparisons: u64) -> Result<(), Error> {
    let left = LEFT.get();
    if left == UNCOUNTED {
        return Ok(());
    }
    LEFT.set(left.saturating_sub(comparisons));
    check()
}

/// Fails once everything is spent: what failed quietly in between must not count as an answer.
pub(crate) fn check() -> Result<(), Error> {
    if LEFT.get() == 0 { Err(Error::Cost) } else { Ok(()) }
}
