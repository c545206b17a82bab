//! How often a workspace may ask: so many requests in a second, and after a pause as many at once.

use crate::place::Workspace;
use openapi::scalar::time::Instant;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Workspaces that are counted at a time. One that is forgotten begins anew, as after a pause.
const COUNTED_MAX: usize = 10_000;

/// What each workspace has left.
#[derive(Debug)]
pub(crate) struct Rates {
    /// `None`: everybody may ask as often as they like.
    per_second: Option<u32>,
    /// Nothing else is locked while this is held.
    counted: Mutex<HashMap<Workspace, Left>>,
}

/// What was left, and when.
#[derive(Clone, Copy, Debug)]
struct Left {
    requests: f64,
    at: Instant,
}

impl Left {
    /// What is left by now.
    fn by(self, now: Instant, per_second: u32) -> f64 {
        let seconds = (now.seconds - self.at.seconds) as f64 + (f64::from(now.nanos) - f64::from(self.at.nanos)) / 1e9;
        // A clock that is put back takes nothing away.
        (self.requests + seconds.max(0.0) * f64::from(per_second)).min(f64::from(per_second))
    }
}

impl Rates {
    pub(crate) fn new(per_second: Option<u32>) -> Self {
        Self { per_second, counted: Mutex::default() }
    }

    /// Counts a request of a workspace; says whether there was one left.
    pub(crate) fn take(&self, workspace: &Workspace, now: Instant) -> bool {
        let Some(per_second) = self.per_second else { return true };
        let mut counted = self.counted.lock();
        if counted.len() >= COUNTED_MAX && !counted.contains_key(workspace) {
            counted.retain(|_, left| left.by(now, per_second) < f64::from(per_second));
            if counted.len() >= COUNTED_MAX {
                counted.clear();
            }
        }
        let full = Left { requests: f64::from(per_second), at: now };
        let left = counted.entry(workspace.clone()).or_insert(full);
        let requests = left.by(now, per_second);
        let served = requests >= 1.0;
        *left = Left { requests: if served { requests - 1.0 } else { requests }, at: now };
        served
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Instant {
        Instant { seconds: millis / 1000, nanos: u32::try_from(millis % 1000).unwrap() * 1_000_000 }
    }

    #[test]
    fn a_workspace_asks_as_often_as_it_may_and_no_other_pays_for_it() {
        let rates = Rates::new(Some(2));
        let asks = |id: &str, millis: i64| rates.take(&Workspace::new(id), at(millis));
        assert_eq!([asks("a", 0), asks("a", 0), asks("a", 0)], [true, true, false]);
        assert!(asks("b", 0));
        assert_eq!([asks("a", 400), asks("a", 500), asks("a", 500)], [false, true, false]);
        // A pause is not worth more than a second.
        assert_eq!([asks("a", 60_000), asks("a", 60_000), asks("a", 60_000)], [true, true, false]);
        assert!(!asks("a", 59_000), "a clock was put back");
        assert!((0..1000).all(|_| Rates::new(None).take(&Workspace::new("a"), at(0))));
    }

    #[test]
    fn what_is_counted_has_a_bound() {
        let rates = Rates::new(Some(1));
        for number in 0..COUNTED_MAX + 10 {
            assert!(rates.take(&Workspace::new(&number.to_string()), at(0)));
        }
        assert!(rates.counted.lock().len() <= COUNTED_MAX);
    }
}
