//! Objects that are born in a cell because of a copy there, shown beside the source of that copy.
//!
//! An object is shown while its owner in the cell is the copy of an object here that lives, and whose rules ask for it.
//! What is shown belongs to that object, goes with it, and is nobody's to change here.

mod shown;
mod watch;

use super::records;
use super::wish::Wishes;
use crate::apis::Kind;
use crate::controller::{Action, Controller, Mailbox, Reconciler};
use crate::fleet::api::CellResource;
use crate::fleet::{CopyId, Ledger, Session};
use crate::scheduler::rule::Upsync;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{Collection, ObjectRef};
use apiserver::strategy::Part;
use parking_lot::Mutex;
use serde_json::{Value, json};
use shown::Origin;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;
use storage::Revision;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Objects that are shown at once: enough to fill a commit.
const SHOWN_AT_ONCE: usize = 16;

/// How soon an object is looked at again whose owner is about to be known.
const OWNER_SOON: Duration = Duration::from_millis(100);

/// An object of the cell: its resource, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Born {
    resource: CellResource,
    namespace: String,
    name: String,
}

/// What is born in one cell. Cheap to clone.
#[derive(Clone)]
pub(super) struct Upsyncs {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    session: Arc<Session>,
    ledger: Arc<Ledger>,
    wishes: Wishes,
    mailbox: Arc<Mailbox<Born>>,
    /// Held for one operation; as much as waits to be looked at, and as is shown.
    state: Mutex<State>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

#[derive(Default)]
struct State {
    watched: HashSet<CellResource>,
    /// As it was last seen; `None` for what is gone.
    pending: HashMap<Born, Option<Value>>,
    shown: HashMap<Born, Shown>,
}

/// What is shown of an object of the cell.
#[derive(Clone)]
struct Shown {
    at: ObjectRef,
    /// Its UID in the cell.
    uid: String,
    /// The copy that it is there because of.
    because: CopyId,
}

impl Upsyncs {
    pub(super) fn new(wishes: &Wishes, session: &Arc<Session>, ledger: &Arc<Ledger>, stop: &CancellationToken) -> Self {
        let shared = Shared {
            client: wishes.client.clone(),
            session: session.clone(),
            ledger: ledger.clone(),
            wishes: wishes.clone(),
            mailbox: Arc::default(),
            state: Mutex::default(),
            tasks: TaskTracker::new(),
            stop: stop.clone(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Watches these kinds from now on, as far as the cell serves them.
    pub(super) fn ensure(&self, wanted: &[Upsync]) {
        for Upsync { kind, .. } in wanted {
            let served = self.shared.session.versions_of(kind.group(), &kind.kind);
            let exact = served.iter().find(|served| served.version == kind.version());
            let Some(resource) = exact.or(served.first()).cloned() else { continue };
            let (new, first) = {
                let watched = &mut self.shared.state.lock().watched;
                let first = watched.is_empty();
                (watched.insert(resource.clone()), first)
            };
            if first {
                self.begin();
            }
            if new {
                let shared = self.shared.clone();
                self.shared.tasks.spawn(async move { shared.watch(resource).await });
            }
        }
    }

    /// Shows what is seen from now on. In most cells nothing is ever asked for, and nobody waits for it.
    fn begin(&self) {
        let shared = &self.shared;
        let controller = Controller::new(Showing(shared.clone())).mailbox(&shared.mailbox).workers(SHOWN_AT_ONCE);
        shared.tasks.spawn(controller.run(shared.stop.clone()));
    }

    pub(super) async fn stopped(&self) {
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

struct Showing(Arc<Shared>);

impl Reconciler for Showing {
    type Key = Born;

    fn name(&self) -> &'static str {
        "upsync"
    }

    async fn reconcile(&self, born: &Born) -> Result<Action, ApiError> {
        let Some(seen) = self.0.state.lock().pending.get(born).cloned() else { return Ok(Action::Done) };
        let action = match &seen {
            Some(object) => self.0.show(born, object).await?,
            None => self.0.hide(born).await.map(|()| Action::Done)?,
        };
        let mut state = self.0.state.lock();
        // What was seen meanwhile is looked at next.
        if action == Action::Done && state.pending.get(born) == Some(&seen) {
            state.pending.remove(born);
        }
        Ok(action)
    }
}

/// Whose an object of a cell is.
enum Owner {
    /// The copy that it is there because of, and what it belongs to here.
    Copy(CopyId, Value),
    /// One of its owners is on its way into the records.
    Soon,
    Nobody,
}

impl Shared {
    async fn show(&self, born: &Born, object: &Value) -> Result<Action, ApiError> {
        let (because, owner) = match self.owner(object).await? {
            Owner::Soon => return Ok(Action::After(OWNER_SOON)),
            Owner::Nobody if !self.ledger.knows(Revision::ZERO) => return Ok(Action::After(OWNER_SOON)),
            Owner::Nobody => return self.hide(born).await.map(|()| Action::Done),
            Owner::Copy(because, owner) => (because, owner),
        };
        let Some(namespace) = self.asked_for(&because, object).await? else {
            return self.hide(born).await.map(|()| Action::Done);
        };
        let Some(within) = self.collection(&because, born, namespace)? else { return Ok(Action::Done) };
        let origin = Origin { cell: &self.session.cell, owner: &owner, because: &because.name };
        let wanted = shown::object(object, &origin, within.namespace.as_deref(), &within.resource.api_version());
        let at = self.write(&within, wanted, object).await?;
        if let Some(at) = at {
            let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
            self.state.lock().shown.insert(born.clone(), Shown { at, uid, because });
        }
        Ok(Action::Done)
    }

    /// The first owner that is a copy of ours, or is itself shown because of one.
    async fn owner(&self, object: &Value) -> Result<Owner, ApiError> {
        let mut soon = false;
        for owner in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
            let word = |key: &str| owner[key].as_str().unwrap_or_default();
            if let Some(id) = self.ledger.of_uid(&self.session.cell, word("uid")) {
                let Some(record) = records::get(&self.client, &id).await? else { continue };
                let source = record.pointer(&["spec", "source"]).cloned().unwrap_or_default();
                return Ok(Owner::Copy(id, shown::owner(&source)));
            }
            let between = self.state.lock().shown.values().find(|shown| shown.uid == word("uid")).cloned();
            if let Some(Shown { at, because, .. }) = between {
                let Some(there) = self.client.get(&at).await? else { continue };
                return Ok(Owner::Copy(because, shown::owner(&shown::named(&there))));
            }
            soon |= self.is_expected(object, word("kind"), word("name"));
        }
        Ok(if soon { Owner::Soon } else { Owner::Nobody })
    }

    /// Whether something of this kind and name has been sent there, and nobody has heard yet what its UID is.
    fn is_expected(&self, object: &Value, kind: &str, name: &str) -> bool {
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
        let copies = self.ledger.in_namespace(&self.session.cell, namespace);
        let facts = copies.iter().filter_map(|id| self.ledger.facts(id));
        facts.into_iter().any(|facts| facts.kind.kind == kind && facts.name == name && facts.uid.is_empty())
    }

    /// The namespace that an object is to be shown in, if the rules of what it is there because of ask for it.
    async fn asked_for(&self, because: &CopyId, object: &Value) -> Result<Option<String>, ApiError> {
        let Some(recipe) = self.wishes.recipe(because).await? else { return Ok(None) };
        let source = &recipe.source["metadata"];
        if source["deletionTimestamp"].is_string() {
            return Ok(None);
        }
        let kind = Kind::of(object);
        let labels = object["metadata"]["labels"].as_object();
        let fits = |wanted: &Upsync| {
            wanted.kind.name() == kind.name() && wanted.labels.as_ref().is_none_or(|wanted| wanted.matches(labels))
        };
        let namespace = source["namespace"].as_str().unwrap_or_default().to_owned();
        Ok(recipe.terms.upsync.iter().any(fits).then_some(namespace))
    }

    /// Where objects of the kind are kept here; nowhere, if the workspace does not know it.
    fn collection(&self, because: &CopyId, born: &Born, namespace: String) -> Result<Option<Collection>, ApiError> {
        let catalog = self.client.catalog(&because.workspace)?;
        let CellResource { group, version, kind, .. } = &born.resource;
        let versions = catalog.group(group).into_iter().flat_map(|group| &group.versions);
        let mut known = versions.flat_map(|version| &version.resources).filter(|known| known.kind == *kind);
        let exact = known.clone().find(|known| known.version == *version);
        let Some(resource) = exact.or_else(|| known.next()).cloned() else {
            tracing::warn!(cell = %self.session.cell, kind, "is born in a cell and not known in its workspace");
            return Ok(None);
        };
        let namespace = Some(namespace).filter(|_| resource.namespaced);
        Ok(Some(Collection { resource, workspace: because.workspace.clone(), namespace }))
    }

    /// Writes what is not written yet; answers with where it is.
    async fn write(&self, within: &Collection, wanted: Value, object: &Value) -> Result<Option<ObjectRef>, ApiError> {
        for name in shown::names(object, &self.session.cell) {
            let at = within.object(&name);
            let mut wanted = wanted.clone();
            wanted["metadata"]["name"] = json!(name);
            let there = match self.client.get(&at).await? {
                None => self.client.create(within, wanted.clone()).await?,
                Some(there) if !shown::is_from(&there, &self.session.cell) => continue,
                Some(there) if there.is_deleting() => return Ok(Some(at)),
                Some(there) if shown::says(&there, &wanted) => there,
                Some(there) => self.client.update(&at, Part::Main, shown::revised(&there, &wanted)).await?,
            };
            self.tell_status(&at, there, object).await?;
            return Ok(Some(at));
        }
        tracing::warn!(cell = %self.session.cell, object = %object["metadata"]["name"], "its name is taken here");
        Ok(None)
    }

    async fn tell_status(&self, at: &ObjectRef, there: Object, object: &Value) -> Result<(), ApiError> {
        let status = object.get("status").filter(|status| !status.is_null());
        if !at.resource().has_status() || there.pointer(&["status"]) == status {
            return Ok(());
        }
        let mut told = Value::from(there);
        told["status"] = status.cloned().unwrap_or_else(|| json!({}));
        let Ok(told) = Object::try_from(told) else { return Ok(()) };
        self.client.update(at, Part::Status, told).await.map(drop)
    }

    /// Takes away what is shown of an object.
    async fn hide(&self, born: &Born) -> Result<(), ApiError> {
        let Some(Shown { at, .. }) = self.state.lock().shown.get(born).cloned() else { return Ok(()) };
        self.remove(&at).await?;
        self.state.lock().shown.remove(born);
        Ok(())
    }

    async fn remove(&self, at: &ObjectRef) -> Result<(), ApiError> {
        let there = self.client.get(at).await?;
        if !there.is_some_and(|there| shown::is_from(&there, &self.session.cell)) {
            return Ok(());
        }
        match self.client.delete(at, &DeleteOptions::default()).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(()),
        }
    }
}
