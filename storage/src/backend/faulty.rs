//! Another backend, with failures between any two of its steps, decided by a seed.

use super::{Backend, Batch, Visit};
use crate::error::BackendError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where failures come from: the test holds one end, the backend the other.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    inner: Arc<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    seed: AtomicU64,
    step: AtomicU64,
    /// One step in so many fails; 0: none.
    one_in: AtomicU64,
    stopped: AtomicBool,
}

impl Faults {
    /// From now on one step in `one_in` fails (0: none), which ones is decided by `seed`.
    pub fn set(&self, seed: u64, one_in: u64) {
        self.inner.seed.store(seed, Ordering::Relaxed);
        self.inner.one_in.store(one_in, Ordering::Relaxed);
    }

    /// From now on every step fails, as on a disk that is full, until `resume`.
    pub fn stop(&self) {
        self.inner.stopped.store(true, Ordering::SeqCst);
    }

    pub fn resume(&self) {
        self.inner.stopped.store(false, Ordering::SeqCst);
    }

    fn step(&self) -> Result<(), BackendError> {
        let step = self.inner.step.fetch_add(1, Ordering::Relaxed);
        let one_in = self.inner.one_in.load(Ordering::Relaxed);
        let dice = scramble(self.inner.seed.load(Ordering::Relaxed) ^ step);
        let unlucky = one_in > 0 && dice.is_multiple_of(one_in);
        if unlucky || self.inner.stopped.load(Ordering::SeqCst) {
            return Err(BackendError::Injected { step });
        }
        Ok(())
    }
}

/// A fixed permutation of the numbers (the finaliser of splitmix64): neighbouring steps get unrelated dice.
fn scramble(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Fails before a step (nothing happened) or after it (it happened, and nobody was told). After a failure it keeps
/// failing until it is reopened, as engines do.
#[derive(Debug)]
pub struct FaultyBackend<B> {
    inner: B,
    luck: Luck,
}

#[derive(Debug)]
struct Luck {
    faults: Faults,
    broken: AtomicBool,
}

impl<B: Backend> FaultyBackend<B> {
    pub fn new(inner: B, faults: Faults) -> Self {
        Self { inner, luck: Luck { faults, broken: AtomicBool::new(false) } }
    }
}

impl Luck {
    fn around<T>(&self, step: impl FnOnce() -> Result<T, BackendError>) -> Result<T, BackendError> {
        if self.broken.load(Ordering::SeqCst) {
            return Err(BackendError::Interrupted);
        }
        let result = self.faults.step().and_then(|()| {
            let done = step()?;
            self.faults.step().map(|()| done)
        });
        self.broken.store(result.is_err(), Ordering::SeqCst);
        result
    }
}

impl<B: Backend> Backend for FaultyBackend<B> {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        self.luck.around(|| self.inner.scan(from, to, visit))
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        self.luck.around(|| self.inner.ledger())
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        self.luck.around(|| self.inner.persist(batch))
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        self.luck.broken.store(false, Ordering::SeqCst);
        self.luck.around(|| self.inner.reopen())
    }
}
