//! Where writers, the validator and the persister hand things to each other.
//!
//! Whoever waits here sleeps until it is woken, at once: channels that look again a few times before they sleep give their
//! processor away each time, and where all processors are busy they have it back when everybody else had their time. A
//! commit goes through several hands, and waited ten times as long as its sync takes.

use super::{Ask, Batch};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Default)]
struct Desk {
    /// Guards nothing but itself; held for one operation. Leaf lock.
    state: Mutex<State>,
    /// For the validator: something was asked, or the persister is free or gone.
    to_check: Condvar,
    /// For the persister: there is a batch, or there will be none.
    to_persist: Condvar,
}

#[derive(Default)]
struct State {
    /// As many as there are permits for what waits.
    asks: VecDeque<Ask>,
    /// It need not be woken otherwise.
    validator_sleeps: bool,
    batch: Option<Batch>,
    /// It waits for a batch.
    persister_is_free: bool,
    validator_is_gone: bool,
    persister_is_gone: bool,
}

impl Desk {
    /// What a thread that panicked left behind is whole: nothing here is done halfway.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The three places at a desk.
pub(super) fn places() -> (Asking, Checking, Persisting) {
    let desk = Arc::new(Desk::default());
    (Asking(desk.clone()), Checking(desk.clone()), Persisting(desk))
}

/// The other side is gone.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// For whoever wants something.
pub(super) struct Asking(Arc<Desk>);

impl Asking {
    pub(super) fn ask(&self, ask: Ask) -> Result<(), Gone> {
        let mut state = self.0.state();
        if state.validator_is_gone {
            return Err(Gone);
        }
        state.asks.push_back(ask);
        let sleeps = state.validator_sleeps;
        drop(state);
        if sleeps {
            self.0.to_check.notify_one();
        }
        Ok(())
    }
}

/// For the validator. When it is dropped, nobody is served any more.
pub(super) struct Checking(Arc<Desk>);

impl Checking {
    /// Waits for somebody to ask: for ever, or for so long.
    pub(super) fn wait(&self, time: Option<Duration>) -> Option<Ask> {
        let mut state = self.0.state();
        state.validator_sleeps = true;
        let nobody_asks = |state: &mut State| state.asks.is_empty();
        let bell = &self.0.to_check;
        state = match time {
            None => bell.wait_while(state, nobody_asks).unwrap_or_else(PoisonError::into_inner),
            Some(time) => bell.wait_timeout_while(state, time, nobody_asks).unwrap_or_else(PoisonError::into_inner).0,
        };
        state.validator_sleeps = false;
        state.asks.pop_front()
    }

    /// Whoever asks before the persister is free.
    pub(super) fn more(&self) -> Option<Ask> {
        let mut state = self.0.state();
        loop {
            let ask = state.asks.pop_front();
            if ask.is_some() || state.persister_is_free || state.persister_is_gone {
                return ask;
            }
            state = self.slept(state);
        }
    }

    /// A rendezvous: returns when the persister has the batch, and so has done all that came before.
    pub(super) fn hand_over(&self, batch: Batch) -> Result<(), Gone> {
        let mut state = self.0.state();
        while !state.persister_is_free && !state.persister_is_gone {
            state = self.slept(state);
        }
        if state.persister_is_gone {
            return Err(Gone);
        }
        (state.batch, state.persister_is_free) = (Some(batch), false);
        drop(state);
        self.0.to_persist.notify_one();
        Ok(())
    }

    fn slept<'a>(&self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.validator_sleeps = true;
        let mut state = self.0.to_check.wait(state).unwrap_or_else(PoisonError::into_inner);
        state.validator_sleeps = false;
        state
    }
}

impl Drop for Checking {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.validator_is_gone = true;
        // Dropped outside of the lock: whoever waits for an answer is told.
        let unanswered = std::mem::take(&mut state.asks);
        drop(state);
        drop(unanswered);
        self.0.to_persist.notify_one();
    }
}

/// For the persister.
pub(super) struct Persisting(Arc<Desk>);

impl Persisting {
    /// The next batch; none, if the validator is gone.
    pub(super) fn next(&self) -> Option<Batch> {
        let mut state = self.0.state();
        state.persister_is_free = true;
        self.0.to_check.notify_one();
        loop {
            if let Some(batch) = state.batch.take() {
                return Some(batch);
            }
            if state.validator_is_gone {
                return None;
            }
            state = self.0.to_persist.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Persisting {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.persister_is_gone = true;
        let unwritten = state.batch.take();
        drop(state);
        drop(unwritten);
        self.0.to_check.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::Revision;
    use std::thread;
    use tokio::sync::oneshot;

    /// Somebody who asks, and a way to see that nobody answers any more.
    fn ask(floor: u64) -> (Ask, oneshot::Receiver<Result<Revision, crate::error::CommitError>>) {
        let (reply, answer) = oneshot::channel();
        (Ask::Forget { floor: Some(Revision(floor)), reply }, answer)
    }

    fn floor(ask: Option<Ask>) -> Option<u64> {
        match ask? {
            Ask::Forget { floor, .. } => floor.map(|floor| floor.0),
            Ask::Commit { .. } | Ask::Close => None,
        }
    }

    #[test]
    fn who_asks_first_is_first_and_waiting_ends() {
        let (asking, checking, _persisting) = places();
        for number in 1..=2 {
            asking.ask(ask(number).0).unwrap();
        }
        assert_eq!(floor(checking.wait(None)), Some(1));
        assert_eq!(floor(checking.more()), Some(2));
        assert!(checking.wait(Some(Duration::from_millis(1))).is_none());
    }

    #[test]
    fn a_batch_grows_until_the_persister_is_free_and_is_handed_over_after_the_one_before() {
        let (asking, checking, persisting) = places();
        let (begin, begun) = std::sync::mpsc::channel();
        let persister = thread::spawn(move || {
            let mut seen = Vec::new();
            while let Some(batch) = persisting.next() {
                seen.push(batch.generation);
                begun.recv().unwrap();
            }
            seen
        });
        checking.hand_over(Batch { generation: 1, ..Batch::default() }).unwrap();
        asking.ask(ask(7).0).unwrap();
        // It has the first, and is busy with it: whoever asks is taken.
        assert_eq!(floor(checking.more()), Some(7));
        begin.send(()).unwrap();
        assert!(checking.more().is_none(), "it is free again");
        checking.hand_over(Batch { generation: 2, ..Batch::default() }).unwrap();
        begin.send(()).unwrap();
        drop(checking);
        assert_eq!(persister.join().unwrap(), [1, 2]);
        assert_eq!(asking.ask(Ask::Close), Err(Gone));
    }

    #[test]
    fn who_is_gone_keeps_nobody_waiting() {
        let (asking, checking, persisting) = places();
        let (unanswered, mut answer) = ask(1);
        asking.ask(unanswered).unwrap();
        let validator = thread::spawn(move || {
            let handed = checking.hand_over(Batch::default());
            drop(checking);
            handed
        });
        drop(persisting);
        assert_eq!(validator.join().unwrap(), Err(Gone));
        assert!(answer.try_recv().is_err_and(|error| error == oneshot::error::TryRecvError::Closed));
        assert_eq!(asking.ask(ask(2).0), Err(Gone));
    }
}
