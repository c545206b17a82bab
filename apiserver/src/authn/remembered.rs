//! What was found out about tokens a moment ago, so that it need not be found out for every request.

use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Tokens that are remembered. Others are looked at again.
const KEPT_MAX: usize = 4096;

/// By the hashes of tokens: who reads memory should not find any.
#[derive(Debug)]
pub struct Remembered<T> {
    kept: Mutex<HashMap<[u8; 32], (i64, T)>>,
}

impl<T> Default for Remembered<T> {
    fn default() -> Self {
        Self { kept: Mutex::default() }
    }
}

impl<T: Clone> Remembered<T> {
    /// What was said of a token, if that still counts.
    pub fn get(&self, token: &str, now: i64) -> Option<T> {
        let kept = self.kept.lock();
        let (until, found) = kept.get(&hash(token))?;
        (now < *until).then(|| found.clone())
    }

    /// This counts until then.
    pub fn keep(&self, token: &str, until: i64, what: T, now: i64) {
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX {
            kept.retain(|_, (until, _)| now < *until);
        }
        if kept.len() >= KEPT_MAX {
            // Any will do.
            if let Some(other) = kept.keys().next().copied() {
                kept.remove(&other);
            }
        }
        kept.insert(hash(token), (until, what));
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_forgotten_in_time_and_never_grows() {
        let remembered = Remembered::default();
        remembered.keep("a", 10, 1, 0);
        assert_eq!((remembered.get("a", 9), remembered.get("a", 10), remembered.get("b", 0)), (Some(1), None, None));
        for number in 0..KEPT_MAX * 2 {
            remembered.keep(&number.to_string(), 10, 2, 0);
        }
        assert_eq!(remembered.kept.lock().len(), KEPT_MAX);
    }
}
