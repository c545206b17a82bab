//! What wakes the scheduler: objects that rules select, the rules, the cells, and what became of earlier decisions.

use super::book::{Concern, Rulebook};
use super::index::Index;
use crate::apis::change;
use crate::apis::definitions::{CELLS, COPIES, GROUP, PLACEMENTS};
use crate::controller::Source;
use apiserver::client::{Client, Follow, Seen};
use apiserver::keyspace::{self, Parts};
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, Workspace};
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use storage::{Key, ReadError, Revision, Version};

/// Follows everything; what no rule speaks of costs a look at its kind.
pub(super) struct Everything {
    pub(super) client: Client,
    pub(super) book: Arc<dyn Rulebook>,
    pub(super) index: Arc<Mutex<Index>>,
    /// The revision of what there was to begin with.
    pub(super) since: Revision,
}

impl Source for Everything {
    type Key = Key;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        *self.index.lock() = Index::default();
        self.book.forget();
        let follow = self.client.follow_all()?;
        self.since = follow.since();
        Ok(follow)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<Key> {
        let keys = self.concerned(seen);
        // Whoever is woken finds in the index what woke them.
        self.index.lock().revision = seen.revision;
        keys
    }

    fn caught_up(&mut self) {
        let mut index = self.index.lock();
        (index.complete, index.revision) = (true, self.since);
    }
}

fn object(version: Option<&Version>) -> Option<Object> {
    Object::parse(&version?.value).ok()
}

impl Everything {
    fn concerned(&self, seen: &Seen) -> Vec<Key> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        let workspace = Workspace::new(parts.workspace);
        if parts.group == GROUP {
            if parts.resource == CELLS.2 {
                return self.of_cell(&workspace, parts.name, seen);
            }
            if parts.resource == PLACEMENTS.2 {
                return self.of_placement(&workspace, parts.name, seen);
            }
            if parts.resource == COPIES.2 {
                return self.of_copy(&workspace, seen).into_iter().collect();
            }
        }
        if self.book.reads(parts.group, parts.resource) {
            let (before, now) = (object(seen.before.as_ref()), object(seen.now.as_ref()));
            let concern = self.book.learn(&workspace, before.as_ref(), now.as_ref());
            return self.expand(&workspace, &concern);
        }
        self.of_object(parts, seen).into_iter().collect()
    }

    /// A copy that is gone is what a deletion waits for.
    fn of_copy(&self, workspace: &Workspace, seen: &Seen) -> Option<Key> {
        let copy = seen.now.as_ref().or(seen.before.as_ref())?;
        let uid = Peek::new(copy).text(&["spec", "source", "uid"])?;
        self.index.lock().learn_copy(&uid, seen.before.is_some(), seen.now.is_some());
        if seen.now.is_none() { self.source_of(workspace, copy) } else { None }
    }

    fn of_object(&self, parts: Parts<'_>, seen: &Seen) -> Option<Key> {
        let version = seen.now.as_ref().or(seen.before.as_ref())?;
        let kind = Peek::new(version).text(&["kind"])?;
        if !self.book.selects(parts.group, &kind) && !self.index.lock().is_placed(&seen.key) {
            return None;
        }
        let told_only = match (&seen.before, &seen.now) {
            (Some(before), Some(now)) => !change::of_what_is_asked_for(Peek::new(before), Peek::new(now)),
            _ => false,
        };
        (!told_only).then(|| seen.key.clone())
    }

    fn of_cell(&self, workspace: &Workspace, name: &str, seen: &Seen) -> Vec<Key> {
        let cell = object(seen.now.as_ref()).map(|cell| self.book.cell(&cell));
        if !self.index.lock().learn_cell(workspace, name, cell) {
            return Vec::new();
        }
        self.expand(workspace, &self.book.concerns_of(workspace))
    }

    fn of_placement(&self, workspace: &Workspace, uid: &str, seen: &Seen) -> Vec<Key> {
        let Some(version) = seen.now.as_ref().or(seen.before.as_ref()) else { return Vec::new() };
        let Some(source) = self.source_of(workspace, version) else { return Vec::new() };
        self.index.lock().learn_placement(&source, uid, seen.now.is_some());
        vec![source]
    }

    /// The key of the object that a record is about.
    fn source_of(&self, workspace: &Workspace, record: &Version) -> Option<Key> {
        let source: Value = Peek::new(record).value(&["spec", "source"])?;
        let word = |key: &str| source[key].as_str().unwrap_or_default();
        let group = word("apiVersion").split_once('/').map_or("", |(group, _)| group);
        let resource = self.client.stored_as(workspace, (group, word("resource")))?;
        let namespace = Some(word("namespace")).filter(|namespace| !namespace.is_empty()).map(str::to_owned);
        let place = Collection { resource, workspace: workspace.clone(), namespace }.object(word("name"));
        keyspace::key(&place).ok()
    }

    /// The objects that a rule may speak for.
    fn expand(&self, workspace: &Workspace, concern: &Concern) -> Vec<Key> {
        let mut keys = Vec::new();
        let Ok(catalog) = self.client.catalog(workspace) else { return keys };
        for (api_version, kind) in &concern.kinds {
            let Some(resource) = catalog.of_kind(api_version, kind) else { continue };
            let scan = if concern.everywhere {
                Ok(self.client.scan_everywhere(resource))
            } else {
                let (resource, workspace) = (resource.clone(), workspace.clone());
                self.client.scan(&Collection { resource, workspace, namespace: None })
            };
            keys.extend(scan.into_iter().flatten().filter_map(Result::ok).map(|entry| entry.key));
        }
        keys
    }
}
