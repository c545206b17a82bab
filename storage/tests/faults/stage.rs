//! A backend that does what the test says: hold still, take long, fail before or after the work.

use parking_lot::{Condvar, Mutex};
use std::ops::ControlFlow;
use std::sync::Arc;
use storage::conformance::KeptMemory;
use storage::{Backend, BackendError, Batch, Visit};

pub(crate) use storage::conformance::in_time;

/// When a batch fails: with nothing of it stored, or with all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fail {
    Before,
    After,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    kept: KeptMemory,
    script: Arc<(Mutex<Script>, Condvar)>,
}

#[derive(Debug, Default)]
struct Script {
    held: bool,
    persisted: usize,
    slow: bool,
    fail_at: Option<(usize, Fail)>,
    largest_batch: usize,
}

/// While it lives, every batch waits.
#[derive(Debug)]
pub(crate) struct Hold(Stage);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.script.0.lock().held = false;
        self.0.script.1.notify_all();
    }
}

impl Stage {
    pub(crate) fn hold(&self) -> Hold {
        self.script.0.lock().held = true;
        Hold(self.clone())
    }

    pub(crate) fn fail_next(&self, how: Fail) {
        self.fail_after(0, how);
    }

    /// The batch after the next `batches` fails.
    pub(crate) fn fail_after(&self, batches: usize, how: Fail) {
        let mut script = self.script.0.lock();
        script.fail_at = Some((script.persisted + batches, how));
    }

    /// From now on everybody else gets to run before a step is done.
    pub(crate) fn take_long(&self) {
        self.script.0.lock().slow = true;
    }

    /// Waits until so many batches have come.
    pub(crate) async fn reached_disk(&self, batches: usize) {
        eventually("a batch reaches the disk", || self.script.0.lock().persisted >= batches).await;
    }

    /// Whether the failure that was asked for has happened.
    pub(crate) fn failed(&self) -> bool {
        let script = self.script.0.lock();
        script.fail_at.is_some_and(|(at, _)| script.persisted > at)
    }

    /// How many pairs are stored.
    pub(crate) fn stored(&self) -> usize {
        let mut count = 0;
        let counted = self.kept.scan(&[], &[0xff], &mut |_, _| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        });
        counted.expect("memory does not fail");
        count
    }

    pub(crate) fn largest_batch(&self) -> usize {
        self.script.0.lock().largest_batch
    }
}

impl Backend for Stage {
    fn scan(&self, from: &[u8], to: &[u8], visit: &mut Visit<'_>) -> Result<(), BackendError> {
        self.kept.scan(from, to, visit)
    }

    fn ledger(&self) -> Result<Option<Vec<u8>>, BackendError> {
        self.kept.ledger()
    }

    fn persist(&mut self, batch: &Batch) -> Result<(), BackendError> {
        let mut script = self.script.0.lock();
        let nth = script.persisted;
        script.persisted += 1;
        script.largest_batch =
            script.largest_batch.max(batch.puts.iter().map(|(key, value)| key.len() + value.len()).sum());
        while script.held {
            self.script.1.wait(&mut script);
        }
        let slow = script.slow;
        let fail = script.fail_at.filter(|(at, _)| *at == nth).map(|(_, how)| how);
        drop(script);
        let_others_run(slow);
        if fail != Some(Fail::Before) {
            self.kept.persist(batch)?;
        }
        if fail.is_some() { Err(BackendError::Injected { step: nth as u64 }) } else { Ok(()) }
    }

    fn reopen(&mut self) -> Result<(), BackendError> {
        let_others_run(self.script.0.lock().slow);
        self.kept.reopen()
    }
}

fn let_others_run(slow: bool) {
    (0..if slow { 10_000 } else { 0 }).for_each(|_| std::thread::yield_now());
}

/// Waits for a condition, and fails by name if it does not come.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    in_time(what, async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}
