//! The syncer at work: one worker for each cell, told by one dispatcher what needs a look.
//!
//! Before anything is put into a cell, a `Copy` is written down that says so, and the decision is read once more; the
//! record goes when the object is known to be gone. So whatever was sent, here is known where it may be.

mod actual;
mod dispatch;
mod follow;
mod marks;
mod namespace;
mod recipe;
mod records;
mod report;
mod said;
mod step;
mod supervise;
mod told;
mod upsync;
mod watches;
mod wish;
mod worker;

use crate::controller::{Action, tell};
use crate::fleet::{Fleet, Ledger};
use crate::scheduler::controller::Rulebook;
use apiserver::client::Client;
use dispatch::{Dispatch, Post};
use std::sync::Arc;
use std::time::Duration;
use storage::Revision;
use supervise::Supervisor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use wish::Wishes;

/// Everything is looked at again after this long, in case that something went unnoticed.
const RESYNC: Duration = Duration::from_mins(30);

/// How long whoever looks at something waits while everything is told anew: if that is never finished because all ends, they
/// have to end, too.
const LEARNING: Duration = Duration::from_secs(1);

/// Starts to keep cells as they should be. `hub` tells this server from others in the same cells.
pub fn start(
    client: &Client,
    hub: &str,
    book: &Arc<dyn Rulebook>,
    (fleet, ledger): (&Fleet, &Arc<Ledger>),
    tasks: &TaskTracker,
    stop: &CancellationToken,
) {
    let (post, hub): (Post, Arc<str>) = (Post::default(), hub.into());
    let dispatch = Dispatch {
        client: client.clone(),
        ledger: ledger.clone(),
        post: post.clone(),
        since: Revision::ZERO,
        complete: false,
    };
    tasks.spawn(tell(dispatch, RESYNC, stop.clone()));
    let reports = report::controller(client, book, ledger, &post.reports);
    let wishes = Wishes { client: client.clone(), book: book.clone(), hub: hub.clone(), recipes: Arc::default() };
    let (client, fleet, shared) = (client.clone(), fleet.clone(), supervise::Shared::default());
    let supervisor = Supervisor { client, fleet, ledger: ledger.clone(), wishes, hub, post, shared };
    let (book, ledger, stop) = (book.clone(), ledger.clone(), stop.clone());
    tasks.spawn(async move {
        // By some of the rules or of the records, objects would be taken out of cells, and statuses summed up in part.
        if stop.run_until_cancelled(learnt(&ledger, &*book)).await.is_some() {
            tokio::join!(reports.run(stop.clone()), supervisor.run(stop.clone()));
        }
    });
}

/// All rules and records were read once.
async fn learnt(ledger: &Ledger, book: &dyn Rulebook) {
    ledger.complete().await;
    // It is there for as long as this waits.
    let _ = book.whole().wait_for(|whole| *whole).await;
}

/// For whoever cannot go on while everything is told anew. They keep their place at work meanwhile: as many as work at once
/// look again, and not all who wait.
async fn later(ledger: &Ledger) -> Action {
    let _ = tokio::time::timeout(LEARNING, ledger.complete()).await;
    Action::After(Duration::ZERO)
}

#[cfg(test)]
mod tests;
