//! Notices when a cell comes to serve other kinds: its definitions are watched, so that nobody waits for the next time
//! that it is asked.

use super::api::{CellApi, CellError, CellResource};
use super::cell::CellId;
use super::session::Session;
use crate::controller::Mailbox;
use futures_util::StreamExt;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// How long to wait before a watch that ended is begun anew.
const AGAIN: Duration = Duration::from_secs(2);

/// Selects nothing: a list that answers with where the cell is, and with nothing else.
const NOTHING: &str = "hanse.dev/nothing=at-all";

/// Where doubts about what a cell serves are told.
#[derive(Clone)]
pub(super) struct Doubts {
    pub(super) cells: Arc<Mailbox<CellId>>,
}

impl Doubts {
    /// Watches for as long as the cell is dealt with.
    pub(super) async fn watch(self, session: Weak<Session>, settled: Arc<Notify>, stop: CancellationToken) {
        loop {
            let Some((api, of)) = watched(&session) else {
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = settled.notified() => continue,
                }
            };
            // A server that is going ends every watch as soon as it has begun.
            let followed = async {
                let _ = self.follow(&*api, &of, &session).await;
                tokio::time::sleep(AGAIN).await;
            };
            tokio::select! {
                () = stop.cancelled() => return,
                () = followed => {}
            }
        }
    }

    async fn follow(&self, api: &dyn CellApi, of: &CellResource, session: &Weak<Session>) -> Result<(), CellError> {
        let now = api.list(of, NOTHING).await?.resource_version;
        let mut events = api.watch(of, "", &now).await?;
        // Whatever came before the watch did went unnoticed.
        self.tell(session);
        while let Some(event) = events.next().await {
            event?;
            self.tell(session);
        }
        Ok(())
    }

    fn tell(&self, session: &Weak<Session>) {
        if let Some(session) = session.upgrade() {
            session.doubt();
            self.cells.put(session.cell.clone());
        }
    }
}

/// What to watch, if the cell is up and defines kinds at all.
fn watched(session: &Weak<Session>) -> Option<(Arc<dyn CellApi>, CellResource)> {
    let session = session.upgrade().filter(|session| session.is_up())?;
    let of = session.versions_of("apiextensions.k8s.io", "CustomResourceDefinition").into_iter().next()?;
    Some((session.api.clone(), of))
}
