//! Reading what is computed: the same verbs, on objects that are made when somebody looks.

use super::watch::{Event, EventKind};
use super::{Filter, Page, Resources};
use crate::catalog::ResourceDef;
use crate::computed::Compute;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::{Peek, with_revision};
use crate::options::ListOptions;
use crate::place::{Collection, ObjectRef};
use bytes::Bytes;
use futures_util::future::select_all;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use storage::{KeyRange, ReadError, Revision, Snapshot, Watcher};

/// Objects by namespace and name, as a list has them.
type Objects = BTreeMap<(String, String), Bytes>;

impl Resources {
    /// Says who makes the objects of computed resources. The first who is named does.
    pub fn compute(&self, compute: Arc<dyn Compute>) {
        let _ = self.inner.compute.set(compute);
    }

    /// An object of a computed resource, made of what is kept.
    pub(crate) fn shown_as(&self, resource: &ResourceDef, kept: &Value) -> Option<Value> {
        self.inner.compute.get()?.shown(resource, kept)
    }

    /// What is said of such an object, as it is said of what is kept.
    pub(crate) fn kept_as(&self, resource: &ResourceDef, said: Value) -> Value {
        match self.inner.compute.get() {
            Some(compute) => compute.kept(resource, said),
            None => said,
        }
    }

    /// Who makes the objects of a resource, if they are computed.
    pub(super) fn computing(&self, resource: &ResourceDef) -> Option<Computing> {
        let computed = resource.traits.computed;
        computed.then(|| Computing { resources: self.clone(), compute: self.inner.compute.get().cloned() })
    }
}

/// Makes the objects of one resource. Where nobody knows how, there are none.
#[derive(Clone, Debug)]
pub(super) struct Computing {
    resources: Resources,
    compute: Option<Arc<dyn Compute>>,
}

impl Computing {
    fn objects(&self, at: &Collection, filter: Option<&Filter>, snapshot: &Snapshot) -> Result<Objects, ApiError> {
        let Some(compute) = &self.compute else { return Ok(Objects::new()) };
        let mut objects = Objects::new();
        for object in compute.objects(&at.resource, &at.workspace, snapshot)? {
            let word = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
            let key = (word("namespace"), word("name"));
            let bytes = Bytes::from(object.to_string());
            let here = at.namespace.as_ref().is_none_or(|namespace| *namespace == key.0);
            if here && filter.is_none_or(|filter| filter.matches(&bytes)) {
                objects.insert(key, bytes);
            }
        }
        Ok(objects)
    }

    pub(super) fn get(&self, at: &ObjectRef, snapshot: &Snapshot) -> Result<Bytes, ApiError> {
        let mut objects = self.objects(&at.within, None, snapshot)?;
        let key = (at.namespace().unwrap_or_default().to_owned(), at.name.clone());
        objects.remove(&key).ok_or_else(|| ApiError::not_found(at.resource(), &at.name))
    }

    /// Everything at once: pages would be made anew each time.
    pub(super) async fn list(&self, at: &Collection, options: ListOptions) -> Result<Page, ApiError> {
        let snapshot = self.resources.at_least(options.revision).await?;
        let (_, filter) = Filter::plan(at, None, options.selection)?;
        let items = self.objects(at, Some(&filter), &snapshot)?.into_values().collect();
        Ok(Page { revision: snapshot.revision(), items, next: None, remaining: None })
    }

    /// Watches from what there is at a revision, which is told if `all` is wanted.
    pub(super) fn watch(
        self,
        at: &Collection,
        (filter, name): (Filter, Option<&str>),
        snapshot: &Snapshot,
        all: bool,
    ) -> Result<Viewing, ApiError> {
        let mut viewing = Viewing {
            at: at.clone(),
            filter,
            name: name.map(str::to_owned),
            watchers: Vec::new(),
            shown: Objects::new(),
            queue: VecDeque::new(),
            computing: self,
        };
        for range in viewing.ranges()? {
            let watcher = viewing.computing.resources.inner.store.watch(range, snapshot.revision());
            viewing.watchers.push(watcher.map_err(|error| match error {
                ReadError::Compacted { asked, oldest } => ApiError::too_old_to_watch(asked, oldest),
                other => other.into(),
            })?);
        }
        if all {
            viewing.look(snapshot)?;
        } else {
            viewing.shown = viewing.now(snapshot)?;
        }
        Ok(viewing)
    }
}

/// A watch of computed objects.
#[derive(Debug)]
pub(super) struct Viewing {
    at: Collection,
    filter: Filter,
    name: Option<String>,
    computing: Computing,
    /// One for each resource that the objects are made of.
    watchers: Vec<Watcher>,
    shown: Objects,
    /// As many as changed at once.
    queue: VecDeque<Event>,
}

impl Viewing {
    fn ranges(&self) -> Result<Vec<KeyRange>, ApiError> {
        let Some(compute) = &self.computing.compute else { return Ok(Vec::new()) };
        let (resources, workspace) = (&self.computing.resources, &self.at.workspace);
        let mut ranges = Vec::new();
        for name in compute.made_of(&self.at.resource) {
            let Some(resource) = resources.stored_as(workspace, *name) else { continue };
            let place = Collection { resource, workspace: workspace.clone(), namespace: None };
            ranges.push(keyspace::range(&place)?);
        }
        Ok(ranges)
    }

    fn now(&self, snapshot: &Snapshot) -> Result<Objects, ApiError> {
        let mut objects = self.computing.objects(&self.at, Some(&self.filter), snapshot)?;
        if let Some(name) = &self.name {
            objects.retain(|(_, found), _| found == name);
        }
        Ok(objects)
    }

    /// Finds out what has changed since it was last looked.
    fn look(&mut self, snapshot: &Snapshot) -> Result<(), ApiError> {
        let (now, revision) = (self.now(snapshot)?, snapshot.revision());
        let before = std::mem::replace(&mut self.shown, now);
        for (key, bytes) in &self.shown {
            let kind = match before.get(key) {
                Some(same) if same == bytes => continue,
                Some(_) => EventKind::Modified,
                None => EventKind::Added,
            };
            self.queue.push_back(Event::Object { kind, bytes: bytes.clone(), revision, modified: modified(bytes) });
        }
        for (_, bytes) in before.iter().filter(|(key, _)| !self.shown.contains_key(*key)) {
            let bytes = with_revision(bytes, revision);
            self.queue.push_back(Event::Object { kind: EventKind::Deleted, bytes, revision, modified: revision });
        }
        Ok(())
    }

    pub(super) fn try_next(&mut self) -> Option<Event> {
        self.queue.pop_front()
    }

    /// The next event; waits for it. Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Event, ReadError> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(event);
            }
            if self.watchers.is_empty() {
                std::future::pending::<()>().await;
            }
            select_all(self.watchers.iter_mut().map(|watcher| Box::pin(watcher.next()))).await.0?;
            // What else has changed meanwhile is looked at together.
            for watcher in &mut self.watchers {
                while watcher.try_next()?.is_some() {}
            }
            let snapshot = self.computing.resources.inner.store.recent();
            if let Err(error) = self.look(&snapshot) {
                tracing::warn!(%error, "what is computed cannot be watched");
            }
        }
    }
}

fn modified(bytes: &[u8]) -> Revision {
    let text = Peek::of(bytes).text(&["metadata", "resourceVersion"]);
    text.and_then(|text| text.parse().ok()).map(Revision).unwrap_or_default()
}
