//! Which keys need a look, and when. Each is in here once, however often it was asked for.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::time::Duration;
use tokio_util::time::{DelayQueue, delay_queue};

/// Keys that may wait for a look before the sources have to: keeps a start with very many objects from holding the keys
/// of all of them. What is to be looked at later is not counted; it is what fails or waits, and was let in before.
const READY_MAX: usize = 4096;

/// Room that is kept when nothing is left: there may be a queue for each of very many cells.
const ROOM_KEPT: usize = 32;

/// The first delay after a failure, doubled with each that follows.
const BACKOFF_FIRST: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_mins(1);

/// Failures in a row after which a person should know. Fewer are what happens when others write, too.
const FAILURES_TOLD: u32 = 4;

/// How a look ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    After(Duration),
    Failed(String),
}

#[derive(Debug)]
enum Standing {
    Ready,
    Running {
        /// Asked for meanwhile.
        again: bool,
    },
    Later(delay_queue::Key),
}

pub(super) struct Queue<K> {
    controller: &'static str,
    ready: VecDeque<K>,
    /// What is put off. Made when something is: timers take room, and most queues never need any.
    later: Option<DelayQueue<K>>,
    standing: HashMap<K, Standing>,
    /// How often in a row a look has failed.
    failures: HashMap<K, u32>,
}

impl<K: Clone + Eq + Hash + fmt::Debug> Queue<K> {
    /// A queue of the controller with this name.
    pub(super) fn new(controller: &'static str) -> Self {
        let (standing, failures) = (HashMap::new(), HashMap::new());
        Self { controller, ready: VecDeque::new(), later: None, standing, failures }
    }

    /// The key needs a look, as soon as there is time.
    pub(super) fn add(&mut self, key: K) {
        match self.standing.get_mut(&key) {
            Some(Standing::Ready) => {}
            Some(Standing::Running { again }) => *again = true,
            Some(Standing::Later(timer)) => {
                if let Some(later) = &mut self.later {
                    later.try_remove(timer);
                }
                self.make_ready(key);
            }
            None => self.make_ready(key),
        }
    }

    pub(super) fn has_room(&self) -> bool {
        self.ready.len() < READY_MAX
    }

    pub(super) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// The next key to look at. Until it is finished, it is not given out again.
    pub(super) fn take(&mut self) -> Option<K> {
        let key = self.ready.pop_front()?;
        self.standing.insert(key.clone(), Standing::Running { again: false });
        Some(key)
    }

    pub(super) fn finish(&mut self, key: K, verdict: Verdict) {
        let again = matches!(self.standing.get(&key), Some(Standing::Running { again: true }));
        let delay = match verdict {
            Verdict::Failed(error) => Some(self.failed(&key, &error)),
            Verdict::After(delay) => {
                self.failures.remove(&key);
                Some(delay)
            }
            Verdict::Done => {
                self.failures.remove(&key);
                None
            }
        };
        match delay {
            _ if again => self.make_ready(key),
            Some(Duration::ZERO) => self.make_ready(key),
            Some(delay) => {
                let timer = self.later.get_or_insert_default().insert(key.clone(), delay);
                self.standing.insert(key, Standing::Later(timer));
            }
            None => drop(self.standing.remove(&key)),
        }
        if self.standing.is_empty() && self.standing.capacity() > ROOM_KEPT {
            (self.ready, self.standing) = (VecDeque::new(), HashMap::new());
        }
    }

    /// Waits until a key that was put off is ready; `None` when there is none. Cancel safe.
    pub(super) async fn due(&mut self) -> Option<()> {
        let later = self.later.as_mut()?;
        let key = std::future::poll_fn(|context| later.poll_expired(context)).await?.into_inner();
        if later.is_empty() {
            self.later = None;
        }
        self.make_ready(key);
        Some(())
    }

    fn make_ready(&mut self, key: K) {
        self.standing.insert(key.clone(), Standing::Ready);
        self.ready.push_back(key);
    }

    /// Counts a failure; answers with how long to wait.
    fn failed(&mut self, key: &K, error: &str) -> Duration {
        let failures = self.failures.entry(key.clone()).or_default();
        *failures = failures.saturating_add(1);
        if *failures == FAILURES_TOLD {
            let controller = self.controller;
            tracing::warn!(controller, ?key, error, "keeps failing; retrying less often");
        }
        backoff(*failures)
    }
}

fn backoff(failures: u32) -> Duration {
    let doubled = 2u32.saturating_pow(failures.saturating_sub(1));
    BACKOFF_FIRST.saturating_mul(doubled).min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Verdict {
        Verdict::Failed("no".to_owned())
    }

    #[test]
    fn delays_double_up_to_a_bound() {
        let millis: Vec<u128> = (1..=5).map(|failures| backoff(failures).as_millis()).collect();
        assert_eq!(millis, [10, 20, 40, 80, 160]);
        assert_eq!(backoff(14), BACKOFF_MAX);
        assert_eq!(backoff(u32::MAX), BACKOFF_MAX);
    }

    #[tokio::test]
    async fn a_key_is_given_out_once_however_often_it_was_asked_for() {
        let mut queue = Queue::new("tested");
        for key in ["a", "b", "a", "a"] {
            queue.add(key);
        }
        assert_eq!((queue.take(), queue.take(), queue.take()), (Some("a"), Some("b"), None));
        queue.add("a");
        assert_eq!(queue.take(), None, "it is being looked at");
        queue.finish("a", Verdict::Done);
        assert_eq!(queue.take(), Some("a"), "it was asked for meanwhile");
        queue.finish("a", Verdict::Done);
        queue.finish("b", Verdict::Done);
        assert_eq!(queue.take(), None);
        assert!(queue.standing.is_empty(), "nothing is kept of a key that is done");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_that_was_put_off_comes_back_when_it_is_due_or_asked_for() {
        let mut queue = Queue::new("tested");
        queue.add("a");
        queue.take();
        queue.finish("a", Verdict::After(Duration::from_secs(5)));
        assert_eq!(queue.take(), None);
        queue.due().await;
        assert_eq!(queue.take(), Some("a"));
        queue.finish("a", Verdict::After(Duration::from_hours(1)));
        queue.add("a");
        assert_eq!(queue.take(), Some("a"));
        queue.finish("a", Verdict::Done);
        assert_eq!(queue.due().await, None, "its timer is gone with it");
    }

    #[tokio::test]
    async fn what_was_full_once_takes_no_room_when_it_is_empty() {
        let mut queue = Queue::new("tested");
        (0..1000).for_each(|key| queue.add(key));
        while let Some(key) = queue.take() {
            queue.finish(key, Verdict::Done);
        }
        assert!(queue.ready.capacity() <= ROOM_KEPT && queue.standing.capacity() <= ROOM_KEPT);
    }

    #[tokio::test]
    async fn a_success_forgives_failures_and_a_change_does_not_wait_for_them() {
        let mut queue = Queue::new("tested");
        queue.add("a");
        for failures in 1..=3 {
            queue.take();
            queue.finish("a", failed());
            assert_eq!(queue.failures["a"], failures);
            queue.add("a");
        }
        queue.take();
        queue.finish("a", Verdict::Done);
        assert!(queue.failures.is_empty());
    }

    #[tokio::test]
    async fn sources_wait_while_very_much_is_ready() {
        let mut queue = Queue::new("tested");
        (0..READY_MAX).for_each(|key| queue.add(key));
        assert!(!queue.has_room());
        queue.take();
        assert!(queue.has_room());
    }
}
