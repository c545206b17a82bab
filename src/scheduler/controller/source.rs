//! What wakes the scheduler: objects that rules select, the rules, the cells, and what became of earlier decisions.

use super::book::{Concern, Rulebook};
use super::follow;
use super::index::{CellChange, Index};
use super::record::{Hold, manner_of};
use super::tally::RuleId;
use crate::apis::change;
use crate::apis::definitions::{CELLS, CLEANUP, COPIES, GROUP, PLACEMENTS};
use crate::controller::{Mailbox, Source};
use apiserver::catalog::ResourceDef;
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, Workspace};
use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;
use storage::{Key, ReadError, Revision, Scan, Version};

/// Where workspaces say which kinds they have of their own.
const DEFINITIONS: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");

/// Follows everything; what no rule speaks of costs a look at its kind.
pub(super) struct Everything {
    pub(super) client: Client,
    pub(super) book: Arc<dyn Rulebook>,
    /// What is decided by.
    pub(super) index: Arc<Mutex<Index>>,
    /// What is told anew. While it is, nothing new is decided, and whoever is deciding still finds all that was known.
    pub(super) draft: Option<Mutex<Index>>,
    /// Rules of which there is something to tell.
    pub(super) rules: Arc<Mailbox<RuleId>>,
    /// The revision of what there was to begin with.
    pub(super) since: Revision,
}

impl Source for Everything {
    type Key = Key;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        self.index.lock().complete = false;
        self.draft = Some(Mutex::default());
        self.book.forget();
        let follow = self.client.follow_all()?;
        self.since = follow.since();
        Ok(follow)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<Key> {
        let keys = self.concerned(seen);
        // Whoever is woken finds in the index what woke them.
        self.learning().revision = seen.revision;
        keys
    }

    fn caught_up(&mut self) {
        self.book.caught_up();
        let told = self.draft.take().map(Mutex::into_inner);
        let mut index = self.index.lock();
        *index = told.unwrap_or_else(|| std::mem::take(&mut *index));
        (index.complete, index.revision) = (true, self.since);
    }
}

/// Whether a copy is better or worse off than it was.
fn is_otherwise(seen: &Seen) -> bool {
    let says = |version: Option<&Version>, key: &str| {
        version.and_then(|version| Peek::new(version).raw(&["status", key]).map(<[u8]>::to_vec))
    };
    let differs = |key: &str| says(seen.before.as_ref(), key) != says(seen.now.as_ref(), key);
    ["applied", "health", "decided"].iter().any(|key| differs(key))
}

fn object(version: Option<&Version>) -> Option<Object> {
    Object::parse(&version?.value).ok()
}

impl Everything {
    /// Where what is told is written.
    fn learning(&self) -> MutexGuard<'_, Index> {
        self.draft.as_ref().unwrap_or(&self.index).lock()
    }

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
        let mut index = self.learning();
        index.learn_copy(&uid, seen.before.is_some(), seen.now.is_some());
        let minds = index.minds(&uid);
        drop(index);
        let matters = seen.now.is_none() || (minds && is_otherwise(seen));
        if matters { self.source_of(workspace, copy) } else { None }
    }

    fn of_object(&self, parts: Parts<'_>, seen: &Seen) -> Option<Key> {
        let version = seen.now.as_ref().or(seen.before.as_ref())?;
        let kind = Peek::new(version).text(&["kind"])?;
        if parts.group == DEFINITIONS.0 && parts.resource == DEFINITIONS.2 {
            self.learn_kind(version);
        }
        let index = self.learning();
        let known = index.is_placed(&seen.key) || index.followers.is_followed(&seen.key);
        drop(index);
        if !known && !self.book.selects(parts.group, &kind) {
            return None;
        }
        let is_nothing_new = match (&seen.before, &seen.now) {
            (Some(before), Some(now)) => {
                let (before, now) = (Peek::new(before), Peek::new(now));
                !change::of_what_is_asked_for(before, now) || change::is_only_held(before, now, CLEANUP)
            }
            _ => false,
        };
        (!is_nothing_new).then(|| seen.key.clone())
    }

    /// Kinds that workspaces define have names that only they know.
    fn learn_kind(&self, definition: &Version) {
        let word = |path: &[&str]| Peek::new(definition).text(path).unwrap_or_default();
        let names = (word(&["spec", "group"]), word(&["spec", "names", "kind"]), word(&["spec", "names", "plural"]));
        self.learning().learn_kind(&names.0, &names.1, &names.2);
    }

    fn of_cell(&self, workspace: &Workspace, name: &str, seen: &Seen) -> Vec<Key> {
        let cell = object(seen.now.as_ref()).map(|cell| self.book.cell(&cell));
        let mut index = self.learning();
        match index.learn_cell(workspace, name, cell) {
            CellChange::Nothing => Vec::new(),
            CellChange::Room => index.short(),
            // While everything is told anew, every object is looked at anyway.
            CellChange::Anything if self.draft.is_some() => Vec::new(),
            CellChange::Anything => {
                let left = index.left();
                drop(index);
                self.expand(workspace, &self.book.concerns_of(workspace)).into_iter().chain(left).collect()
            }
        }
    }

    fn of_placement(&self, workspace: &Workspace, uid: &str, seen: &Seen) -> Vec<Key> {
        let Some(version) = seen.now.as_ref().or(seen.before.as_ref()) else { return Vec::new() };
        let Some(source) = self.source_of(workspace, version) else { return Vec::new() };
        let key_of = |named: &Value| self.key_of(workspace, named);
        let record = object(seen.now.as_ref());
        let leader = record.as_ref().map(|record| follow::leader(record, key_of));
        let is_short = |trouble: &Value| trouble["reason"] == "NotEnoughCapacity";
        let minds =
            record.as_ref().is_some_and(|record| record.pointer(&["spec", "minds"]) == Some(&Value::Bool(true)));
        let is_short = record.as_ref().is_some_and(|record| record.items(&["status", "troubles"]).any(is_short));
        let is_left = record.as_ref().is_some_and(|record| manner_of(record).hold == Hold::Left);
        let mut index = self.learning();
        index.learn_short(&source, is_short);
        index.learn_left(&source, is_left);
        index.learn_minding(uid, minds);
        index.learn_placement(&source, uid, seen.now.is_some());
        let id = (workspace.clone(), uid.to_owned());
        index.tallies.learn(id.clone(), record.as_ref()).into_iter().for_each(|rule| self.rules.put(rule));
        let concerned = index.followers.learn(id, leader);
        drop(index);
        let is_settled = self.draft.is_none() && seen.before.is_none() && self.is_there(&source, uid);
        concerned.into_iter().chain((!is_settled).then_some(source)).collect()
    }

    /// Whether an object is there and stays. Then whoever has just decided about it has seen all that there was to see.
    fn is_there(&self, key: &Key, uid: &str) -> bool {
        let stored = self.client.place_of(key).and_then(|at| self.client.glance(&at).ok().flatten());
        stored.is_some_and(|stored| {
            let (object, metadata) = (Peek::of(&stored), |field: &'static str| ["metadata", field]);
            object.text(&metadata("uid")).is_some_and(|found| found == uid)
                && object.text(&metadata("deletionTimestamp")).is_none()
        })
    }

    /// The key of the object that a record is about.
    fn source_of(&self, workspace: &Workspace, record: &Version) -> Option<Key> {
        self.key_of(workspace, &Peek::new(record).value(&["spec", "source"])?)
    }

    /// The key of an object that a record names.
    fn key_of(&self, workspace: &Workspace, source: &Value) -> Option<Key> {
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
            let resource = catalog.of_kind(api_version, kind);
            let scans = match resource {
                _ if concern.everywhere => self.everywhere(api_version, kind, resource),
                None => continue,
                Some(resource) => {
                    let (resource, workspace) = (resource.clone(), workspace.clone());
                    vec![self.client.scan(&Collection { resource, workspace, namespace: None })]
                }
            };
            keys.extend(scans.into_iter().flatten().flatten().filter_map(Result::ok).map(|entry| entry.key));
        }
        keys
    }

    /// What there is of a kind in all workspaces, whoever defines it.
    fn everywhere(
        &self,
        api_version: &str,
        kind: &str,
        resource: Option<&Arc<ResourceDef>>,
    ) -> Vec<Result<Scan, ApiError>> {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let mut plurals: BTreeSet<String> = self.learning().plurals_of(group, kind).into_iter().collect();
        plurals.extend(resource.map(|resource| resource.stored.plural.clone()));
        plurals.iter().map(|plural| self.client.scan_named(group, plural)).collect()
    }
}
