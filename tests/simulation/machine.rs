//! What the server runs on: threads that can be ended in the middle of anything, and clocks.
//!
//! Most of the time nobody waits for time that passes. On a *virtual* machine everything runs on one thread, and as soon as
//! nobody has anything to do it is as late as somebody waits for. So hours pass in a moment, and how long something takes
//! does not depend on how busy the real machine is.

use openapi::scalar::time::Instant;
use parking_lot::Mutex;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use storage::Store;
use tokio::runtime::{Builder, Handle, Runtime};

/// How a machine runs what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// One, in virtual time. Whoever is in front gives way after so many others had their turn.
    Virtual { turns: u32 },
    /// Two, in real time.
    Real,
}

/// The time of day, as everybody is told. It may be set.
#[derive(Debug)]
pub(crate) struct Clock {
    /// Seconds, when `since` was.
    then: AtomicI64,
    since: Mutex<Option<tokio::time::Instant>>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { then: AtomicI64::new(1_800_000_000), since: Mutex::default() }
    }
}

impl Clock {
    pub(crate) fn now(&self) -> Instant {
        Instant { seconds: self.then.load(Ordering::Relaxed).saturating_add(self.passed()), nanos: 0 }
    }

    /// It is set, forwards or backwards.
    pub(crate) fn jump(&self, seconds: i64) {
        self.then.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Seconds since it was looked at last. Only a machine that runs knows.
    fn passed(&self) -> i64 {
        let since = self.since.lock().filter(|_| Handle::try_current().is_ok());
        since.map_or(0, |since| i64::try_from(since.elapsed().as_secs()).unwrap_or_default())
    }

    /// Goes on where another machine has ended.
    fn resume(&self) {
        *self.since.lock() = Some(tokio::time::Instant::now());
    }

    fn stop(&self) {
        self.then.fetch_add(self.passed(), Ordering::Relaxed);
        *self.since.lock() = None;
    }
}

pub(crate) struct Machine {
    threads: Threads,
    store: Store,
    clock: Arc<Clock>,
    runtime: Option<Runtime>,
}

impl Machine {
    pub(crate) fn new(threads: Threads, store: &Store, clock: &Arc<Clock>) -> Self {
        let mut machine = Self { threads, store: store.clone(), clock: clock.clone(), runtime: None };
        machine.boot();
        machine
    }

    pub(crate) fn is_virtual(&self) -> bool {
        self.threads != Threads::Real
    }

    fn boot(&mut self) {
        let runtime = match self.threads {
            Threads::Real => Builder::new_multi_thread().worker_threads(2).enable_time().build(),
            Threads::Virtual { turns } => {
                let store = self.store.clone();
                let mut builder = Builder::new_current_thread();
                builder.enable_time().start_paused(true).event_interval(turns);
                // The store has threads of its own: while they are at work, somebody has something to do.
                builder.on_thread_park(move || settle(&store)).build()
            }
        };
        let runtime = runtime.unwrap();
        runtime.block_on(async { self.clock.resume() });
        self.runtime = Some(runtime);
    }

    /// Ends whatever runs, wherever it is; what it was in the middle of is never finished.
    pub(crate) fn reboot(&mut self) {
        self.runtime().block_on(async { self.clock.stop() });
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(60));
        }
        // What the store was asked for before is done or not before anybody begins anew.
        settle(&self.store);
        self.boot();
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        self.runtime.as_ref().expect("a machine that is not ending runs")
    }

    pub(crate) fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime().block_on(work)
    }

    pub(crate) fn pass(&self, time: Duration) {
        self.run(pause(time));
    }

    /// Others have a turn, so many times.
    pub(crate) fn give_way(&self, times: u64) {
        self.run(async {
            for _ in 0..times {
                tokio::task::yield_now().await;
            }
        });
    }
}

/// Lets time pass. Nobody tests anything by waiting for this long: in virtual time it takes none.
pub(crate) async fn pause(time: Duration) {
    let _ = tokio::time::timeout(time, pending::<()>()).await;
}

/// Waits until the store has done all that it was asked for, and told everybody of it.
fn settle(store: &Store) {
    loop {
        let stats = store.stats();
        if stats.waiting_kib == 0 && stats.told >= stats.revision {
            return;
        }
        std::thread::yield_now();
    }
}
