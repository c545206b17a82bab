//! Objects do not outlive their owners, and owners that wish so wait for what they own.
//!
//! `facts` reads what matters of an object, `index` knows who depends on whom, `decide` says what should become of one
//! object, and this file reads and writes. The index only ever says where to look: whether an owner is gone is asked
//! of the store, and nothing is let go on the word of an index that is older than the object in question.

mod decide;
mod facts;
mod index;

use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::options::{DeleteOptions, Propagation};
use apiserver::place::{Collection, ObjectRef};
use apiserver::strategy::Part;
use decide::{Decision, Standing, decide};
use facts::{FOREGROUND, Facts, ORPHAN, Owner};
use futures_util::{TryStreamExt, stream};
use index::{Dependents, Index};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use storage::{Key, ReadError, Revision};

/// How long the index is given to learn of what was just read.
const INDEX_LAG: Duration = Duration::from_millis(5);

/// Dependents that are set free at once: enough to fill a commit.
const FREED_AT_ONCE: usize = 64;

pub(super) fn controller(client: &Client) -> Controller<Collector> {
    let index = Arc::new(Mutex::new(Index::default()));
    let source = Everything { client: client.clone(), index: index.clone(), since: Revision::ZERO };
    Controller::new(Collector { client: client.clone(), index }).source(source)
}

/// Tells the index of everything.
struct Everything {
    client: Client,
    index: Arc<Mutex<Index>>,
    since: Revision,
}

impl Source for Everything {
    type Key = Key;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        *self.index.lock() = Index::default();
        let follow = self.client.follow_all()?;
        self.since = follow.since();
        Ok(follow)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<Key> {
        let before = seen.before.as_ref().map(|version| Facts::read(&version.value));
        let now = seen.now.as_ref().map(|version| Facts::read(&version.value));
        let mut index = self.index.lock();
        let keys = index.learn(&seen.key, before.as_ref(), now.as_ref());
        index.advance(seen.revision);
        keys
    }

    fn caught_up(&mut self) {
        self.index.lock().reach(self.since);
    }
}

pub(super) struct Collector {
    client: Client,
    /// Who depends on whom. Held for one lookup, and never while anything is awaited.
    index: Arc<Mutex<Index>>,
}

impl Reconciler for Collector {
    type Key = Key;

    fn name(&self) -> &'static str {
        "collector"
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, ApiError> {
        let Some(place) = self.client.place_of(key) else { return Ok(Action::Done) };
        let Some(object) = self.client.get(&place).await? else { return Ok(Action::Done) };
        let facts = Facts::of(&object);
        let (owners, seen) = self.owners(&place, &facts).await?;
        let dependents = self.dependents(key, &object, seen);
        match decide(&facts, &owners, dependents.as_ref()) {
            Decision::Nothing => Ok(Action::Done),
            Decision::Later => Ok(Action::After(INDEX_LAG)),
            Decision::Delete(propagation) => self.delete(&place, &object, propagation).await,
            Decision::Disown(uids) => self.disown(&place, &object, &uids).await,
            Decision::LetGo => self.release(&place, &object, FOREGROUND).await,
            Decision::Orphan => self.orphan(&place, &object, dependents).await,
        }
    }
}

fn revision(object: &Object) -> Revision {
    Revision(object.resource_version().parse().unwrap_or_default())
}

/// Whoever was faster did what was wanted.
fn gone_is_fine(result: Result<(), ApiError>) -> Result<Action, ApiError> {
    match result {
        Err(error) if error.code() != 404 => Err(error),
        _ => Ok(Action::Done),
    }
}

impl Collector {
    /// How each owner of an object stands, according to the store, and the newest revision that this shows.
    async fn owners(&self, place: &ObjectRef, facts: &Facts) -> Result<(Vec<Standing>, Revision), ApiError> {
        let (mut standings, mut seen) = (Vec::with_capacity(facts.owners.len()), Revision::ZERO);
        for owner in &facts.owners {
            let standing = match self.place_of(place, owner) {
                None => Standing::Unknown,
                Some(at) => {
                    let found = self.client.get(&at).await?;
                    seen = seen.max(found.as_ref().map(revision).unwrap_or_default());
                    Standing::of(owner, found.as_ref())
                }
            };
            standings.push(standing);
        }
        Ok((standings, seen))
    }

    /// Where an owner would be: beside the object if it is in a namespace. `None` if nothing of its kind is kept, or
    /// could own an object that is in no namespace.
    fn place_of(&self, dependent: &ObjectRef, owner: &Owner) -> Option<ObjectRef> {
        let catalog = self.client.catalog(dependent.workspace()).ok()?;
        let kind = catalog.of_kind(&owner.api_version, &owner.kind);
        let resource = kind.filter(|resource| resource.is_stored())?.clone();
        let namespace = if resource.namespaced { Some(dependent.namespace()?.to_owned()) } else { None };
        let within = Collection { resource, workspace: dependent.workspace().clone(), namespace };
        Some(within.object(&owner.name))
    }

    /// Who depends on an object. `None` while the index has not seen the object as it is now, nor its owners: whatever
    /// was made before an owner was told to wait is what it waits for.
    fn dependents(&self, key: &Key, object: &Object, owners: Revision) -> Option<Dependents> {
        let index = self.index.lock();
        (index.reached() >= Some(owners.max(revision(object)))).then(|| index.dependents(key, object.uid()))
    }

    /// Deletes an object, provided that it is still the one that was looked at.
    async fn delete(&self, place: &ObjectRef, was: &Object, propagation: Propagation) -> Result<Action, ApiError> {
        let how = DeleteOptions {
            uid: Some(was.uid().to_owned()),
            resource_version: Some(was.resource_version().to_owned()),
            propagation: Some(propagation),
            ..DeleteOptions::default()
        };
        gone_is_fine(self.client.delete(place, &how).await.map(drop))
    }

    async fn disown(&self, place: &ObjectRef, object: &Object, uids: &[String]) -> Result<Action, ApiError> {
        let owners = object.pointer(&["metadata", "ownerReferences"]).and_then(Value::as_array);
        let gone = |owner: &&Value| uids.iter().any(|uid| owner["uid"] == uid.as_str());
        let kept: Vec<&Value> = owners.into_iter().flatten().filter(|owner| !gone(owner)).collect();
        self.patch(place, object, "ownerReferences", json!(kept)).await
    }

    async fn release(&self, place: &ObjectRef, object: &Object, finalizer: &str) -> Result<Action, ApiError> {
        let kept: Vec<&str> = object.finalizers().filter(|name| *name != finalizer).collect();
        self.patch(place, object, "finalizers", json!(kept)).await
    }

    /// Replaces one list in the metadata of an object, provided that it is still the one that was looked at.
    async fn patch(&self, place: &ObjectRef, was: &Object, field: &str, list: Value) -> Result<Action, ApiError> {
        let metadata = json!({ "uid": was.uid(), "resourceVersion": was.resource_version(), field: list });
        let patch = json!({ "metadata": metadata });
        gone_is_fine(self.client.merge(place, Part::Main, &patch).await.map(drop))
    }

    /// Sets all dependents free, and then the object.
    async fn orphan(
        &self,
        place: &ObjectRef,
        object: &Object,
        dependents: Option<Dependents>,
    ) -> Result<Action, ApiError> {
        let keys = dependents.map(|dependents| dependents.keys).unwrap_or_default();
        let freed = stream::iter(keys.into_iter().map(Ok));
        freed.try_for_each_concurrent(FREED_AT_ONCE, |key| self.free(key, object.uid())).await?;
        self.release(place, object, ORPHAN).await
    }

    async fn free(&self, key: Key, owner: &str) -> Result<(), ApiError> {
        let Some(place) = self.client.place_of(&key) else { return Ok(()) };
        let Some(object) = self.client.get(&place).await? else { return Ok(()) };
        if Facts::of(&object).owners.iter().any(|found| found.uid == owner) {
            self.disown(&place, &object, &[owner.to_owned()]).await?;
        }
        Ok(())
    }
}
