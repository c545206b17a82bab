//! A new workspace: what its author left out is filled in, and what is behind it is made in the same transaction.

use super::identity;
use super::path;
use super::projects::{self, ORGANIZATIONS, PROJECTS};
use super::reach::{self, CELLS};
use super::types::{Resolved, TypeRef, Types};
use super::words::{
    CLUSTER, HELD_BY_CLUSTER, HELD_BY_CONTENT, HOME, ITSELF, LOGICAL_CLUSTERS, OWNER, PATH, PHASE_LABEL,
    REQUIRED_GROUPS, ROOT, SHARD, TYPE, TYPES, USERS, WORKSPACES, collection,
};
use super::{door, homes, lifecycle, mounts, reserved, rest, sharing};
use apiserver::allocate::Beside;
use apiserver::attend::{Allowance, Around, Attendant, Attending, Shared, Visit};
use apiserver::auth::impersonation::Wanted;
use apiserver::auth::{Attributes, Objects, Rules, User};
use apiserver::catalog::ResourceDef;
use apiserver::custom::Elsewhere;
use apiserver::error::ApiError;
use apiserver::object::{Object, timestamp};
use apiserver::place::{Collection, Workspace};
use apiserver::strategy::Part;
use apiserver::target::Target;
use openapi::FieldError;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::sync::Arc;

/// What a workspace is if neither its author nor its parent says.
const UNIVERSAL: &str = "universal";

/// As long as ids of kcp are: short enough for labels, long enough that two are never the same.
const ID_LENGTH: usize = 16;

/// There from the start, as everybody expects.
const NAMESPACES: [&str; 2] = ["default", "kube-system"];

/// Looks after workspaces.
#[derive(Clone, Debug)]
pub struct Tenancy {
    /// `https://host:port`: where this server is found.
    url: String,
    /// What holds in every workspace that does not keep these rules itself.
    rules: Arc<Rules>,
    check: Option<Check>,
}

/// Refuses what must not be written of kinds that came with the server.
type Check = fn(&Object, &Attending<'_>) -> Result<(), ApiError>;

impl Tenancy {
    pub fn new(url: String, rules: Rules) -> Self {
        Self { url, rules: Arc::new(rules), check: None }
    }

    /// Has somebody else look at what is written, who knows more of some kinds.
    #[must_use]
    pub fn checking(self, check: Check) -> Self {
        Self { check: Some(check), ..self }
    }
}

impl Attendant for Tenancy {
    fn attend(&self, object: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
        if let Some(check) = self.check {
            check(object, write)?;
        }
        if write.part == Part::Main && is_kcps(&write.at.resource.group) {
            sharing::brand(object, &write.at.workspace);
        }
        if let Some(attended) = sharing::attend(object, write, &self.url) {
            return attended;
        }
        let resource = &write.at.resource;
        let is = |kind: (&str, &str, &str)| (&*resource.group, &*resource.plural) == (kind.0, kind.2);
        if is(LOGICAL_CLUSTERS) {
            return lifecycle::attend(object, write);
        }
        if is(TYPES) && write.part == Part::Main {
            let itself = Types { around: write.around }.itself(&write.at.workspace)?;
            let path =
                itself.as_ref().and_then(|itself| itself.annotation(PATH)).unwrap_or(write.at.workspace.as_str());
            lifecycle::attend_type(object, (&write.at.workspace, path), &self.url, write.ambient.now());
            return Ok(Vec::new());
        }
        if is(CELLS) && write.part == Part::Main {
            return reach::check(object, write).map(|()| Vec::new());
        }
        if write.part != Part::Main || write.old.is_some() {
            return Ok(Vec::new());
        }
        if is(WORKSPACES) && mounts::is_mounted(object) {
            mounts::attend(object, write).map(|()| Vec::new())
        } else if is(WORKSPACES) {
            let newborn = self.conceive(object, write)?;
            newborn.complete(object);
            newborn.beside(object, write)
        } else if is(PROJECTS) {
            self.attend_project(object, write)
        } else {
            if is(ORGANIZATIONS) {
                projects::ready(object, &timestamp(write.ambient.now()));
            }
            Ok(Vec::new())
        }
    }

    /// The first workspaces keep them as objects, for everybody to see and to change.
    fn rules(&self, workspace: &Workspace) -> Option<Arc<Rules>> {
        (![ROOT, HOME].contains(&workspace.as_str())).then(|| self.rules.clone())
    }

    fn arrived(&self, user: &User, workspace: &Workspace) -> Option<User> {
        identity::arrived(user, workspace)
    }

    fn standing<'a>(&self, user: &'a User, workspace: &Workspace) -> Vec<Cow<'a, User>> {
        identity::standing(user, workspace)
    }

    fn admits(&self, visit: &Visit<'_>) -> Result<bool, ApiError> {
        door::admits(visit)
    }

    fn unmasked(&self, by: &User, wanted: &Wanted, workspace: &Workspace) -> Option<String> {
        identity::unmasked(by, wanted, workspace)
    }

    fn shared(&self, workspace: &Workspace, around: &dyn Around) -> Result<Vec<Shared>, ApiError> {
        sharing::shared(workspace, around)
    }

    fn lender(&self, workspace: &Workspace, around: &dyn Around) -> Result<Option<Workspace>, ApiError> {
        projects::platform(workspace, around)
    }

    fn ceiling(
        &self,
        user: &User,
        from: &Elsewhere,
        around: &dyn Around,
    ) -> Result<Option<(User, Workspace)>, ApiError> {
        sharing::ceiling(user, from, around)
    }

    fn brand(&self, object: &mut Object, workspace: &Workspace) {
        sharing::brand(object, workspace);
    }

    fn answers(&self, workspace: &Workspace, target: &Target, around: &dyn Around) -> Result<(), ApiError> {
        rest::check(workspace, target, around)
    }

    fn foretell(&self, object: &Object, write: &Attending<'_>) -> Result<Vec<String>, ApiError> {
        sharing::foretell(object, write)
    }

    fn keep(&self, object: &mut Object, write: &Attending<'_>) -> Result<Allowance, ApiError> {
        let allowance = rest::keep(object.name(), write)?;
        if !write.user.is_master() {
            reserved::keep(object, write)?;
        }
        Ok(allowance)
    }
}

/// Clients of kcp look on its kinds for the workspace that an object is in.
fn is_kcps(group: &str) -> bool {
    group.ends_with(".kcp.io")
}

/// What is known of a workspace before it is there.
struct Newborn<'a> {
    id: Workspace,
    parent: &'a Workspace,
    path: String,
    url: String,
    of: Resolved,
    user: Cow<'a, User>,
    /// Whom the workspace is open to at most: whom its parent is, unless a master says otherwise.
    required: Option<String>,
    now: Value,
}

impl Tenancy {
    /// A project, and the workspace that it stands for.
    fn attend_project(&self, project: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
        let mut workspace = projects::workspace(project)?;
        let newborn = self.conceive(&workspace, write)?;
        newborn.complete(&mut workspace);
        let mut all = newborn.beside(project, write)?;
        let system = projects::system_namespace();
        all.push(newborn.make(write.around, ("", "v1", "namespaces"), projects::SYSTEM_NAMESPACE, system)?);
        let at = collection(write.around, WORKSPACES, &write.at.workspace)?.object(project.name());
        all.push(Beside::Make(Box::new(at), workspace));
        projects::complete(project, &newborn.of.initializers(), &newborn.now);
        Ok(all)
    }

    fn conceive<'a>(&self, object: &Object, write: &Attending<'a>) -> Result<Newborn<'a>, ApiError> {
        let refused = |why: &str| ApiError::forbidden(&write.at.resource, object.name(), why);
        let (types, parent) = (Types { around: write.around }, &write.at.workspace);
        if !path::is_name(object.name()) {
            let what = "a workspace is found by its name: it has to be a lowercase DNS label";
            let error = FieldError::invalid("metadata.name", object.name(), what);
            return Err(ApiError::invalid(WORKSPACES.0, "Workspace", object.name(), &[error]));
        }
        let above = types.itself(parent)?.ok_or_else(|| refused("there is no workspace to make it in"))?;
        if above.is_deleting() {
            return Err(refused("the workspace it would be in is being deleted"));
        }
        let parent_path = above.annotation(PATH).unwrap_or(parent.as_str()).to_owned();
        let parent_type = match TypeRef::parse(above.annotation(TYPE).unwrap_or_default()) {
            Some(of) => types.known(&of)?,
            None => None,
        };
        let asked = object.pointer(&["spec", "type"]).filter(|said| said.get("name").is_some_and(|name| name != ""));
        let usual = parent_type.as_ref().and_then(Resolved::default_child).cloned();
        let wanted = asked.cloned().or(usual).unwrap_or_else(|| json!({ "name": UNIVERSAL }));
        let of = types.find(&wanted, &parent_path)?;
        let usable = match of {
            Some(of) if write.user.is_master() || may_use(&of, &types, write)? => Some(of),
            _ => None,
        };
        // Whoever may not use a type is not told whether there is one.
        let or = if write.user.is_master() { "" } else { ", or may not be used by you" };
        let missing = || refused(&format!("workspace type {} does not exist{or}", described(&wanted)));
        let of = usable.ok_or_else(missing)?;
        if let Some(why) = parent_type.as_ref().and_then(|above| of.refusal_in(above)) {
            return Err(refused(&why));
        }
        let home = (parent.as_str() == USERS && write.user.is_part_of_the_server()).then(|| homes::meant(object));
        let user = home.flatten().map_or(Cow::Borrowed(write.user), Cow::Owned);
        let path = match parent.as_str() {
            USERS => homes::path_of(&user.name),
            _ => format!("{parent_path}:{}", object.name()),
        };
        Ok(Newborn {
            id: id(object, write, &types)?,
            parent,
            url: format!("{}/clusters/{path}", self.url),
            path,
            of,
            user,
            required: required(object, &above, write.user),
            now: timestamp(write.ambient.now()),
        })
    }
}

/// Whether somebody may make workspaces of a type, and of all that it is made of.
fn may_use(of: &Resolved, types: &Types<'_>, write: &Attending<'_>) -> Result<bool, ApiError> {
    let (group, _, resource) = TYPES;
    for TypeRef { path, name } in of.made_of() {
        let Some(id) = path::resolve(path, types) else { return Ok(false) };
        let wanted = Attributes::objects("use", Objects { group, resource, name, ..Objects::default() });
        if !write.around.allows(write.user, &Workspace::new(&id), &wanted)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn required(object: &Object, above: &Object, user: &User) -> Option<String> {
    let own = object.annotation(REQUIRED_GROUPS).filter(|_| user.is_master());
    own.or(above.annotation(REQUIRED_GROUPS)).map(str::to_owned)
}

/// A new id, or the one that was asked for by somebody who may.
fn id(object: &Object, write: &Attending<'_>, types: &Types<'_>) -> Result<Workspace, ApiError> {
    let asked = object.text(&["spec", "cluster"]);
    if asked.is_empty() && object.text(&["spec", "URL"]).is_empty() {
        return Ok(Workspace::new(&write.ambient.letters(ID_LENGTH)));
    }
    let refused = |why: &str| ApiError::forbidden(&write.at.resource, object.name(), why);
    if !write.user.is_master() {
        return Err(refused("spec.cluster and spec.URL are set by the server"));
    }
    let asked = Workspace::new(asked);
    match types.itself(&asked)? {
        Some(_) => Err(refused("spec.cluster is another workspace already")),
        None => Ok(asked),
    }
}

/// `root:team`, or `team` where no path was said.
fn described(said: &Value) -> String {
    let word = |field: &str| said.get(field).and_then(Value::as_str).unwrap_or_default();
    if word("path").is_empty() { word("name").to_owned() } else { format!("{}:{}", word("path"), word("name")) }
}

impl Newborn<'_> {
    fn phase(&self) -> &'static str {
        if self.of.initializers().is_empty() { "Ready" } else { "Initializing" }
    }

    /// What the server says of a workspace.
    fn complete(&self, object: &mut Object) {
        let TypeRef { path, name } = &self.of.of;
        let spec = object.spec_mut();
        spec.insert("type".to_owned(), json!({ "name": name, "path": path }));
        spec.insert("cluster".to_owned(), self.id.as_str().into());
        spec.insert("URL".to_owned(), self.url.as_str().into());
        object.map_mut().insert("status".to_owned(), self.status());
        object.set_annotation(OWNER, &self.owner().to_string());
        object.set_annotation(SHARD, "root");
        if let Some(required) = &self.required {
            object.set_annotation(REQUIRED_GROUPS, required);
        }
        let mut labels = object.labels().cloned().unwrap_or_default();
        for (name, value) in self.of.labels() {
            labels.entry(name).or_insert_with(|| value.into());
        }
        labels.insert(PHASE_LABEL.to_owned(), self.phase().into());
        object.set_metadata("labels", labels);
        let others = object.finalizers().filter(|name| *name != HELD_BY_CLUSTER).map(str::to_owned);
        let held: Vec<String> = others.chain([HELD_BY_CLUSTER.to_owned()]).collect();
        object.set_finalizers(held);
    }

    fn status(&self) -> Value {
        let condition = |name: &str, holds: bool| {
            let mut condition = json!({
                "type": name, "status": if holds { "True" } else { "False" }, "lastTransitionTime": self.now,
            });
            if !holds {
                condition["severity"] = json!("Info");
                condition["reason"] = json!("InitializerExists");
                condition["message"] = json!(format!("Initializers still exist: {:?}", self.of.initializers()));
            }
            condition
        };
        let initializers = self.of.initializers();
        let ready = initializers.is_empty();
        let mut status = Map::new();
        status.insert("phase".to_owned(), self.phase().into());
        status.insert(
            "conditions".to_owned(),
            json!([condition("WorkspaceInitialized", ready), condition("WorkspaceScheduled", true)]),
        );
        if !ready {
            status.insert("initializers".to_owned(), json!(initializers));
        }
        let terminators = self.of.terminators();
        if !terminators.is_empty() {
            status.insert("terminators".to_owned(), json!(terminators));
        }
        Value::Object(status)
    }

    fn owner(&self) -> Value {
        let User { name, uid, groups, .. } = &*self.user;
        let mut owner = json!({ "username": name, "groups": groups });
        if !uid.is_empty() {
            owner["uid"] = json!(uid);
        }
        owner
    }

    /// Everything that is in the workspace from the start. It belongs to the object because of which it is made.
    fn beside(&self, owner: &Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
        let around = write.around;
        let cluster = self.logical_cluster(owner, &write.at.resource);
        let mut all = vec![self.make(around, LOGICAL_CLUSTERS, ITSELF, cluster)?];
        for name in NAMESPACES {
            all.push(self.make(around, ("", "v1", "namespaces"), name, namespace(name))?);
        }
        let types = Types { around };
        let wanted = self.of.default_bindings();
        match sharing::start::bindings(&types, &self.id, &wanted, write.ambient)? {
            Ok(bindings) => all.extend(bindings.into_iter().chain(self.of.unchanged(around)?)),
            Err(missing) => {
                let why = format!("workspace type {} binds APIExport {missing}, which does not exist", self.of.of);
                return Err(ApiError::forbidden(&write.at.resource, owner.name(), &why));
            }
        }
        // Parts of the server need no permission, and are nobody's administrators.
        if !self.user.is_part_of_the_server() {
            let bindings = ("rbac.authorization.k8s.io", "v1", "clusterrolebindings");
            all.push(self.make(around, bindings, "workspace-admin", administrator(&self.user))?);
        }
        Ok(all)
    }

    fn make(
        &self,
        around: &dyn Around,
        resource: (&str, &str, &str),
        name: &str,
        object: Value,
    ) -> Result<Beside, ApiError> {
        let at: Collection = collection(around, resource, &self.id)?;
        let object = Object::try_from(object).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok(Beside::Make(Box::new(at.object(name)), object))
    }

    fn logical_cluster(&self, owner: &Object, of: &ResourceDef) -> Value {
        let mut status = self.status();
        status["URL"] = json!(self.url);
        let mut annotations = json!({ PATH: self.path, CLUSTER: self.id.as_str(), TYPE: self.of.of.to_string() });
        if let Some(required) = &self.required {
            annotations[REQUIRED_GROUPS] = json!(required);
        }
        json!({
            "metadata": {
                "annotations": annotations,
                "labels": { PHASE_LABEL: self.phase() },
                "finalizers": [HELD_BY_CONTENT],
            },
            "spec": {
                "owner": {
                    "apiVersion": of.api_version(), "resource": &*of.plural,
                    "name": owner.name(), "uid": owner.uid(), "cluster": self.parent.as_str(),
                },
                "createdBy": self.owner(),
                "initializers": self.of.initializers(), "terminators": self.of.terminators(),
            },
            "status": status,
        })
    }
}

/// A namespace as it is once it has been made.
pub(super) fn namespace(name: &str) -> Value {
    json!({
        "metadata": { "labels": { "kubernetes.io/metadata.name": name } },
        "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
    })
}

/// Whoever makes a workspace may do everything in it.
fn administrator(user: &User) -> Value {
    json!({
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name }],
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
    })
}
