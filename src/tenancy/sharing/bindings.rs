//! Who looks after bindings: one whose export has changed is looked at again, what is stored in a version that may go is
//! written again, and one that goes takes the objects of what it bound along.

use super::binding::{is_settled, offered};
use super::conversion::Converted;
use super::migration::{self, Progress};
use super::words::{BINDINGS, CONVERSIONS, CONVERTED, DEFINITIONS, EXPORTS, HELD_BY_OBJECTS, OFFERED, SCHEMAS};
use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::{Object, Peek, timestamp};
use apiserver::options::{DeleteOptions, Propagation};
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;
use storage::ReadError;

/// Objects that are deleted before the rest is looked at: bounds how much is held at once.
const DOOMED_MAX: usize = 1024;

/// Objects that are named when a binding cannot go.
const NAMED_MAX: usize = 10;

/// How soon objects that wait for somebody else are looked at again although nothing changed in them.
const WAIT: Duration = Duration::from_secs(10);

/// Bindings that are looked at together: an export may have many.
const WORKERS: usize = 8;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BindingKey {
    workspace: Workspace,
    name: String,
}

pub fn controller(client: &Client) -> Controller<Bindings> {
    let source = Concerned { client: client.clone(), index: Index::default() };
    Controller::new(Bindings { client: client.clone() }).source(source).workers(WORKERS)
}

/// Bindings by what could concern them.
#[derive(Default)]
struct Index {
    /// By the workspace and the name of their export.
    of_export: HashMap<String, HashMap<String, HashMap<BindingKey, Known>>>,
    place: HashMap<BindingKey, (String, String)>,
    /// Those that could become better or that go, by their workspace.
    unsettled: HashMap<Workspace, HashSet<BindingKey>>,
}

struct Known {
    offered: String,
    /// By which rules, as the binding says it.
    converted: String,
    settled: bool,
}

impl Index {
    fn forget(&mut self, key: &BindingKey) {
        if let Some((home, export)) = self.place.remove(key)
            && let Some(exports) = self.of_export.get_mut(&home)
        {
            if let Some(known) = exports.get_mut(&export) {
                known.remove(key);
                if known.is_empty() {
                    exports.remove(&export);
                }
            }
            if exports.is_empty() {
                self.of_export.remove(&home);
            }
        }
        if let Some(beside) = self.unsettled.get_mut(&key.workspace) {
            beside.remove(key);
            if beside.is_empty() {
                self.unsettled.remove(&key.workspace);
            }
        }
    }

    /// Says whether there is something to do for it.
    fn learn(&mut self, key: &BindingKey, binding: Peek<'_>) -> bool {
        self.forget(key);
        let text = |path: &[&str]| binding.text(path).unwrap_or_default().into_owned();
        let conditions: Vec<Value> = binding.value(&["status", "conditions"]).unwrap_or_default();
        let going = binding.text(&["metadata", "deletionTimestamp"]).is_some();
        let settled = !going && is_settled(&conditions);
        let place = (text(&["status", "apiExportClusterName"]), text(&["spec", "reference", "export", "name"]));
        let said = |name: &str| text(&["metadata", "annotations", name]);
        let known = Known { offered: said(OFFERED), converted: said(CONVERTED), settled };
        let exports = self.of_export.entry(place.0.clone()).or_default();
        exports.entry(place.1.clone()).or_default().insert(key.clone(), known);
        self.place.insert(key.clone(), place);
        if !settled {
            self.unsettled.entry(key.workspace.clone()).or_default().insert(key.clone());
        }
        going || migration::is_due(&conditions)
    }

    /// Bindings that were last looked at when an export offered something else.
    fn behind(&self, home: &str, export: &str, now: Option<&str>) -> Vec<BindingKey> {
        let known = self.of_export.get(home).and_then(|exports| exports.get(export)).into_iter().flatten();
        let behind = |known: &Known| !known.settled || now != Some(&*known.offered);
        known.filter(|(_, known)| behind(known)).map(|(key, _)| key.clone()).collect()
    }

    /// Bindings to exports of a workspace that wait for something.
    fn waiting_for(&self, home: &str) -> Vec<BindingKey> {
        let exports = self.of_export.get(home).into_iter().flat_map(|exports| exports.values());
        exports.flatten().filter(|(_, known)| !known.settled).map(|(key, _)| key.clone()).collect()
    }

    /// Bindings to exports of a workspace that do not convert by these rules. Some need not.
    fn not_converted_by(&self, home: &str, hash: &str) -> Vec<BindingKey> {
        let exports = self.of_export.get(home).into_iter().flat_map(|exports| exports.values());
        let behind = |known: &Known| !known.settled || !known.converted.contains(hash);
        exports.flatten().filter(|(_, known)| behind(known)).map(|(key, _)| key.clone()).collect()
    }

    fn unsettled_in(&self, workspace: &str, except: Option<&BindingKey>) -> Vec<BindingKey> {
        if self.unsettled.is_empty() {
            return Vec::new();
        }
        let all = self.unsettled.get(&Workspace::new(workspace)).into_iter().flatten();
        all.filter(|key| Some(*key) != except).cloned().collect()
    }
}

struct Concerned {
    client: Client,
    index: Index,
}

impl Source for Concerned {
    type Key = BindingKey;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        self.index = Index::default();
        self.client.follow_all()
    }

    fn keys(&mut self, seen: &Seen) -> Vec<BindingKey> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        let is = |kind: (&str, &str, &str)| (parts.group, parts.resource) == (kind.0, kind.2);
        if is(BINDINGS) {
            self.of_binding(seen, parts)
        } else if is(EXPORTS) {
            let now = seen.now.as_ref().and_then(|version| Object::parse(&version.value).ok());
            self.index.behind(parts.workspace, parts.name, now.as_ref().map(offered).as_deref())
        } else if is(SCHEMAS) {
            self.index.waiting_for(parts.workspace)
        } else if is(CONVERSIONS) {
            let now = seen.now.as_ref().and_then(|version| Object::parse(&version.value).ok());
            // Rules that were taken back stay with those who had them.
            now.map_or_else(Vec::new, |now| {
                self.index.not_converted_by(parts.workspace, Converted::by(Some(&now)).hash())
            })
        } else if is(DEFINITIONS) || parts.identity.is_some() {
            self.index.unsettled_in(parts.workspace, None)
        } else {
            Vec::new()
        }
    }
}

impl Concerned {
    fn of_binding(&mut self, seen: &Seen, parts: Parts<'_>) -> Vec<BindingKey> {
        let key = BindingKey { workspace: Workspace::new(parts.workspace), name: parts.name.to_owned() };
        let Some(version) = &seen.now else {
            self.index.forget(&key);
            return self.index.unsettled_in(parts.workspace, None);
        };
        let due = self.index.learn(&key, Peek::new(version));
        let mut keys = self.index.unsettled_in(parts.workspace, Some(&key));
        keys.extend(due.then_some(key));
        keys
    }
}

#[derive(Debug)]
pub struct Bindings {
    client: Client,
}

/// What a look at the objects of a binding that goes shows.
#[derive(Debug, Default)]
struct Left {
    doomed: Vec<ObjectRef>,
    /// `cowboys.wild.west default/john`, and who holds it.
    held: BTreeMap<String, String>,
}

impl Reconciler for Bindings {
    type Key = BindingKey;

    fn name(&self) -> &'static str {
        "bindings"
    }

    async fn reconcile(&self, key: &BindingKey) -> Result<Action, ApiError> {
        let at = self.client.at(BINDINGS, &key.workspace, None)?.object(&key.name);
        let Some(binding) = self.client.get(&at).await? else { return Ok(Action::Done) };
        if !binding.is_deleting() {
            // Whoever writes a binding looks at what it refers to, and writes nothing if that is as it was.
            return match self.client.merge(&at, Part::Main, &json!({})).await {
                Ok(binding) => self.migrate(&key.workspace, &binding).await,
                Err(error) if error.code() == 404 => Ok(Action::Done),
                Err(error) => Err(error),
            };
        }
        if !binding.finalizers().any(|name| name == HELD_BY_OBJECTS) {
            return Ok(Action::Done);
        }
        let left = self.left(&key.workspace, &binding)?;
        if !left.doomed.is_empty() {
            return self.delete(&left.doomed).await;
        }
        if !left.held.is_empty() {
            self.explain(&at, &binding, &left).await?;
            return Ok(Action::After(WAIT));
        }
        let others: Vec<&str> = binding.finalizers().filter(|name| *name != HELD_BY_OBJECTS).collect();
        let version = binding.resource_version();
        self.write(&at, Part::Main, json!({ "metadata": { "finalizers": others, "resourceVersion": version } })).await
    }
}

impl Bindings {
    /// The objects of what a binding bound.
    fn left(&self, workspace: &Workspace, binding: &Object) -> Result<Left, ApiError> {
        let (catalog, mut left) = (self.client.catalog(workspace)?, Left::default());
        for bound in binding.items(&["status", "boundResources"]) {
            let word = |at: &str| bound.pointer(at).and_then(Value::as_str).unwrap_or_default();
            let Some(resource) = catalog.stored_as(word("/group"), word("/resource")) else { continue };
            if resource.stored.identity.as_deref() != Some(word("/schema/identityHash")) {
                continue;
            }
            let place = Collection { resource: resource.clone(), workspace: workspace.clone(), namespace: None };
            for entry in self.client.scan(&place)? {
                let entry = entry?;
                let Some(at) = self.client.place_of(&entry.key) else { continue };
                let object = Peek::new(&entry.version);
                if object.text(&["metadata", "deletionTimestamp"]).is_none() {
                    left.doomed.push(at);
                } else if left.held.len() < NAMED_MAX {
                    let holders: Vec<String> = object.value(&["metadata", "finalizers"]).unwrap_or_default();
                    let namespace = at.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
                    let name = format!("{} {namespace}{}", at.resource().qualified(), at.name);
                    left.held.insert(name, holders.join(", "));
                }
                if left.doomed.len() == DOOMED_MAX {
                    return Ok(left);
                }
            }
        }
        Ok(left)
    }

    /// Once everything is stored in one version, it may follow to where it could not before.
    async fn migrate(&self, workspace: &Workspace, binding: &Object) -> Result<Action, ApiError> {
        match migration::migrate(&self.client, workspace, binding).await? {
            Progress::Nothing => Ok(Action::Done),
            Progress::Some => Ok(Action::After(Duration::ZERO)),
        }
    }

    async fn delete(&self, doomed: &[ObjectRef]) -> Result<Action, ApiError> {
        let how = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        for at in doomed {
            match self.client.delete(at, &how).await {
                Err(error) if error.code() != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(Action::After(Duration::ZERO))
    }

    /// Says on a binding what keeps it.
    async fn explain(&self, at: &ObjectRef, binding: &Object, left: &Left) -> Result<(), ApiError> {
        const CONDITION: &str = "BindingResourceDeleteSuccess";
        let named: Vec<String> = left.held.iter().map(|(name, holders)| format!("{name} ({holders})")).collect();
        let message = format!("Some objects are held by finalizers: {}", named.join("; "));
        let conditions = || binding.items(&["status", "conditions"]);
        if conditions().any(|found| found["type"] == CONDITION && found["message"] == message.as_str()) {
            return Ok(());
        }
        let mut all: Vec<Value> = conditions().filter(|found| found["type"] != CONDITION).cloned().collect();
        all.push(json!({
            "type": CONDITION, "status": "False", "severity": "Error", "reason": "SomeFinalizersRemain",
            "message": message, "lastTransitionTime": timestamp(self.client.ambient().now()),
        }));
        self.write(at, Part::Status, json!({ "status": { "conditions": all } })).await.map(drop)
    }

    async fn write(&self, at: &ObjectRef, part: Part, patch: Value) -> Result<Action, ApiError> {
        match self.client.merge(at, part, &patch).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}
