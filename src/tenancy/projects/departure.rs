//! A project that is to go takes its workspace with it, and says who is in the way.

use super::{HELD_BY_WORKSPACE, PROJECT, PROJECTS};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use crate::tenancy::departure::{CONTENT_DELETED, WorkspaceKey};
use crate::tenancy::words::WORKSPACES;
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, timestamp};
use apiserver::options::DeleteOptions;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::strategy::Part;
use serde_json::{Value, json};

pub fn controller(client: &Client) -> Controller<Departure> {
    Controller::new(Departure { client: client.clone() })
        .source(changes_of(client, PROJECTS, place))
        .source(changes_of(client, WORKSPACES, place))
}

/// A project and its workspace are called the same.
fn place(seen: &Seen) -> Option<WorkspaceKey> {
    let parts = keyspace::parse(&seen.key)?;
    Some(WorkspaceKey { parent: Workspace::new(parts.workspace), name: parts.name.to_owned() })
}

#[derive(Debug)]
pub struct Departure {
    client: Client,
}

/// What is to be done about a project that is to go.
#[derive(Debug, PartialEq)]
enum Step {
    LetGo,
    Delete,
    Say(String),
    Wait,
}

fn decide(project: &Object, workspace: Option<&Object>) -> Step {
    // One of the same name that somebody else made is not ours to delete.
    let ours = |found: &&Object| found.text(&["metadata", "labels", PROJECT]) == project.name();
    let Some(workspace) = workspace.filter(ours) else { return Step::LetGo };
    if !workspace.is_deleting() {
        return Step::Delete;
    }
    let said = |object: &Object, kind: &str| {
        let found = object.items(&["status", "conditions"]).find(|found| found["type"] == kind);
        found.and_then(|found| found["message"].as_str().map(str::to_owned))
    };
    match said(workspace, CONTENT_DELETED) {
        Some(why) if said(project, CLEANUP).as_ref() != Some(&why) => Step::Say(why),
        _ => Step::Wait,
    }
}

const CLEANUP: &str = "ResourceCleanup";

impl Reconciler for Departure {
    type Key = WorkspaceKey;

    fn name(&self) -> &'static str {
        "projects"
    }

    async fn reconcile(&self, key: &WorkspaceKey) -> Result<Action, ApiError> {
        let at = self.client.at(PROJECTS, &key.parent, None)?.object(&key.name);
        let held = |found: &Object| found.is_deleting() && found.finalizers().any(|name| name == HELD_BY_WORKSPACE);
        let Some(project) = self.client.get(&at).await?.filter(held) else { return Ok(Action::Done) };
        let workspace_at = self.client.at(WORKSPACES, &key.parent, None)?.object(&key.name);
        let workspace = self.client.get(&workspace_at).await?;
        match decide(&project, workspace.as_ref()) {
            Step::LetGo => self.let_go(&at, &project).await?,
            Step::Delete => self.client.delete(&workspace_at, &DeleteOptions::default()).await.map(drop)?,
            Step::Say(why) => self.say(&at, &project, &why).await?,
            Step::Wait => {}
        }
        Ok(Action::Done)
    }
}

impl Departure {
    async fn let_go(&self, at: &ObjectRef, project: &Object) -> Result<(), ApiError> {
        let others: Vec<&str> = project.finalizers().filter(|name| *name != HELD_BY_WORKSPACE).collect();
        let patch = json!({ "metadata": { "finalizers": others, "resourceVersion": project.resource_version() } });
        self.client.merge(at, Part::Main, &patch).await.map(drop)
    }

    async fn say(&self, at: &ObjectRef, project: &Object, why: &str) -> Result<(), ApiError> {
        let others = project.items(&["status", "conditions"]).filter(|found| found["type"] != CLEANUP);
        let mut conditions: Vec<Value> = others.cloned().collect();
        conditions.push(json!({
            "type": CLEANUP, "status": "False", "reason": "SomeFinalizersRemain", "message": why,
            "lastTransitionTime": timestamp(self.client.ambient().now()),
        }));
        self.client.merge(at, Part::Status, &json!({ "status": { "conditions": conditions } })).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    #[test]
    fn a_project_goes_when_its_workspace_has_gone() {
        let project = object(json!({ "metadata": { "name": "p" } }));
        let workspace = |more: Value, status: Value| {
            let mut metadata = json!({ "name": "p", "labels": { PROJECT: "p" } });
            metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            object(json!({ "metadata": metadata, "status": status }))
        };
        assert_eq!(decide(&project, None), Step::LetGo);
        assert_eq!(decide(&project, Some(&object(json!({ "metadata": { "name": "p" } })))), Step::LetGo);
        assert_eq!(decide(&project, Some(&workspace(json!({}), json!({})))), Step::Delete);
        let going = json!({ "deletionTimestamp": "2026-01-01T00:00:00Z" });
        assert_eq!(decide(&project, Some(&workspace(going.clone(), json!({})))), Step::Wait);
        let blocked = json!({ "conditions": [{ "type": CONTENT_DELETED, "message": "x is held" }] });
        assert_eq!(
            decide(&project, Some(&workspace(going.clone(), blocked.clone()))),
            Step::Say("x is held".to_owned())
        );
        let told = object(json!({
            "metadata": { "name": "p" }, "status": { "conditions": [{ "type": CLEANUP, "message": "x is held" }] },
        }));
        assert_eq!(decide(&told, Some(&workspace(going, blocked))), Step::Wait);
    }
}
