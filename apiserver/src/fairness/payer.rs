//! Who has to answer for the time that a connection takes.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who pays for what a connection does: at first the address it comes from, then the workspace it was last let into.
#[derive(Clone, Debug)]
pub(crate) struct Payer(Arc<AtomicU64>);

impl Payer {
    pub(crate) fn new(who: impl Hash) -> Self {
        Self(Arc::new(AtomicU64::new(account(who))))
    }

    pub(crate) fn account(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn becomes(&self, who: impl Hash) {
        self.0.store(account(who), Ordering::Relaxed);
    }
}

/// Two payers that are taken for one share what one has: that is unlikely, and harmless.
fn account(who: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    who.hash(&mut hasher);
    hasher.finish()
}
