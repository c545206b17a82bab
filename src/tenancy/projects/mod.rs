//! Projects and organizations, as Milo's clients know them. A project stands for a workspace of the same name beside it,
//! which is made in the same transaction and goes with it; where it is found is said in [`forms`].

pub mod departure;
pub mod forms;
pub mod suspension;

use super::words::{HOME, ITSELF, LOGICAL_CLUSTERS, ROOT, collection};
use apiserver::attend::Around;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use serde_json::{Value, json};

pub(super) const PROJECTS: (&str, &str, &str) = (GROUP, "v1alpha1", "projects");
pub(super) const ORGANIZATIONS: (&str, &str, &str) = (GROUP, "v1alpha1", "organizations");
const GROUP: &str = "resourcemanager.miloapis.com";

/// On projects: whose they are.
const ORGANIZATION: &str = "resourcemanager.miloapis.com/organization-name";
/// On workspaces: what they are for.
const PROJECT: &str = "resourcemanager.miloapis.com/project-name";

/// Holds a project until its workspace is gone.
const HELD_BY_WORKSPACE: &str = "resourcemanager.miloapis.com/project-controller";

/// There in every project, for those who look after it.
pub(super) const SYSTEM_NAMESPACE: &str = "milo-system";

/// What the server says of a project whose workspace is made together with it.
pub(super) fn complete(project: &mut Object, waits_for: &[String], now: &Value) {
    let owner = project.text(&["spec", "ownerRef", "name"]).to_owned();
    if !owner.is_empty() {
        let mut labels = project.labels().cloned().unwrap_or_default();
        labels.insert(ORGANIZATION.to_owned(), owner.into());
        project.set_metadata("labels", labels);
    }
    let others = project.finalizers().filter(|name| *name != HELD_BY_WORKSPACE).map(str::to_owned);
    let held: Vec<String> = others.chain([HELD_BY_WORKSPACE.to_owned()]).collect();
    project.set_finalizers(held);
    if waits_for.is_empty() {
        ready(project, now);
    } else {
        let waits_for: Vec<Value> = waits_for.iter().map(|name| name.as_str().into()).collect();
        provisioning(project, &waits_for, now);
    }
}

/// Its workspace is there, and others have something to do in it first.
pub(super) fn provisioning(project: &mut Object, waits_for: &[Value], now: &Value) {
    let message = format!("Initializers still exist: {}", Value::Array(waits_for.to_vec()));
    say_ready(project, json!({ "status": "False", "reason": "Provisioning", "message": message }), now);
}

/// There is nothing to wait for.
pub(super) fn ready(object: &mut Object, now: &Value) {
    say_ready(object, json!({ "status": "True", "reason": "Ready", "message": "It can be used" }), now);
}

fn say_ready(object: &mut Object, mut condition: Value, now: &Value) {
    condition["type"] = json!("Ready");
    condition["observedGeneration"] = json!(1);
    condition["lastTransitionTime"] = now.clone();
    let others = object.items(&["status", "conditions"]).filter(|found| found["type"] != "Ready").cloned();
    let conditions: Vec<Value> = [condition].into_iter().chain(others).collect();
    let status = object.map_mut().entry("status").or_insert_with(|| json!({}));
    status["conditions"] = Value::Array(conditions);
}

/// Where a project was made: every project there has the kinds that are defined there. Nothing for a workspace that is no
/// project's, and for a project in a project: how deep those are inside of each other is nobody's to decide but theirs, and
/// must cost nobody anything.
pub(super) fn platform(workspace: &Workspace, around: &dyn Around) -> Result<Option<Workspace>, ApiError> {
    let Some(home) = made_in(workspace, around)? else { return Ok(None) };
    Ok(made_in(&home, around)?.is_none().then_some(home))
}

fn made_in(workspace: &Workspace, around: &dyn Around) -> Result<Option<Workspace>, ApiError> {
    if [ROOT, HOME].contains(&workspace.as_str()) {
        return Ok(None);
    }
    let at = collection(around, LOGICAL_CLUSTERS, workspace)?.object(ITSELF);
    let Some(itself) = around.bytes(&at)? else { return Ok(None) };
    let owner = |field: &str| Peek::of(&itself).text(&["spec", "owner", field]).map(|word| word.into_owned());
    let is_project = owner("resource").as_deref() == Some(PROJECTS.2);
    Ok(owner("cluster").filter(|id| is_project && !id.is_empty()).map(|id| Workspace::new(&id)))
}

/// The workspace that a project stands for.
pub(super) fn workspace(project: &Object) -> Result<Object, ApiError> {
    let made = json!({
        "metadata": { "name": project.name(), "labels": { PROJECT: project.name() } },
        "spec": { "type": { "name": "project", "path": ROOT } },
    });
    Object::try_from(made).map_err(|error| ApiError::internal(error.to_string()))
}

pub(super) fn system_namespace() -> Value {
    let mut namespace = super::birth::namespace(SYSTEM_NAMESPACE);
    namespace["metadata"]["labels"]["miloapis.com/system"] = json!("true");
    namespace
}
