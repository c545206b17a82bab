//! The watches of one cell: one for each resource of which something is there because of us.

use super::actual::{Actuals, Name, name_of};
use super::follow::{self, Failures};
use super::marks;
use crate::controller::Mailbox;
use crate::fleet::api::{CellError, CellEvent, CellResource};
use crate::fleet::{CopyId, Ledger, Session};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long a list waits for others to end.
const LISTING_WAIT: Duration = Duration::from_secs(2);

/// See the module. Cheap to clone.
#[derive(Clone)]
pub(super) struct Watches {
    shared: Arc<Shared>,
}

struct Shared {
    session: Arc<Session>,
    ledger: Arc<Ledger>,
    actuals: Arc<Actuals>,
    mailbox: Arc<Mailbox<CopyId>>,
    labels: String,
    /// Of all cells together.
    listing: Arc<Semaphore>,
    /// As many as there are kinds of copies, and whether the cell has told what it has of them, or that it cannot. Held
    /// for one operation.
    running: Mutex<HashMap<CellResource, bool>>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Watches {
    pub(super) fn new(
        session: &Arc<Session>,
        ledger: &Arc<Ledger>,
        actuals: &Arc<Actuals>,
        mailbox: &Arc<Mailbox<CopyId>>,
        (hub, listing): (&str, &Arc<Semaphore>),
        stop: &CancellationToken,
    ) -> Self {
        let shared = Shared {
            session: session.clone(),
            ledger: ledger.clone(),
            actuals: actuals.clone(),
            mailbox: mailbox.clone(),
            labels: marks::selector(hub),
            listing: listing.clone(),
            running: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: stop.clone(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Watches the resource from now on, if it is not watched yet.
    pub(super) fn ensure(&self, resource: &CellResource) {
        self.begin(resource);
    }

    /// The same; whether the cell has yet to tell what it has.
    pub(super) fn begin(&self, resource: &CellResource) -> bool {
        let mut running = self.shared.running.lock();
        if let Some(told) = running.get(resource) {
            return !told;
        }
        running.insert(resource.clone(), false);
        drop(running);
        let (shared, resource) = (self.shared.clone(), resource.clone());
        self.shared.tasks.spawn(async move { shared.watch(resource).await });
        true
    }

    /// Has a copy looked at again.
    pub(super) fn wake(&self, id: CopyId) {
        self.shared.mailbox.put(id);
    }

    pub(super) async fn stopped(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Shared {
    /// Watches until it is stopped.
    async fn watch(&self, resource: CellResource) {
        let failures = Failures::default();
        let failed = |error: &CellError| {
            tracing::debug!(cell = %self.session.cell, kind = resource.kind, %error, "a watch ended");
            self.actuals.unsync(&resource);
            self.answered(&resource);
            self.wake_all(&resource);
        };
        follow::over_and_over(&self.stop, &failures, || self.follow(&resource, &failures), failed).await;
    }

    /// Takes in what there is, and then what changes, until the watch ends.
    async fn follow(&self, resource: &CellResource, failures: &Failures) -> Result<(), CellError> {
        let after = self.take_in(resource, failures).await?;
        let watched = (resource, self.labels.as_str());
        follow::changes(&*self.session.api, watched, after, |event| match event {
            CellEvent::Changed(object) => {
                if self.actuals.told(resource, object) {
                    self.wake(resource, &name_of(object));
                }
            }
            CellEvent::Deleted(object) => {
                if self.actuals.gone(resource, object) {
                    self.wake(resource, &name_of(object));
                }
            }
            CellEvent::Bookmark(_) => {}
        })
        .await
    }

    /// Takes in what there is; answers with the version as of which it was told.
    async fn take_in(&self, resource: &CellResource, failures: &Failures) -> Result<String, CellError> {
        // After a start all cells are listed, and what a list holds is large. One that hangs does not keep others for long.
        let _turn = tokio::time::timeout(LISTING_WAIT, self.listing.acquire()).await;
        let listed = self.session.api.list(resource, &self.labels).await?;
        failures.end();
        let changed = self.actuals.replace(resource, &listed);
        self.answered(resource);
        for name in changed {
            self.wake(resource, &name);
        }
        // Also those of which nothing is there, and nothing was.
        self.wake_all(resource);
        Ok(listed.resource_version)
    }

    fn wake(&self, resource: &CellResource, name: &Name) {
        let (namespace, name) = name.split_once('/').unwrap_or_default();
        let object = [resource.group.as_str(), &resource.plural, namespace, name];
        for id in self.ledger.of_object(&self.session.cell, object) {
            self.mailbox.put(id);
        }
    }

    fn wake_all(&self, resource: &CellResource) {
        for id in self.ledger.of_resource(&self.session.cell, &resource.group, &resource.plural) {
            self.mailbox.put(id);
        }
    }

    fn answered(&self, resource: &CellResource) {
        self.running.lock().insert(resource.clone(), true);
    }
}
