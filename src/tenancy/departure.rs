//! A workspace that is to go is emptied: what nobody holds goes at once and by the hundred, what finalizers hold is told
//! to go and waited for, and who holds what is said on the workspace. Roles and definitions stay until the rest is gone:
//! the one so that whoever has to tidy up still may, the other so that what they define can be found.

use super::words::{HELD_BY_CLUSTER, HELD_BY_CONTENT, LOGICAL_CLUSTERS, PHASE_LABEL, WORKSPACES, itself};
use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::catalog::ResourceDef;
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek, timestamp};
use apiserver::options::{DeleteOptions, Propagation};
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use storage::{Entry, ReadError};

/// Entries that are taken away in one transaction: as many as any store takes, less a few.
const ERASED_AT_ONCE: usize = 100;

/// Objects that are looked at in one go. There may be more; they are looked at when these are dealt with.
const SEEN_AT_ONCE: usize = 2_000;

/// Objects that are named when a workspace cannot go.
const NAMED_MAX: usize = 10;

/// Letters of what a workspace says that is told of it in another one: they are in each other to any depth.
const BECAUSE_MAX: usize = 1_000;

/// How soon a workspace that waits for somebody else is looked at again although nothing changed in it.
const WAIT: Duration = Duration::from_secs(30);

/// Workspaces that are emptied at once: enough to fill a commit.
const EMPTIED_AT_ONCE: usize = 32;

/// Where a workspace is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkspaceKey {
    pub(super) parent: Workspace,
    pub(super) name: String,
}

pub fn controller(client: &Client) -> Controller<Departure> {
    let source = Going { client: client.clone(), behind: HashMap::new() };
    Controller::new(Departure { client: client.clone() }).source(source).workers(EMPTIED_AT_ONCE)
}

/// The workspaces that are to go, by the ids of what is behind them: a change of anything in there needs a look.
struct Going {
    client: Client,
    behind: HashMap<String, WorkspaceKey>,
}

impl Source for Going {
    type Key = WorkspaceKey;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        self.behind.clear();
        self.client.follow_all()
    }

    fn keys(&mut self, seen: &Seen) -> Vec<WorkspaceKey> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        let mut keys: Vec<WorkspaceKey> = self.behind.get(parts.workspace).cloned().into_iter().collect();
        if (parts.group, parts.resource) == (WORKSPACES.0, WORKSPACES.2) {
            let key = WorkspaceKey { parent: Workspace::new(parts.workspace), name: parts.name.to_owned() };
            self.note(&key, seen);
            keys.push(key);
        }
        keys
    }
}

impl Going {
    fn note(&mut self, key: &WorkspaceKey, seen: &Seen) {
        let Some(version) = seen.now.as_ref().or(seen.before.as_ref()) else { return };
        let Some(id) = Peek::new(version).text(&["spec", "cluster"]) else { return };
        let going = |version| Peek::new(version).text(&["metadata", "deletionTimestamp"]).is_some();
        if seen.now.as_ref().is_some_and(going) {
            self.behind.insert(id.into_owned(), key.clone());
        } else {
            self.behind.remove(&*id);
        }
    }
}

#[derive(Debug)]
pub struct Departure {
    client: Client,
}

/// Whether somebody wants to tidy up before a workspace is emptied.
#[derive(Debug, PartialEq, Eq)]
enum Waits {
    ForOthers,
    ForNobody,
}

/// What a look at a workspace that is to go shows.
#[derive(Debug, Default)]
struct Content {
    /// Nobody holds these.
    free: Vec<Entry>,
    /// Somebody does: what, where, and who.
    held: Vec<Held>,
    /// There may be more.
    cut_short: bool,
}

#[derive(Debug)]
struct Held {
    at: ObjectRef,
    going: bool,
    finalizers: Vec<String>,
    /// What it says itself of what is in its way: a workspace in the workspace is emptied like this one.
    because: Option<String>,
}

impl Reconciler for Departure {
    type Key = WorkspaceKey;

    fn name(&self) -> &'static str {
        "workspaces"
    }

    async fn reconcile(&self, key: &WorkspaceKey) -> Result<Action, ApiError> {
        let at = self.client.at(WORKSPACES, &key.parent, None)?.object(&key.name);
        let held = |found: &Object| found.is_deleting() && found.finalizers().any(|name| name == HELD_BY_CLUSTER);
        let Some(workspace) = self.client.get(&at).await?.filter(held) else { return Ok(Action::Done) };
        let id = Workspace::new(workspace.text(&["spec", "cluster"]));
        if self.announce(&id).await? == Waits::ForOthers {
            return Ok(Action::After(WAIT));
        }
        let content = self.content(&id)?;
        if !content.free.is_empty() {
            for batch in content.free.chunks(ERASED_AT_ONCE) {
                self.client.erase(batch).await?;
            }
            return Ok(Action::After(Duration::ZERO));
        }
        self.tell_to_go(&content.held).await?;
        if content.held.is_empty() {
            self.let_go(&id).await?;
            self.release(&at, &workspace, HELD_BY_CLUSTER).await?;
            return Ok(Action::Done);
        }
        self.explain(&at, &workspace, &content).await?;
        Ok(Action::After(WAIT))
    }
}

impl Departure {
    /// The workspace itself says that it goes.
    async fn announce(&self, id: &Workspace) -> Result<Waits, ApiError> {
        let at = itself(&self.client, id)?;
        let Some(found) = self.client.get(&at).await? else { return Ok(Waits::ForNobody) };
        let waits = match found.items(&["status", "terminators"]).next() {
            Some(_) => Waits::ForOthers,
            None => Waits::ForNobody,
        };
        let phase = if waits == Waits::ForOthers { "Terminating" } else { "Deleting" };
        if found.text(&["status", "phase"]) != phase {
            self.client.merge(&at, Part::Status, &json!({ "status": { "phase": phase } })).await?;
        }
        if !found.is_deleting() {
            self.client.delete(&at, &DeleteOptions::default()).await?;
        }
        Ok(waits)
    }

    fn content(&self, id: &Workspace) -> Result<Content, ApiError> {
        let mut content = Content::default();
        let catalog = self.client.catalog(id)?;
        for turn in Turn::ALL {
            for resource in catalog.stored().filter(|resource| Turn::of(resource) == turn && !is_itself(resource)) {
                let place = Collection { resource: resource.clone(), workspace: id.clone(), namespace: None };
                self.look(&place, &mut content)?;
            }
            if content.cut_short || !content.free.is_empty() || !content.held.is_empty() {
                break;
            }
        }
        Ok(content)
    }

    fn look(&self, place: &Collection, content: &mut Content) -> Result<(), ApiError> {
        for entry in self.client.scan(place)? {
            if content.free.len() + content.held.len() >= SEEN_AT_ONCE {
                content.cut_short = true;
                return Ok(());
            }
            let entry = entry?;
            match held(&entry, place) {
                Some(held) => content.held.push(held),
                None => content.free.push(entry),
            }
        }
        Ok(())
    }

    async fn tell_to_go(&self, held: &[Held]) -> Result<(), ApiError> {
        let how = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        for Held { at, .. } in held.iter().filter(|held| !held.going) {
            match self.client.delete(at, &how).await {
                Err(error) if error.code() != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Nothing is left but what the workspace says of itself, and what is kept of it besides objects.
    async fn let_go(&self, id: &Workspace) -> Result<(), ApiError> {
        for scan in self.client.scan_internals(id)? {
            let entries = scan.collect::<Result<Vec<Entry>, ReadError>>()?;
            for batch in entries.chunks(ERASED_AT_ONCE) {
                self.client.erase(batch).await?;
            }
        }
        let at = itself(&self.client, id)?;
        match self.client.get(&at).await? {
            Some(found) => self.release(&at, &found, HELD_BY_CONTENT).await,
            None => Ok(()),
        }
    }

    async fn release(&self, at: &ObjectRef, object: &Object, finalizer: &str) -> Result<(), ApiError> {
        let others: Vec<&str> = object.finalizers().filter(|name| *name != finalizer).collect();
        let version = object.resource_version();
        let patch = json!({ "metadata": { "finalizers": others, "resourceVersion": version } });
        self.client.merge(at, Part::Main, &patch).await.map(drop)
    }

    async fn explain(&self, at: &ObjectRef, workspace: &Object, content: &Content) -> Result<(), ApiError> {
        let message = describe(content);
        let same = |found: &&Value| found["type"] == CONTENT_DELETED && found["message"] == message.as_str();
        if workspace.items(&["status", "conditions"]).any(|found| same(&found)) {
            return Ok(());
        }
        let others = workspace.items(&["status", "conditions"]).filter(|found| found["type"] != CONTENT_DELETED);
        let mut conditions: Vec<Value> = others.cloned().collect();
        conditions.push(json!({
            "type": CONTENT_DELETED, "status": "False", "severity": "Info", "reason": "SomeFinalizersRemain",
            "message": message, "lastTransitionTime": timestamp(self.client.ambient().now()),
        }));
        let status = json!({ "status": { "phase": "Deleting", "conditions": conditions } });
        self.client.merge(at, Part::Status, &status).await?;
        let label = json!({ "metadata": { "labels": { PHASE_LABEL: "Deleting" } } });
        self.client.merge(at, Part::Main, &label).await.map(drop)
    }
}

/// The condition that says who holds what.
pub(super) const CONTENT_DELETED: &str = "WorkspaceContentDeleted";

/// Which objects are in the way, and who holds them.
fn describe(content: &Content) -> String {
    let named = content.held.iter().take(NAMED_MAX).map(|held| {
        let place = held.at.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let (what, name) = (held.at.resource().qualified(), &held.at.name);
        let because = held.because.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("{what} {place}{name} ({}{because})", held.finalizers.join(", "))
    });
    let mut message = format!("Some objects are held by finalizers: {}", named.collect::<Vec<_>>().join("; "));
    let more = content.held.len().saturating_sub(NAMED_MAX);
    if more > 0 || content.cut_short {
        message.push_str(&format!("; and {more} more"));
    }
    message
}

/// What an object is held by. Namespaces are not held by what is in them: that goes, too.
fn held(entry: &Entry, place: &Collection) -> Option<Held> {
    let metadata = Peek::new(&entry.version).metadata()?;
    let finalizers = metadata.get("finalizers")?.as_array()?;
    let finalizers: Vec<String> = finalizers.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    if finalizers.is_empty() {
        return None;
    }
    let parts = keyspace::parse(&entry.key)?;
    let namespace = parts.namespace.map(str::to_owned);
    let at = Collection { namespace, ..place.clone() }.object(parts.name);
    let because = (&*place.resource.group, &*place.resource.plural) == (WORKSPACES.0, WORKSPACES.2);
    let because = because.then(|| in_its_way(Peek::new(&entry.version))).flatten();
    Some(Held { at, going: metadata.contains_key("deletionTimestamp"), finalizers, because })
}

/// What a workspace says that is to go and cannot, as far as there is room for it.
fn in_its_way(workspace: Peek<'_>) -> Option<String> {
    let conditions: Vec<Value> = workspace.value(&["status", "conditions"])?;
    let said = conditions.iter().find(|found| found["type"] == CONTENT_DELETED && found["status"] == "False")?;
    Some(said["message"].as_str()?.chars().take(BECAUSE_MAX).collect())
}

fn is_itself(resource: &Arc<ResourceDef>) -> bool {
    (&*resource.group, &*resource.plural) == (LOGICAL_CLUSTERS.0, LOGICAL_CLUSTERS.2)
}

/// When things go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    First,
    /// Roles, definitions and bindings.
    Second,
    /// What is written down of objects in cells: it says what is still to be taken back from there.
    Last,
}

impl Turn {
    const ALL: [Self; 3] = [Self::First, Self::Second, Self::Last];

    fn of(resource: &ResourceDef) -> Self {
        match (&*resource.group, &*resource.plural) {
            ("rbac.authorization.k8s.io" | "apiextensions.k8s.io", _) => Self::Second,
            ("federation.hanse.dev", "placements" | "copies") => Self::Last,
            _ if resource.traits.defines => Self::Second,
            _ => Self::First,
        }
    }
}
