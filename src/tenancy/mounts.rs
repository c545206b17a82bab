//! Mounts: workspaces with nothing behind them but a way to somewhere else. `spec.mount.ref` names an object beside the
//! workspace, of whatever kind, whose `status.URL` says where the way leads, and whose `status.phase` whether it is open.
//!
//! Requests go on to URLs of this server: another workspace, a window, or a cell through its proxy. There they are as
//! permitted as if they had been sent there; whoever mounts something gives nobody anything. Other servers would be shown
//! who asks without having proven who they are, since a mount says nothing of who vouches for them: those are refused.

use super::conditions::{Conditions, State};
use super::words::{CLUSTER, OWNER, WORKSPACES, itself};
use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::api::Mounted;
use apiserver::attend::Attending;
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use storage::ReadError;

const READY: &str = "WorkspaceMountReady";

/// Whether a workspace is mounted, and so has nothing behind it.
pub(super) fn is_mounted(workspace: &Object) -> bool {
    workspace.pointer(&["spec", "mount", "ref"]).is_some()
}

/// Completes a new workspace that is mounted. What its mount says is found out by the controller.
pub(super) fn attend(object: &mut Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let set = |field: &str| !object.text(&["spec", field]).is_empty();
    if set("cluster") || set("URL") {
        let why = "spec.cluster and spec.URL are set by the server";
        return Err(ApiError::forbidden(&write.at.resource, object.name(), why));
    }
    object.spec_mut().entry("type").or_insert_with(|| json!({ "name": "universal", "path": "root" }));
    let owner = json!({ "username": write.user.name, "groups": write.user.groups });
    object.set_annotation(OWNER, &owner.to_string());
    object.set_annotation(CLUSTER, write.at.workspace.as_str());
    object.map_mut().insert("status".to_owned(), json!({ "phase": "Scheduling" }));
    Ok(())
}

/// What a mount says: where it leads, or why it leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Says {
    url: String,
    state: State,
}

/// What the object that a workspace refers to says of the way. Pure.
fn judge(reference: &Reference, found: Option<&[u8]>) -> Says {
    let Some(found) = found.map(Peek::of) else {
        let message = format!("{} {:?} not found", reference.kind, reference.named());
        return Says { url: String::new(), state: State::error("MountObjectNotFound", message) };
    };
    let word = |field: &str| found.text(&["status", field]).unwrap_or_default().into_owned();
    if word("phase") == "Ready" && !word("URL").is_empty() {
        return Says { url: word("URL"), state: State::True };
    }
    let told = format!("See {} {:?} status for more details", reference.kind, reference.name);
    let state = State::error("MountObjectNotReady", format!("Mount is not reporting ready. {told}"));
    Says { url: word("URL"), state }
}

/// What a workspace refers to, beside it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Reference {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
}

impl Reference {
    fn read(workspace: &[u8]) -> Option<Self> {
        let said: Value = Peek::of(workspace).value(&["spec", "mount", "ref"])?;
        let word = |field: &str| said[field].as_str().unwrap_or_default().to_owned();
        Some(Self {
            api_version: word("apiVersion"),
            kind: word("kind"),
            namespace: word("namespace"),
            name: word("name"),
        })
    }

    fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    fn named(&self) -> String {
        if self.namespace.is_empty() { self.name.clone() } else { format!("{}/{}", self.namespace, self.name) }
    }

    fn says(&self, client: &Client, beside: &Workspace) -> Result<Says, ApiError> {
        let catalog = client.catalog(beside)?;
        let Some(resource) = catalog.of_kind(&self.api_version, &self.kind) else { return Ok(judge(self, None)) };
        let namespace = resource.namespaced.then(|| self.namespace.clone());
        let place = Collection { resource: resource.clone(), workspace: beside.clone(), namespace };
        Ok(judge(self, client.glance(&place.object(&self.name))?.as_deref()))
    }
}

/// What is mounted at a path, if something is.
pub(super) fn at(client: &Client, path: &str, find: impl Fn(&str) -> Option<Workspace>) -> Option<Mounted> {
    let (parent, name) = path.rsplit_once(':')?;
    let home = find(parent)?;
    let workspace = client.glance(&client.at(WORKSPACES, &home, None).ok()?.object(name)).ok()??;
    let reference = Reference::read(&workspace)?;
    let leads = reference.says(client, &home).and_then(|says| match says.state {
        State::True => here(client, &says.url).ok_or_else(|| {
            ApiError::unavailable(format!("the workspace is mounted from {}, which is not of this server", says.url))
        }),
        State::False { message, .. } => Err(ApiError::unavailable(message)),
    });
    Some(Mounted { home, leads })
}

/// The path of a URL of this server.
fn here(client: &Client, url: &str) -> Option<String> {
    let root = client.glance(&itself(client, &Workspace::new(super::ROOT)).ok()?).ok()??;
    let root = Peek::of(&root).text(&["status", "URL"])?.into_owned();
    let path = url.strip_prefix(root.strip_suffix("/clusters/root")?)?;
    path.starts_with('/').then(|| path.trim_end_matches('/').to_owned())
}

/// Says on mounted workspaces what their mounts say.
#[derive(Debug)]
pub struct Mounts {
    client: Client,
}

pub fn controller(client: &Client) -> Controller<Mounts> {
    let source = Concerned { client: client.clone(), index: HashMap::new(), beside: HashMap::new() };
    Controller::new(Mounts { client: client.clone() }).source(source)
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MountKey {
    workspace: Workspace,
    name: String,
}

/// Where objects are that mounts refer to, but for their plural: which one a kind has may change.
type Place = (Workspace, String, String, String);

struct Concerned {
    client: Client,
    index: HashMap<MountKey, Place>,
    beside: HashMap<Place, HashSet<MountKey>>,
}

impl Source for Concerned {
    type Key = MountKey;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        (self.index, self.beside) = Default::default();
        self.client.follow_all()
    }

    fn keys(&mut self, seen: &Seen) -> Vec<MountKey> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        let workspace = Workspace::new(parts.workspace);
        if (parts.group, parts.resource) != (WORKSPACES.0, WORKSPACES.2) {
            if self.beside.is_empty() {
                return Vec::new();
            }
            let namespace = parts.namespace.unwrap_or_default();
            let place = (workspace, parts.group.to_owned(), namespace.to_owned(), parts.name.to_owned());
            return self.beside.get(&place).into_iter().flatten().cloned().collect();
        }
        let key = MountKey { workspace: workspace.clone(), name: parts.name.to_owned() };
        if let Some(place) = self.index.remove(&key)
            && let Some(all) = self.beside.get_mut(&place)
        {
            all.remove(&key);
            if all.is_empty() {
                self.beside.remove(&place);
            }
        }
        let Some(reference) = seen.now.as_ref().and_then(|version| Reference::read(&version.value)) else {
            return Vec::new();
        };
        let place = (workspace, reference.group().to_owned(), reference.namespace.clone(), reference.name.clone());
        self.index.insert(key.clone(), place.clone());
        self.beside.entry(place).or_default().insert(key.clone());
        vec![key]
    }
}

impl Reconciler for Mounts {
    type Key = MountKey;

    fn name(&self) -> &'static str {
        "mounts"
    }

    async fn reconcile(&self, key: &MountKey) -> Result<Action, ApiError> {
        let at = self.client.at(WORKSPACES, &key.workspace, None)?.object(&key.name);
        let Some(workspace) = self.client.get(&at).await? else { return Ok(Action::Done) };
        let bytes = Value::from(workspace.clone()).to_string();
        let Some(reference) = Reference::read(bytes.as_bytes()).filter(|_| !workspace.is_deleting()) else {
            return Ok(Action::Done);
        };
        let says = reference.says(&self.client, &key.workspace)?;
        self.record(&at, &workspace, &says).await
    }
}

impl Mounts {
    /// Writes down what is not said yet.
    async fn record(&self, at: &ObjectRef, workspace: &Object, says: &Says) -> Result<Action, ApiError> {
        if !says.url.is_empty() && workspace.text(&["spec", "URL"]) != says.url {
            self.client.merge(at, Part::Main, &json!({ "spec": { "URL": says.url } })).await?;
        }
        let before = workspace.pointer(&["status"]).cloned().unwrap_or_default();
        let now = self.client.ambient().now();
        let mut conditions = Conditions::read(workspace.items(&["status", "conditions"]));
        conditions.set(READY, &says.state, now);
        let phase = match (&says.state, workspace.text(&["status", "phase"])) {
            (State::True, _) => "Ready",
            (_, "Ready" | "Unavailable") => "Unavailable",
            _ => "Scheduling",
        };
        let status = json!({ "phase": phase, "conditions": conditions.into_value() });
        if before["phase"] != status["phase"] || before["conditions"] != status["conditions"] {
            self.client.merge(at, Part::Status, &json!({ "status": status })).await?;
        }
        Ok(Action::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_leads_somewhere_when_it_is_ready_and_says_where() {
        let reference = Reference { kind: "KubeCluster".to_owned(), name: "m".to_owned(), ..Reference::default() };
        let check = |found: Option<Value>, url: &str, expected: &str| {
            let says = judge(&reference, found.map(|found| found.to_string()).as_ref().map(|text| text.as_bytes()));
            let reason = match &says.state {
                State::True => "",
                State::False { reason, .. } => reason,
            };
            assert_eq!((&*says.url, reason), (url, expected));
        };
        let status = |phase: &str| Some(json!({ "status": { "phase": phase, "URL": "https://h/x" } }));
        check(status("Ready"), "https://h/x", "");
        check(status("Connecting"), "https://h/x", "MountObjectNotReady");
        check(Some(json!({ "status": { "phase": "Ready" } })), "", "MountObjectNotReady");
        check(Some(json!({})), "", "MountObjectNotReady");
        check(None, "", "MountObjectNotFound");
    }
}
