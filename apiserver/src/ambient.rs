//! Time and chance, handed in: nothing else in this crate looks at a clock or rolls a die.

use openapi::scalar::time::Instant;
use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone)]
pub struct Ambient {
    now: Arc<dyn Fn() -> Instant + Send + Sync>,
    chance: Arc<dyn Fn() -> u128 + Send + Sync>,
}

/// Letters that form no words, and digits that are not mistaken for them: what Kubernetes ends generated names with.
const SUFFIX_LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

impl Ambient {
    pub fn new(
        now: impl Fn() -> Instant + Send + Sync + 'static,
        chance: impl Fn() -> u128 + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), chance: Arc::new(chance) }
    }

    /// The machine's own clock and randomness.
    pub fn real() -> Self {
        let now = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Instant { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_nanos() }
        };
        Self::new(now, || uuid::Uuid::new_v4().as_u128())
    }

    pub fn now(&self) -> Instant {
        (self.now)()
    }

    pub fn uid(&self) -> String {
        uuid::Builder::from_random_bytes((self.chance)().to_be_bytes()).into_uuid().to_string()
    }

    /// What is put after `generateName`.
    pub fn suffix(&self) -> String {
        let letters = SUFFIX_LETTERS.len() as u128;
        let mut chance = (self.chance)();
        let mut letter = || {
            let at = usize::try_from(chance % letters).unwrap_or_default();
            chance /= letters;
            char::from(SUFFIX_LETTERS[at])
        };
        (0..SUFFIX_LENGTH).map(|_| letter()).collect()
    }

    /// Letters and digits, as many as asked for and at most 24: an id that nothing else has.
    pub fn letters(&self, count: usize) -> String {
        const LETTERS: &[u8; 36] = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut chance = (self.chance)();
        let mut letter = || {
            let at = usize::try_from(chance % 36).unwrap_or_default();
            chance /= 36;
            char::from(LETTERS[at])
        };
        (0..count.min(24)).map(|_| letter()).collect()
    }

    /// A number below `bound`, which is not zero.
    pub fn below(&self, bound: u64) -> u64 {
        u64::try_from((self.chance)() % u128::from(bound.max(1))).unwrap_or_default()
    }
}

impl fmt::Debug for Ambient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ambient({:?})", self.now())
    }
}
