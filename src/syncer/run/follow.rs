//! How a resource of a cell is followed: listed, then watched for as long as the cell is dealt with.

use crate::fleet::api::{CellApi, CellError, CellEvent, CellResource};
use futures_util::StreamExt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long to wait before what has ended is begun anew; doubled with each failure.
const AGAIN_FIRST: Duration = Duration::from_millis(100);
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// How often in a row it could not be begun.
#[derive(Debug, Default)]
pub(super) struct Failures(AtomicU32);

impl Failures {
    /// It has begun.
    pub(super) fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn pause(&self) -> Duration {
        let doubled = 2u32.saturating_pow(self.0.load(Ordering::Relaxed).saturating_sub(1));
        AGAIN_FIRST.saturating_mul(doubled).min(AGAIN_MAX)
    }
}

/// Runs `follow` over and over until it is stopped, and tells `failed` why it ended.
pub(super) async fn over_and_over<F: Future<Output = Result<(), CellError>>>(
    stop: &CancellationToken,
    failures: &Failures,
    mut follow: impl FnMut() -> F,
    failed: impl Fn(&CellError),
) {
    loop {
        let ended = tokio::select! {
            // Nothing is asked for when it was stopped before.
            biased;
            () = stop.cancelled() => return,
            ended = follow() => ended,
        };
        if let Err(error) = ended {
            failures.count();
            failed(&error);
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(failures.pause()) => {}
        }
    }
}

/// Tells of every change after a version. Watches end now and then; this one goes on where it ended, unless the cell has
/// not told where that is.
pub(super) async fn changes(
    api: &dyn CellApi,
    (of, labels): (&CellResource, &str),
    after: String,
    mut tell: impl FnMut(&CellEvent),
) -> Result<(), CellError> {
    let mut after = after;
    loop {
        let mut events = api.watch(of, labels, &after).await?;
        let mut is_known = false;
        while let Some(event) = events.next().await {
            let event = event?;
            if !event.version().is_empty() {
                event.version().clone_into(&mut after);
                is_known = true;
            }
            tell(&event);
        }
        if !is_known {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_begun_is_tried_less_and_less_often() {
        let failures = Failures::default();
        let mut pauses = Vec::new();
        for _ in 0..4 {
            pauses.push(failures.pause().as_millis());
            failures.count();
        }
        assert_eq!(pauses, [100, 100, 200, 400]);
        (0..20).for_each(|_| failures.count());
        assert_eq!(failures.pause(), AGAIN_MAX);
        failures.end();
        assert_eq!(failures.pause(), AGAIN_FIRST);
    }
}
