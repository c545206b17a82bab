//! Waits for sled's flush, but not for ever.
//!
//! A flush waits for writes that other threads of sled do. One of the places where they note a failure forgets to wake
//! whoever waits, and a thread that panics wakes nobody. Another flush finds the noted failure and wakes everybody; if
//! even that does not help, we give up and leave the thread behind.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Clone, Copy)]
struct Patience {
    /// When to look whether somebody forgot to wake us: far longer than a flush takes.
    nudge_after: Duration,
    /// How often to do so before giving up: longer, in all, than any disk that works needs.
    nudges: u32,
}

const PATIENCE: Patience = Patience { nudge_after: Duration::from_secs(1), nudges: 60 };

pub(super) struct Flusher<R> {
    asks: Option<Sender<()>>,
    answers: Receiver<R>,
    thread: Option<JoinHandle<()>>,
    nudge: Box<dyn Fn() + Send + Sync>,
    patience: Patience,
}

impl<R: Send + 'static> Flusher<R> {
    pub(super) fn start(flush: impl Fn() -> R + Clone + Send + Sync + 'static) -> io::Result<Self> {
        Self::with_patience(flush, PATIENCE)
    }

    fn with_patience(flush: impl Fn() -> R + Clone + Send + Sync + 'static, patience: Patience) -> io::Result<Self> {
        let (asks, asked) = bounded(0);
        let (answer, answers) = bounded(1);
        let nudging = flush.clone();
        let work = move || while asked.recv().is_ok() && answer.send(flush()).is_ok() {};
        let thread = std::thread::Builder::new().name("store-flush".into()).spawn(work)?;
        let nudge = Box::new(move || {
            let flush = nudging.clone();
            // It may get stuck like the one it should wake, so nobody waits for it.
            drop(std::thread::spawn(flush));
        });
        Ok(Self { asks: Some(asks), answers, thread: Some(thread), nudge, patience })
    }

    /// What the flush says; `None` if it did not come back in time and may never do so.
    pub(super) fn flush(&mut self) -> Option<R> {
        self.asks.as_ref()?.send(()).ok()?;
        for _ in 0..self.patience.nudges {
            if let Ok(answer) = self.answers.recv_timeout(self.patience.nudge_after) {
                return Some(answer);
            }
            (self.nudge)();
        }
        self.asks = None;
        self.thread = None;
        None
    }
}

impl<R> Drop for Flusher<R> {
    fn drop(&mut self) {
        self.asks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    const HASTE: Patience = Patience { nudge_after: Duration::from_millis(20), nudges: 5 };

    #[test]
    fn a_flush_that_is_woken_by_another_comes_back() {
        let calls = Arc::new(AtomicU32::new(0));
        let (wake, woken) = bounded::<()>(9);
        let flush = move || {
            let call = calls.fetch_add(1, Ordering::SeqCst);
            if call == 0 { woken.recv().is_ok() } else { wake.send(()).is_ok() }
        };
        let mut flusher = Flusher::with_patience(flush, HASTE).unwrap();
        assert_eq!(flusher.flush(), Some(true));
        assert_eq!(flusher.flush(), Some(true), "and can be used again");
    }

    #[test]
    fn a_flush_that_never_comes_back_is_left_behind() {
        let (_never, woken) = bounded::<()>(0);
        let mut flusher = Flusher::with_patience(move || woken.recv(), HASTE).unwrap();
        assert_eq!(flusher.flush(), None);
        assert_eq!(flusher.flush(), None, "nor is it asked again");
    }
}
