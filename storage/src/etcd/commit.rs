//! From a transaction to an acknowledged commit: sent to etcd once, answered when the timeline has reached it.

use super::fault::Kind;
use super::request::{Outcome, outcome, request};
use super::{Core, REQUEST_TIMEOUT};
use crate::commit::{Answer, Committed};
use crate::error::{BackendError, CommitError};
use crate::index::Version;
use crate::timeline::{Change, Timeline};
use crate::txn::{Invalid, Revision, Txn, Write};
use etcd_client::proto::PbTxnResponse;
use std::sync::Arc;
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

/// Transactions under way at once, in KiB of keys and values: backpressure for writers, a bound for memory.
const UNDER_WAY_KIB_MAX: usize = 64 * 1024;

/// Transactions under way at once: past this, etcd would only queue them.
const UNDER_WAY_MAX: usize = 256;

/// The commits under way.
#[derive(Clone)]
pub(super) struct Commits {
    permits: Arc<Semaphore>,
    count: Arc<watch::Sender<usize>>,
}

impl Commits {
    pub(super) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(UNDER_WAY_KIB_MAX)), count: Arc::new(watch::Sender::new(0)) }
    }

    /// The work of one commit. It counts as under way from this call on.
    pub(super) fn begin(
        &self,
        core: Arc<Core>,
        txn: Txn,
        reply: oneshot::Sender<Answer>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let counted = Counted::new(self.count.clone());
        let permits = self.permits.clone();
        async move {
            let _counted = counted;
            let deadline = sleep(REQUEST_TIMEOUT).deadline();
            let weight = (txn.weight() / 1024 + 1).clamp(UNDER_WAY_KIB_MAX / UNDER_WAY_MAX, UNDER_WAY_KIB_MAX);
            let answer = match timeout_at(deadline, permits.acquire_many(weight as u32)).await {
                // Whoever asked has gone, and nothing was sent.
                Ok(Ok(_)) if reply.is_closed() => return,
                Ok(Ok(_permit)) => commit(&core, txn, deadline).await,
                Ok(Err(_)) => Err(CommitError::Closed),
                Err(_) => Err(CommitError::Unavailable(core.why())),
            };
            let _ = reply.send(answer);
        }
    }

    /// No more.
    pub(super) fn close(&self) {
        self.permits.close();
    }

    /// Waits until none is under way.
    pub(super) async fn ended(&self) {
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }
}

struct Counted(Arc<watch::Sender<usize>>);

impl Counted {
    fn new(count: Arc<watch::Sender<usize>>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

async fn commit(core: &Core, txn: Txn, deadline: Instant) -> Answer {
    let _hold = core.history.hold(&core.shared);
    let answer = send(core, &txn, deadline).await?;
    match outcome(&txn, answer) {
        Some(Outcome::Committed { revision, changed }) => committed(core, &txn, revision, &changed).await,
        Some(Outcome::Nothing) => {
            let revision = core.reach_newest().await.map_err(|error| core.not_now(&error))?;
            Ok(Committed { revision, changes: Arc::from([]) })
        }
        Some(Outcome::Conflict { nth, found }) => Err(conflict(core, txn, nth, found).await),
        None => Err(uncertain(core, "its answer does not fit the question")),
    }
}

/// Sends the transaction, again only if it certainly was not sent.
async fn send(core: &Core, txn: &Txn, deadline: Instant) -> Result<PbTxnResponse, CommitError> {
    let mut why_not = None;
    loop {
        let connection = tokio::select! {
            biased;
            () = core.closed() => return Err(CommitError::Closed),
            () = sleep_until(deadline) => return Err(CommitError::Unavailable(why_not.unwrap_or_else(|| core.why()))),
            connection = core.link.connection() => connection,
        };
        let fault = match connection.txn(request(&core.prefix, txn, &core.shared.seal), deadline).await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        match fault.kind {
            Kind::NotSent => {
                core.trouble(&fault).await;
                why_not = Some(Arc::new(fault.into_error()));
            }
            Kind::Refused => return Err(CommitError::Unavailable(Arc::new(fault.into_error()))),
            Kind::Invalid => return Err(Invalid::Refused { what: fault.what }.into()),
            Kind::Lost | Kind::Compacted | Kind::LargeAnswer | Kind::Changed | Kind::Locked => {
                core.link.suspect();
                return Err(CommitError::Uncertain(Arc::new(fault.into_error())));
            }
        }
    }
}

/// It is in etcd. It is acknowledged when it can be read here, too.
async fn committed(core: &Core, txn: &Txn, revision: Revision, changed: &[bool]) -> Answer {
    if !matches!(timeout(REQUEST_TIMEOUT, core.shared.reached(revision)).await, Ok(Ok(()))) {
        core.link.suspect();
        return Err(uncertain(core, &format!("it was committed at revision {revision}, which did not arrive here")));
    }
    let timeline = core.shared.timeline.read();
    let changes = match timeline.commit_at(revision) {
        Some(commit) => commit.changes.clone(),
        None => remembered(&timeline, txn, revision, changed),
    };
    Ok(Committed { revision, changes })
}

/// The changes of a commit that history has already forgotten, as far as can still be said: not what was there before.
fn remembered(timeline: &Timeline, txn: &Txn, revision: Revision, changed: &[bool]) -> Arc<[Arc<Change>]> {
    let changes = txn.writes.iter().zip(changed).filter(|(_, changed)| **changed).map(|((key, write), _)| {
        let current = match write {
            Write::Delete => None,
            Write::Put(draft) => {
                let found = timeline.newest(key.as_bytes()).filter(|version| version.modified == revision);
                let written = || Version { created: revision, modified: revision, value: draft.stamped(revision) };
                Some(found.unwrap_or_else(written))
            }
        };
        Arc::new(Change { revision, key: key.clone(), previous: None, current })
    });
    changes.collect()
}

/// Tells of a conflict when what it is about can be read here: whoever tries again must not read the same as before.
async fn conflict(core: &Core, mut txn: Txn, nth: usize, found: Option<Revision>) -> CommitError {
    let arrival = async {
        match found {
            Some(found) => core.shared.reached(found).await,
            // When it was deleted is not known, only that it was before now.
            None => core.reach_newest().await.map(drop),
        }
    };
    // The conflict is one whether it can be seen here or not.
    let _ = timeout(REQUEST_TIMEOUT, arrival).await;
    let (key, expected) = txn.expects.swap_remove(nth);
    CommitError::Conflict { key, expected, found }
}

fn uncertain(core: &Core, what: &str) -> CommitError {
    let endpoint = core.endpoints.urls.join(",");
    CommitError::Uncertain(Arc::new(BackendError::Unreachable { endpoint, what: what.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::txn::Draft;

    #[test]
    fn a_forgotten_commit_is_told_as_far_as_it_is_known() {
        let mut timeline = Timeline::default();
        let write = |timeline: &mut Timeline, revision, value: &'static str| {
            timeline.apply(Revision(revision), vec![("a".into(), Some(value.into()))], std::time::Duration::ZERO);
        };
        write(&mut timeline, 3, "first");
        write(&mut timeline, 5, "at 5");
        timeline.forget(Revision(5), usize::MAX);
        let txn = Txn::new().put("a", Draft::with_gap("at ", 3)).delete("b").delete("c").put("d", "d");
        let changes = remembered(&timeline, &txn, Revision(5), &[true, false, true, true]);
        let told: Vec<_> = changes
            .iter()
            .map(|change| {
                let current = change.current.clone().map(|version| (version.created.0, version.value));
                (change.key.to_string(), current)
            })
            .collect();
        let expected =
            [("a", Some((3, "at 5"))), ("c", None), ("d", Some((5, "d")))].map(|(key, current): (&str, Option<_>)| {
                (key.to_owned(), current.map(|(created, value)| (created, bytes::Bytes::from(value))))
            });
        assert_eq!(told, expected);
    }
}
