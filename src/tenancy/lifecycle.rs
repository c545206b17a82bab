//! Workspaces that somebody else makes ready, or tidies up before they go: who that is says their type. Whoever it is sees
//! them through a window, `/services/initializingworkspaces/<type>/clusters/<workspace or *>/...`, does there what it
//! has to, and takes its own name off the list. When the list is empty, so is the wait.

use super::conditions::{Conditions, State};
use super::path;
use super::projects::{self, PROJECTS};
use super::rest;
use super::types::{TypeRef, waited_for};
use super::words::{ITSELF, LOGICAL_CLUSTERS, PATH, PHASE_LABEL, TYPES, WORKSPACES, branded, collection};
use apiserver::allocate::Beside;
use apiserver::attend::Attending;
use apiserver::catalog::{Catalog, ResourceDef};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek, timestamp};
use apiserver::place::{ObjectRef, Workspace};
use apiserver::strategy::Part;
use apiserver::target::{Target, Verb};
use apiserver::view::{Seeing, View};
use apiserver::window::{Called, Pane, Window};
use bytes::Bytes;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::sync::Arc;
use storage::Key;

/// That a type says where workspaces are seen that wait for it.
const URLS_READY: &str = "VirtualWorkspaceURLsReady";

/// The beginning or the end of a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Initializing,
    Terminating,
}

impl Stage {
    /// What the list of those is called who have something to do.
    fn list(self) -> &'static str {
        match self {
            Self::Initializing => "initializers",
            Self::Terminating => "terminators",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Initializing => "initialize",
            Self::Terminating => "terminate",
        }
    }

    fn phase(self) -> &'static str {
        match self {
            Self::Initializing => "Initializing",
            Self::Terminating => "Terminating",
        }
    }
}

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address<'a> {
    stage: Stage,
    of: TypeRef,
    onto: &'a str,
    pub(super) rest: &'a str,
}

/// Reads a path; nothing if it leads to no such window.
pub(super) fn read(url: &str) -> Option<Address<'_>> {
    let below = url.strip_prefix("/services/")?;
    let (stage, below) = if let Some(below) = below.strip_prefix("initializingworkspaces/") {
        (Stage::Initializing, below)
    } else {
        (Stage::Terminating, below.strip_prefix("terminatingworkspaces/")?)
    };
    let (of, rest) = below.split_once('/')?;
    let rest = rest.strip_prefix("clusters/")?;
    let (onto, rest) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    Some(Address { stage, of: TypeRef::parse(of)?, onto: path::onto(onto), rest })
}

/// The window at an address.
pub(super) fn open(client: &Client, address: &Address<'_>, find: impl Fn(&str) -> Option<Workspace>) -> Option<Window> {
    let home = find(&address.of.path)?;
    client.glance(&client.at(TYPES, &home, None).ok()?.object(&address.of.name)).ok()??;
    let onto = match address.onto {
        "*" => Workspace::everywhere(),
        path => find(path).unwrap_or_else(Workspace::nowhere),
    };
    let waiting =
        Waiting { client: client.clone(), stage: address.stage, who: waited_for(home.as_str(), &address.of.name) };
    let open = !onto.is_everywhere() && waiting.is_for_us(&onto);
    let theirs = if open { client.catalog(&onto).ok() } else { None };
    let catalog = theirs.unwrap_or_else(|| Arc::new(Catalog::of(itself(client))));
    let called = Called {
        group: TYPES.0,
        resource: TYPES.2,
        subresource: "",
        name: address.of.name.clone(),
        verb: Some(address.stage.verb()),
    };
    let pane = Through { waiting, everywhere: onto.is_everywhere(), open };
    Some(Window { home, called, onto, catalog, pane: Arc::new(pane) })
}

fn itself(client: &Client) -> Option<Arc<ResourceDef>> {
    let (group, version, plural) = LOGICAL_CLUSTERS;
    client.builtin().find(group, version, plural).cloned()
}

/// Workspaces that wait for somebody.
#[derive(Clone, Debug)]
struct Waiting {
    client: Client,
    stage: Stage,
    /// The id of the workspace that a type is in, and the name of the type.
    who: String,
}

impl Waiting {
    fn is_for_us(&self, workspace: &Workspace) -> bool {
        let place = self.client.at(LOGICAL_CLUSTERS, workspace, None);
        let found = place.and_then(|place| self.client.glance(&place.object(ITSELF)));
        found.ok().flatten().is_some_and(|itself| self.is_one(&itself))
    }

    fn is_one(&self, logical_cluster: &[u8]) -> bool {
        let itself = Peek::of(logical_cluster);
        let list: Vec<String> = itself.value(&["status", self.stage.list()]).unwrap_or_default();
        itself.text(&["status", "phase"]).as_deref() == Some(self.stage.phase()) && list.contains(&self.who)
    }
}

#[derive(Debug)]
struct Through {
    waiting: Waiting,
    everywhere: bool,
    /// The workspace waits for whoever looks.
    open: bool,
}

impl Pane for Through {
    /// What a workspace says of itself changes in one way only; all else is whoever makes it ready to do.
    fn admits(&self, target: &Target) -> Result<(), ApiError> {
        if self.everywhere {
            return Ok(());
        }
        let refused = |why: &str| Err(ApiError::forbidden_request(LOGICAL_CLUSTERS.0, LOGICAL_CLUSTERS.2, "", why));
        if !self.open {
            return refused("the workspace does not wait for this");
        }
        match target {
            Target::Object { verb: Verb::Get | Verb::Watch, .. } => Ok(()),
            Target::Object { verb: Verb::Update | Verb::Patch, at, subresource }
                if is_itself(at.resource()) && subresource.as_deref() == Some("status") =>
            {
                Ok(())
            }
            Target::Object { at, .. } if is_itself(at.resource()) => refused("only its status may be changed"),
            Target::Objects { verb: Verb::Create | Verb::DeleteCollection, at } if is_itself(&at.resource) => {
                refused("only its status may be changed")
            }
            _ => Ok(()),
        }
    }

    fn view(&self, resource: &ResourceDef) -> Seeing {
        is_itself(resource).then(|| Arc::new(self.waiting.clone()) as Arc<dyn View>)
    }
}

fn is_itself(resource: &ResourceDef) -> bool {
    (&*resource.group, &*resource.plural) == (LOGICAL_CLUSTERS.0, LOGICAL_CLUSTERS.2)
}

impl View for Waiting {
    fn sees(&self, _: &Key, value: &[u8]) -> bool {
        self.is_one(value)
    }

    fn shown(&self, key: &Key, value: &Bytes) -> Bytes {
        branded(key, value)
    }

    fn require(&self, object: &mut Object, old: Option<&Object>) -> Result<(), ApiError> {
        let Some(old) = old else { return Ok(()) };
        if only_takes_off(object, old, self.stage.list(), &self.who) {
            return Ok(());
        }
        let why = format!("only {:?} may be removed from status.{}", self.who, self.stage.list());
        Err(ApiError::forbidden_request(LOGICAL_CLUSTERS.0, LOGICAL_CLUSTERS.2, ITSELF, &why))
    }
}

/// Whether nothing in the status of an object is different but that a list lacks a name, or may.
fn only_takes_off(new: &Object, old: &Object, list: &str, who: &str) -> bool {
    let status = |object: &Object| object.pointer(&["status"]).cloned().unwrap_or_default();
    let (mut new, mut old) = (status(new), status(old));
    let names = |status: &mut Value| -> Vec<Value> {
        let list = status.as_object_mut().and_then(|status| status.remove(list));
        list.and_then(|list| list.as_array().cloned()).unwrap_or_default()
    };
    let (after, before) = (names(&mut new), names(&mut old));
    let without: Vec<Value> = before.iter().filter(|name| *name != who).cloned().collect();
    new == old && (after == before || after == without)
}

/// Moves a workspace on when nobody has anything to do with it any more.
pub(super) fn attend(object: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
    if let Some(old) = write.old.filter(|_| write.part == Part::Main) {
        return rest::attend(object, old, write).map(|()| Vec::new());
    }
    let Some(old) = write.old.filter(|_| write.part == Part::Status) else { return Ok(Vec::new()) };
    if !write.user.is_master() && !write.through_window {
        let why = "its status is written by the server";
        return Err(ApiError::forbidden(&write.at.resource, object.name(), why));
    }
    let list = |object: &Object| object.items(&["status", "initializers"]).cloned().collect::<Vec<_>>();
    if object.text(&["status", "phase"]) != Stage::Initializing.phase() || list(object) == list(old) {
        return Ok(Vec::new());
    }
    let left = list(object);
    let now = timestamp(write.ambient.now());
    let (Some((at, mut workspace)), project) = owners(object, write)? else { return Ok(Vec::new()) };
    for told in [object, &mut workspace] {
        say(told, &left, now.clone());
    }
    let mut beside = vec![Beside::Replace(Box::new(at), workspace)];
    if let Some((at, mut project)) = project {
        match &*left {
            [] => projects::ready(&mut project, &now),
            left => projects::provisioning(&mut project, left, &now),
        }
        beside.push(Beside::Replace(Box::new(at), project));
    }
    Ok(beside)
}

type Found = Option<(ObjectRef, Object)>;

/// The workspace that an object is behind, and the project that the workspace stands for, if it does for one.
fn owners(itself: &Object, write: &Attending<'_>) -> Result<(Found, Found), ApiError> {
    let said = |field: &str| itself.text(&["spec", "owner", field]);
    if said("name").is_empty() {
        return Ok((None, None));
    }
    let find = |resource: (&str, &str, &str)| -> Result<Found, ApiError> {
        let at = collection(write.around, resource, &Workspace::new(said("cluster")))?.object(said("name"));
        Ok(write.around.object(&at)?.map(|found| (at, found)))
    };
    let is_owner = |(_, found): &(ObjectRef, Object)| found.uid() == said("uid");
    if said("resource") != PROJECTS.2 {
        return Ok((find(WORKSPACES)?.filter(is_owner), None));
    }
    let is_ours = |(_, found): &(ObjectRef, Object)| found.text(&["spec", "cluster"]) == write.at.workspace.as_str();
    Ok((find(WORKSPACES)?.filter(is_ours), find(PROJECTS)?.filter(is_owner)))
}

/// Says who is waited for, or that nobody is.
fn say(object: &mut Object, left: &[Value], now: Value) {
    let ready = left.is_empty();
    let mut conditions: Vec<Value> = object.items(&["status", "conditions"]).cloned().collect();
    let mut new = json!({ "type": "WorkspaceInitialized", "status": if ready { "True" } else { "False" } });
    if !ready {
        new["severity"] = json!("Info");
        new["reason"] = json!("InitializerExists");
        new["message"] = json!(format!("Initializers still exist: {}", Value::Array(left.to_vec())));
    }
    new["lastTransitionTime"] = now;
    conditions.retain(|found| found["type"] != "WorkspaceInitialized");
    conditions.insert(0, new);
    let Some(Value::Object(status)) = object.map_mut().get_mut("status") else { return };
    status.insert("conditions".to_owned(), Value::Array(conditions));
    if !ready {
        status.insert("initializers".to_owned(), Value::Array(left.to_vec()));
        return;
    }
    status.remove("initializers");
    status.insert("phase".to_owned(), json!("Ready"));
    let mut labels = object.labels().cloned().unwrap_or_default();
    labels.insert(PHASE_LABEL.to_owned(), json!("Ready"));
    object.set_metadata("labels", labels);
}

/// Says on a type where workspaces that wait for it are seen, and in which workspace it is.
pub(super) fn attend_type(object: &mut Object, (home, path): (&Workspace, &str), url: &str, now: Instant) {
    let of = waited_for(home.as_str(), object.name());
    let seen = |stage: &str| json!({ "url": format!("{url}/services/{stage}workspaces/{of}"), "type": stage });
    let mut conditions = Conditions::read(object.items(&["status", "conditions"]));
    conditions.set(URLS_READY, &State::True, now);
    conditions.summarize(URLS_READY, now);
    let seen = ["initializing", "terminating"].map(seen);
    let status = json!({ "conditions": conditions.into_value(), "virtualWorkspaces": seen });
    object.map_mut().insert("status".to_owned(), status);
    object.set_annotation(PATH, path);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_for_whom_workspaces_wait() {
        let found = read("/services/initializingworkspaces/root:acme:special/clusters/*/apis").unwrap();
        assert_eq!((found.stage, &*found.of.path, &*found.of.name), (Stage::Initializing, "root:acme", "special"));
        assert_eq!((found.onto, found.rest), ("*", "/apis"));
        assert_eq!(read("/services/terminatingworkspaces/root:t/clusters/c").unwrap().stage, Stage::Terminating);
        for odd in ["/services/initializingworkspaces/root:t", "/services/initializingworkspaces/t/clusters/c", "/"] {
            assert_eq!(read(odd), None, "{odd}");
        }
    }

    #[test]
    fn nobody_changes_more_than_their_own_place_in_the_list() {
        let object = |status: Value| Object::try_from(json!({ "status": status })).unwrap();
        let old = object(json!({ "phase": "Initializing", "initializers": ["a", "b"] }));
        let check = |new: Value, expected: bool| {
            assert_eq!(only_takes_off(&object(new.clone()), &old, "initializers", "a"), expected, "{new}");
        };
        check(json!({ "phase": "Initializing", "initializers": ["b"] }), true);
        check(json!({ "phase": "Initializing", "initializers": ["a", "b"] }), true);
        check(json!({ "phase": "Initializing", "initializers": ["a"] }), false);
        check(json!({ "phase": "Initializing" }), false);
        check(json!({ "phase": "Ready", "initializers": ["b"] }), false);
        check(json!({ "phase": "Initializing", "initializers": ["b"], "URL": "https://evil" }), false);
    }
}
