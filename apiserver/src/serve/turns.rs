//! Connections take turns on the processors.
//!
//! What a connection does between two waits is short, but hundreds of connections that are all ready stand before one
//! that has just become so, and a request waits several times. So whoever is woken is not handed to the runtime, which
//! would serve all in the order they came: no more of them are than there are processors, and of the others the one is
//! next whose payer has used least. A crowd waits behind itself.

use super::shares::Shares;
use crate::fairness::Payer;
use hyper::rt::Executor;
use parking_lot::Mutex;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;
use tokio::time::Instant;

/// Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Leaf lock.
    shares: Arc<Mutex<Shares<Arc<Runner>>>>,
}

impl Turns {
    /// For as many as there are threads that run tasks.
    pub(super) fn new(processors: usize) -> Self {
        Self { shares: Arc::new(Mutex::new(Shares::new(processors))) }
    }

    pub(super) fn pace<F: Future<Output = ()> + Send + 'static>(&self, payer: &Payer, task: F) -> Paced {
        let (phase, handed) = (Mutex::new(Phase::Asleep), Mutex::new(None));
        let runner = Arc::new(Runner { turns: self.clone(), payer: payer.clone(), phase, handed });
        Paced { waker: runner.clone().into(), runner, task: Box::pin(task) }
    }

    /// A processor is free: whoever is next, and still there, has it.
    fn leave(&self, payer: u64, took: Duration) {
        let mut next = self.shares.lock().leave(payer, took);
        while let Some((payer, runner)) = next {
            if runner.called(payer) {
                return;
            }
            next = self.shares.lock().leave(payer, Duration::ZERO);
        }
    }
}

/// What is known of a task to whoever wakes it.
#[derive(Debug)]
struct Runner {
    turns: Turns,
    payer: Payer,
    /// Held while the task gets in line, but not while it runs.
    phase: Mutex<Phase>,
    /// How the runtime is told that it may run. Leaf lock.
    handed: Mutex<Option<Waker>>,
}

/// Where a task stands, with who pays for the processor that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has nothing to do.
    Asleep,
    InLine,
    Called(u64),
    Running {
        again: bool,
    },
    Gone,
}

impl Runner {
    /// There is something to do. True: at once.
    fn rouse(self: &Arc<Self>) -> bool {
        let mut phase = self.phase.lock();
        match *phase {
            Phase::Asleep => {
                let payer = self.payer.account();
                let at_once = self.turns.shares.lock().arrive(payer, || self.clone());
                *phase = if at_once { Phase::Called(payer) } else { Phase::InLine };
                at_once
            }
            Phase::Running { .. } => {
                *phase = Phase::Running { again: true };
                false
            }
            Phase::InLine | Phase::Called(_) | Phase::Gone => false,
        }
    }

    /// It is this one's turn. False: it is gone.
    fn called(&self, payer: u64) -> bool {
        let mut phase = self.phase.lock();
        if *phase == Phase::Gone {
            return false;
        }
        *phase = Phase::Called(payer);
        drop(phase);
        self.hand();
        true
    }

    fn hand(&self) {
        if let Some(waker) = &*self.handed.lock() {
            waker.wake_by_ref();
        }
    }

    /// The payer, if it may run now.
    fn begin(self: &Arc<Self>, waker: &Waker) -> Option<u64> {
        {
            let mut handed = self.handed.lock();
            if !handed.as_ref().is_some_and(|known| known.will_wake(waker)) {
                *handed = Some(waker.clone());
            }
        }
        // The runtime asks without having been told to: the task is new.
        self.rouse();
        let mut phase = self.phase.lock();
        let Phase::Called(payer) = *phase else { return None };
        *phase = Phase::Running { again: false };
        Some(payer)
    }

    /// It has run for now.
    fn end(self: &Arc<Self>, payer: u64, took: Duration) {
        self.turns.leave(payer, took);
        let before = std::mem::replace(&mut *self.phase.lock(), Phase::Asleep);
        if before == (Phase::Running { again: true }) {
            self.wake_by_ref();
        }
    }
}

impl Wake for Runner {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if self.rouse() {
            self.hand();
        }
    }
}

/// A task that runs when it is its turn.
pub(super) struct Paced {
    runner: Arc<Runner>,
    waker: Waker,
    task: Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// A task has a processor, until this is dropped.
struct Running<'a> {
    runner: &'a Arc<Runner>,
    payer: u64,
    since: Instant,
}

impl Future for Paced {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { runner, waker, task } = &mut *self;
        let Some(payer) = runner.begin(context.waker()) else { return Poll::Pending };
        let _running = Running { runner, payer, since: Instant::now() };
        task.as_mut().poll(&mut Context::from_waker(waker))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.runner.end(self.payer, self.since.elapsed());
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.runner.phase.lock(), Phase::Gone);
        self.runner.handed.lock().take();
        if let Phase::Called(payer) = before {
            self.runner.turns.leave(payer, Duration::ZERO);
        }
    }
}

/// Runs what a connection begins besides itself: HTTP/2 has a task for every request.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    pub(super) turns: Turns,
    pub(super) payer: Payer,
}

impl<F> Executor<F> for Beside
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, task: F) {
        let paced = self.turns.pace(&self.payer, async move {
            task.await;
        });
        // In line from now on, and not from when the runtime first looks at it: somebody else's turn would be between.
        paced.runner.rouse();
        tokio::spawn(paced);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tokio::sync::oneshot;
    use tokio_util::task::TaskTracker;

    /// Runs for `steps` turns, and counts them.
    async fn busy(steps: usize, counter: Arc<AtomicUsize>) {
        for _ in 0..steps {
            counter.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    }

    /// What the crowd of 500 did between the moment at which somebody is called and the one at which they answer.
    #[tokio::test]
    async fn one_does_not_wait_behind_a_crowd() {
        let (turns, tasks, counter) = (Turns::new(1), TaskTracker::new(), Arc::new(AtomicUsize::new(0)));
        let (loud, quiet) = (Payer::new("loud"), Payer::new("quiet"));
        let mut waits = Vec::new();
        let (told, answered) = (Arc::new(Mutex::new(Vec::new())), tokio::sync::Semaphore::new(0));
        let answered = Arc::new(answered);
        for _ in 0..50 {
            let (call, called) = oneshot::channel::<usize>();
            let (told, answered, counter) = (told.clone(), answered.clone(), counter.clone());
            tasks.spawn(turns.pace(&quiet, async move {
                let before = called.await.unwrap();
                told.lock().push(counter.load(Ordering::Relaxed) - before);
                answered.add_permits(1);
            }));
            waits.push(call);
        }
        // They run until they wait.
        tokio::task::yield_now().await;
        for _ in 0..500 {
            tasks.spawn(turns.pace(&loud, busy(200, counter.clone())));
        }
        for call in waits {
            while counter.load(Ordering::Relaxed) == 0 {
                tokio::task::yield_now().await;
            }
            call.send(counter.load(Ordering::Relaxed)).unwrap();
            answered.acquire().await.unwrap().forget();
        }
        let most = told.lock().iter().copied().max();
        assert!(most.is_some_and(|most| most <= 3), "somebody waited for {most:?} turns of 500 others");
        assert!(counter.load(Ordering::Relaxed) < 500 * 200, "the crowd was still there");
        tasks.close();
        tasks.wait().await;
        assert_eq!(counter.load(Ordering::Relaxed), 500 * 200, "and was served");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_is_forgotten_who_is_woken_while_running_or_goes_while_waiting() {
        let (turns, tasks, counter) = (Turns::new(2), TaskTracker::new(), Arc::new(AtomicUsize::new(0)));
        let mut gone = Vec::new();
        for number in 0..400u32 {
            let payer = Payer::new(number % 7);
            let counter = counter.clone();
            if number % 4 == 0 {
                gone.push(tokio::spawn(turns.pace(&payer, busy(usize::MAX, Arc::default()))));
                continue;
            }
            tasks.spawn(turns.pace(&payer, async move {
                let (send, mut receive) = tokio::sync::mpsc::channel(1);
                // From other threads, at any moment.
                tokio::spawn(async move {
                    for step in 0..100 {
                        send.send(step).await.unwrap();
                    }
                });
                while receive.recv().await.is_some() {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            }));
        }
        for task in gone {
            task.abort();
            assert!(task.await.unwrap_err().is_cancelled());
        }
        tasks.close();
        tasks.wait().await;
        assert_eq!(counter.load(Ordering::Relaxed), 300 * 100);
        // Both processors are free again.
        let mut shares = turns.shares.lock();
        let (one, another) = (turns.pace(&Payer::new(1), async {}), turns.pace(&Payer::new(2), async {}));
        assert!(shares.arrive(1, || one.runner.clone()) && shares.arrive(2, || another.runner.clone()));
    }
}
