//! A project that is suspended: who says so, what the project says of it, and what its workspace is told.

use super::{GROUP, PROJECTS};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use crate::tenancy::departure::WorkspaceKey;
use crate::tenancy::words::{ITSELF, LOGICAL_CLUSTERS, SUSPENDED, WORKSPACES};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek, timestamp};
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use serde_json::{Value, json};

pub(super) const SUSPENSIONS: (&str, &str, &str) = (GROUP, "v1alpha1", "projectsuspensions");
const CONDITION: &str = "Suspended";

pub fn controller(client: &Client) -> Controller<Suspension> {
    Controller::new(Suspension { client: client.clone() })
        .source(changes_of(client, SUSPENSIONS, meant))
        .source(changes_of(client, PROJECTS, itself))
}

/// The project that a suspension is about.
fn meant(seen: &Seen) -> Option<WorkspaceKey> {
    let said = Peek::new(seen.now.as_ref().or(seen.before.as_ref())?);
    let name = said.text(&["spec", "projectRef", "name"])?.into_owned();
    Some(WorkspaceKey { parent: keyspace::workspace(&seen.key)?, name })
}

fn itself(seen: &Seen) -> Option<WorkspaceKey> {
    let parts = keyspace::parse(&seen.key)?;
    Some(WorkspaceKey { parent: Workspace::new(parts.workspace), name: parts.name.to_owned() })
}

#[derive(Debug)]
pub struct Suspension {
    client: Client,
}

/// What follows from the suspensions of a project.
#[derive(Debug, PartialEq)]
struct Verdict {
    /// What its status should say, if that is something else than it does.
    status: Option<Value>,
    /// Why nothing may change in its workspace.
    reasons: Option<String>,
}

fn decide(project: &Object, suspensions: &[Object], now: &Value) -> Verdict {
    let active: Vec<&Object> =
        suspensions.iter().filter(|found| found.text(&["status", "phase"]) != "Lifted").collect();
    let word = |object: &Object, field: &str| object.text(&["spec", field]).to_owned();
    let mut reasons: Vec<String> = active.iter().map(|found| word(found, "reason")).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let mut told: Vec<Value> = suspensions
        .iter()
        .map(|found| {
            json!({
                "reason": word(found, "reason"), "reinstateAuthority": word(found, "reinstateAuthority"),
                "suspendedAt": found.text(&["metadata", "creationTimestamp"]),
            })
        })
        .collect();
    told.sort_by_key(|one| (one["reason"].to_string(), one["suspendedAt"].to_string()));
    let mut names: Vec<&str> = active.iter().map(|found| found.name()).collect();
    names.sort_unstable();
    let condition = condition(&names, project.generation());
    let (old, others): (Vec<Value>, Vec<Value>) =
        project.items(&["status", "conditions"]).cloned().partition(|found| found["type"] == CONDITION);
    let before: Vec<Value> = project.items(&["status", "suspensions"]).cloned().collect();
    let reasons = (!reasons.is_empty()).then(|| reasons.join(", "));
    // Of one that nobody ever suspended nothing need be said.
    let silent = old.is_empty() && suspensions.is_empty();
    let same = old.first().is_some_and(|old| {
        ["status", "reason", "message"].iter().all(|field| old.get(*field) == condition.get(*field))
    });
    if silent || same && before == told {
        return Verdict { status: None, reasons };
    }
    let moved = old.first().is_none_or(|old| old["status"] != condition["status"]);
    let since = if moved { now.clone() } else { old[0]["lastTransitionTime"].clone() };
    let mut condition = condition;
    condition["lastTransitionTime"] = since;
    let conditions: Vec<Value> = others.into_iter().chain([condition]).collect();
    Verdict { status: Some(json!({ "conditions": conditions, "suspensions": told })), reasons }
}

fn condition(active: &[&str], generation: i64) -> Value {
    if active.is_empty() {
        return json!({
            "type": CONDITION, "status": "False", "reason": "Active", "message": "Project is active",
            "observedGeneration": generation,
        });
    }
    let message = format!("Project is suspended due to active suspensions: {}", active.join(", "));
    json!({
        "type": CONDITION, "status": "True", "reason": CONDITION, "message": message,
        "observedGeneration": generation,
    })
}

impl Reconciler for Suspension {
    type Key = WorkspaceKey;

    fn name(&self) -> &'static str {
        "suspensions"
    }

    async fn reconcile(&self, key: &WorkspaceKey) -> Result<Action, ApiError> {
        let at = self.client.at(PROJECTS, &key.parent, None)?.object(&key.name);
        let Some(project) = self.client.get(&at).await?.filter(|found| !found.is_deleting()) else {
            return Ok(Action::Done);
        };
        let all = self.client.list(&self.client.at(SUSPENSIONS, &key.parent, None)?).await?;
        let about = |found: &Object| found.text(&["spec", "projectRef", "name"]) == key.name;
        let suspensions: Vec<Object> = all.into_iter().filter(about).collect();
        let verdict = decide(&project, &suspensions, &timestamp(self.client.ambient().now()));
        // The workspace first: whoever reads that a project is suspended may count on it.
        self.mark(key, verdict.reasons.as_deref()).await?;
        if let Some(status) = verdict.status {
            self.client.merge(&at, Part::Status, &json!({ "status": status })).await?;
        }
        Ok(Action::Done)
    }
}

impl Suspension {
    /// Tells the workspace of a project why it rests, or that it does not.
    async fn mark(&self, key: &WorkspaceKey, reasons: Option<&str>) -> Result<(), ApiError> {
        let at = self.client.at(WORKSPACES, &key.parent, None)?.object(&key.name);
        let Some(workspace) = self.client.get(&at).await? else { return Ok(()) };
        let id = Workspace::new(workspace.text(&["spec", "cluster"]));
        let at = self.client.at(LOGICAL_CLUSTERS, &id, None)?.object(ITSELF);
        let Some(found) = self.client.get(&at).await? else { return Ok(()) };
        if found.annotation(SUSPENDED) == reasons {
            return Ok(());
        }
        let patch = json!({ "metadata": { "annotations": { SUSPENDED: reasons } } });
        self.client.merge(&at, Part::Main, &patch).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: Value) -> Object {
        Object::try_from(value).unwrap()
    }

    fn suspension(name: &str, reason: &str, phase: &str) -> Object {
        object(json!({
            "metadata": { "name": name, "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": { "projectRef": { "name": "p" }, "reason": reason, "reinstateAuthority": "Operator" },
            "status": { "phase": phase },
        }))
    }

    #[test]
    fn a_project_says_why_it_is_suspended_for_as_long_as_it_is() {
        let now = json!("2026-02-02T00:00:00Z");
        let project = object(json!({ "metadata": { "name": "p" }, "status": { "conditions": [{ "type": "Ready" }] } }));
        assert_eq!(decide(&project, &[], &now), Verdict { status: None, reasons: None });
        let both = [suspension("b", "Billing", ""), suspension("a", "Abuse", "Active")];
        let verdict = decide(&project, &both, &now);
        assert_eq!(verdict.reasons.as_deref(), Some("Abuse, Billing"));
        let status = verdict.status.unwrap();
        assert_eq!(status["conditions"][1]["message"], "Project is suspended due to active suspensions: a, b");
        assert_eq!(
            (&status["conditions"][0]["type"], &status["suspensions"][0]["reason"]),
            (&json!("Ready"), &json!("Abuse"))
        );
        let told = object(json!({ "metadata": { "name": "p" }, "status": status }));
        assert_eq!(decide(&told, &both, &json!("later")).status, None);
        let lifted = decide(&told, &[suspension("b", "Billing", "Lifted")], &json!("later"));
        let condition = &lifted.status.unwrap()["conditions"][1];
        assert_eq!((&condition["status"], &condition["lastTransitionTime"]), (&json!("False"), &json!("later")));
        assert_eq!(lifted.reasons, None);
    }
}
