//! What is newest, across all replicas: asks etcd, and sees to it that the timeline gets there.
//!
//! Whoever asks while a question is under way waits for the next one: an answer must not be older than its question.
//! So there is at most one question at a time, however many readers there are.
//!
//! etcd's revision also counts what others write outside our prefix, and our watch is silent about that. A watch can
//! be asked for its progress, but before etcd 3.4.25 and 3.5.8 the answer may overtake events that belong before it
//! (etcd issue 15220). Writing our own marker has no such gap: the watch shows it in its place. On an etcd that is
//! ours alone every revision comes by the watch and the marker is never written.

use super::fault::Fault;
use super::{Core, MARKER, REQUEST_TIMEOUT};
use crate::error::ReadError;
use crate::txn::Revision;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Readers that may wait for one answer: past this, they wait to be let in.
const WAITING_MAX: usize = 4096;

/// If the timeline stands still for so long before it has reached what etcd said, something else than our own
/// changes must have happened. Events are usually there before the answer is.
const STILL_MAX: Duration = Duration::from_millis(20);

/// The same for a watch that has just begun: etcd looks after those that are behind only ten times a second.
const FRESH_STILL_MAX: Duration = Duration::from_millis(500);

type Reply = oneshot::Sender<Result<Revision, ReadError>>;

/// The asking side.
pub(super) struct Newest {
    asks: mpsc::Sender<Reply>,
}

impl Newest {
    pub(super) fn new() -> (Self, mpsc::Receiver<Reply>) {
        let (asks, asked) = mpsc::channel(WAITING_MAX);
        (Self { asks }, asked)
    }

    /// A revision at or after every commit acknowledged before this was called. It may not be reached here yet, but
    /// will be.
    pub(super) async fn ask(&self) -> Result<Revision, ReadError> {
        let (reply, answer) = oneshot::channel();
        self.asks.send(reply).await.map_err(|_| ReadError::Closed)?;
        answer.await.unwrap_or(Err(ReadError::Closed))
    }

    /// Sees to it that the timeline reaches what is newest, without waiting for it.
    pub(super) fn nudge(&self) {
        // If so many are waiting already, they will do it.
        let _ = self.asks.try_send(oneshot::channel().0);
    }
}

/// Answers those who ask, for as long as the store is open.
pub(super) async fn answer(core: Arc<Core>, mut asked: mpsc::Receiver<Reply>) {
    let mut replies = Vec::new();
    while asked.recv_many(&mut replies, WAITING_MAX).await > 0 {
        let answer = head(&core).await;
        for reply in replies.drain(..) {
            // Whoever no longer waits was told that it takes too long.
            let _ = reply.send(answer.clone());
        }
        if let Ok(revision) = answer {
            see_to(&core, revision).await;
        }
    }
}

async fn head(core: &Core) -> Result<Revision, ReadError> {
    let asking = async {
        loop {
            let connection = core.link.connection().await;
            match connection.head(&core.prefix).await {
                Ok(head) => return head.revision,
                Err(fault) => core.trouble(&fault).await,
            }
        }
    };
    timeout(REQUEST_TIMEOUT, asking).await.map_err(|_| core.unreadable_now())
}

/// Waits until the timeline has reached `revision`, and writes the marker if it does not get there by itself.
async fn see_to(core: &Core, revision: Revision) {
    let arrival = async {
        while !arrives_by_itself(core, revision).await {
            match mark(core).await {
                // Seen or not, there is no use in a second one before the watch has begun anew.
                Ok(marked) => drop(core.shared.reached(marked).await),
                Err(fault) => core.trouble(&fault).await,
            }
        }
    };
    // Whoever waits for it is told by then that it takes too long.
    let _ = timeout(REQUEST_TIMEOUT, arrival).await;
}

async fn arrives_by_itself(core: &Core, revision: Revision) -> bool {
    let mut known = core.shared.timeline.read().revision();
    loop {
        let still = if core.link.is_fresh(core.shared.clock.now()) { FRESH_STILL_MAX } else { STILL_MAX };
        if timeout(still, core.shared.reached(revision)).await.is_ok() {
            return true;
        }
        let now = core.shared.timeline.read().revision();
        if now == known {
            return false;
        }
        known = now;
    }
}

async fn mark(core: &Core) -> Result<Revision, Fault> {
    let connection = core.link.connection().await;
    connection.put(core.prefix.marker(), MARKER).await
}
