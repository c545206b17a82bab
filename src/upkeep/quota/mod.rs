//! A quota says how much of it is used. Admission writes that down when something is added; here it is put right when
//! something goes or changes, when limits do, and when the server starts.
//!
//! `ledger` follows every change and counts on: an object that goes costs one subtraction, however many stay.

mod ledger;

use super::key::NamespaceKey;
use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::ObjectRef;
use apiserver::strategy::Part;
use ledger::Ledger;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;
use storage::{ReadError, Revision};

/// How long the ledger is given to learn of everything that was written together. Also how often a quota is written to
/// while much goes at once: those who add something want to write to it as well.
const LEDGER_LAG: Duration = Duration::from_millis(20);

const QUOTAS: (&str, &str, &str) = ("", "v1", "resourcequotas");

/// A quota, by where it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct QuotaKey {
    namespace: NamespaceKey,
    name: String,
}

pub(super) fn controller(client: &Client) -> Controller<Quotas> {
    let ledger = Arc::new(Mutex::new(Ledger::default()));
    let source = Everything { client: client.clone(), ledger: ledger.clone(), since: Revision::ZERO };
    Controller::new(Quotas { client: client.clone(), ledger }).source(source)
}

/// Tells the ledger of everything.
struct Everything {
    client: Client,
    ledger: Arc<Mutex<Ledger>>,
    since: Revision,
}

impl Source for Everything {
    type Key = QuotaKey;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        *self.ledger.lock() = Ledger::default();
        let follow = self.client.follow_all()?;
        self.since = follow.since();
        Ok(follow)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<QuotaKey> {
        let mut ledger = self.ledger.lock();
        let keys = ledger.learn(|workspace, resource| self.client.stored_as(workspace, resource), seen);
        ledger.advance(seen.revision);
        keys
    }

    fn caught_up(&mut self) {
        self.ledger.lock().reach(self.since);
    }
}

pub(super) struct Quotas {
    client: Client,
    /// What is used of which quota. Held for one change, or for one count; never while anything is awaited.
    ledger: Arc<Mutex<Ledger>>,
}

impl Reconciler for Quotas {
    type Key = QuotaKey;

    fn name(&self) -> &'static str {
        "quota"
    }

    async fn reconcile(&self, key: &QuotaKey) -> Result<Action, ApiError> {
        let place = self.client.at(QUOTAS, &key.namespace.workspace, Some(&key.namespace.name))?.object(&key.name);
        if matches!(self.look(key, &place).await?, Standing::Right) {
            return Ok(Action::Done);
        }
        // An object and what it is charged to are written together, and become known one after the other.
        tokio::time::sleep(LEDGER_LAG).await;
        match self.look(key, &place).await? {
            Standing::Right => Ok(Action::Done),
            Standing::Unknown => Ok(Action::After(LEDGER_LAG)),
            Standing::Wrong(corrected) => self.correct(&place, corrected).await,
        }
    }
}

/// How the status of a quota compares with what was counted.
enum Standing {
    Right,
    Wrong(Object),
    /// The ledger has not come as far as the quota.
    Unknown,
}

impl Quotas {
    async fn look(&self, key: &QuotaKey, place: &ObjectRef) -> Result<Standing, ApiError> {
        let Some(quota) = self.client.get(place).await? else { return Ok(Standing::Right) };
        let mut ledger = self.ledger.lock();
        let Some(tally) = ledger.count(&self.client, key, &quota)? else { return Ok(Standing::Unknown) };
        Ok(tally.correct(&quota).map_or(Standing::Right, Standing::Wrong))
    }

    async fn correct(&self, place: &ObjectRef, corrected: Object) -> Result<Action, ApiError> {
        match self.client.update(place, Part::Status, corrected).await {
            // Somebody was faster, and was charged for it; or the quota is gone.
            Err(error) if error.code() == 409 => Ok(Action::After(Duration::ZERO)),
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}
