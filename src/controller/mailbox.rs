//! Keys that others put in for a controller, which takes them when it has time.

use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::hash::Hash;
use tokio::sync::Notify;

/// Room that is kept when nothing is left. There may be a mailbox for each of very many cells, and a start fills them all.
const ROOM_KEPT: usize = 32;

/// Each key is in here once, however often it was put in: there are never more than there are things to look at, and
/// whoever puts one in does not wait.
pub struct Mailbox<K> {
    /// Guards nothing but itself, and is held for one operation.
    waiting: Mutex<Waiting<K>>,
    filled: Notify,
}

struct Waiting<K> {
    order: VecDeque<K>,
    known: HashSet<K>,
}

impl<K> Default for Waiting<K> {
    fn default() -> Self {
        Self { order: VecDeque::new(), known: HashSet::new() }
    }
}

impl<K> Default for Mailbox<K> {
    fn default() -> Self {
        Self { waiting: Mutex::default(), filled: Notify::new() }
    }
}

impl<K> fmt::Debug for Mailbox<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mailbox").field("waiting", &self.waiting.lock().order.len()).finish()
    }
}

impl<K: Clone + Eq + Hash> Mailbox<K> {
    pub fn put(&self, key: K) {
        let mut waiting = self.waiting.lock();
        if waiting.known.insert(key.clone()) {
            waiting.order.push_back(key);
            drop(waiting);
            self.filled.notify_one();
        }
    }

    /// Whoever takes from it will be told everything anew.
    pub fn clear(&self) {
        let mut waiting = self.waiting.lock();
        waiting.order.clear();
        waiting.known.clear();
    }

    /// The key that has waited longest; waits for one. For one taker at a time. Cancel safe.
    pub(super) async fn take(&self) -> K {
        loop {
            if let Some(key) = self.try_take() {
                return key;
            }
            self.filled.notified().await;
        }
    }

    fn try_take(&self) -> Option<K> {
        let mut waiting = self.waiting.lock();
        let key = waiting.order.pop_front()?;
        waiting.known.remove(&key);
        if waiting.order.is_empty() && waiting.order.capacity() > ROOM_KEPT {
            *waiting = Waiting::default();
        }
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_key_waits_once_and_can_come_again_after_it_was_taken() {
        let mailbox = Mailbox::default();
        for key in ["a", "b", "a"] {
            mailbox.put(key);
        }
        assert_eq!((mailbox.take().await, mailbox.take().await), ("a", "b"));
        assert_eq!(mailbox.try_take(), None);
        mailbox.put("a");
        assert_eq!(mailbox.take().await, "a");
    }

    #[test]
    fn what_was_full_once_takes_no_room_when_it_is_empty() {
        let mailbox = Mailbox::default();
        (0..1000).for_each(|key| mailbox.put(key));
        while mailbox.try_take().is_some() {}
        let waiting = mailbox.waiting.lock();
        assert!(waiting.order.capacity() <= ROOM_KEPT && waiting.known.capacity() <= ROOM_KEPT);
    }

    #[tokio::test]
    async fn whoever_waits_is_woken() {
        let mailbox = std::sync::Arc::new(Mailbox::default());
        let taker = tokio::spawn({
            let mailbox = mailbox.clone();
            async move { mailbox.take().await }
        });
        tokio::task::yield_now().await;
        mailbox.put(7);
        assert_eq!(taker.await.unwrap(), 7);
    }
}
