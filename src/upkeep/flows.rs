//! A flow schema says whether there is the priority level that it speaks of; and where those that every Kubernetes has are
//! objects, they stay.

use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, timestamp};
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use openapi::flows;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const SCHEMAS: (&str, &str, &str) = (GROUP, "v1", "flowschemas");
const LEVELS: (&str, &str, &str) = (GROUP, "v1", "prioritylevelconfigurations");

pub(super) fn controller(client: &Client, whole: &[Workspace]) -> Controller<Flows> {
    let workspace = |seen: &Seen| keyspace::workspace(&seen.key);
    Controller::new(Flows { client: client.clone(), whole: whole.to_vec() })
        .first(whole.to_vec())
        .source(changes_of(client, SCHEMAS, workspace))
        .source(changes_of(client, LEVELS, workspace))
}

pub(super) struct Flows {
    client: Client,
    /// Where they are objects.
    whole: Vec<Workspace>,
}

impl Reconciler for Flows {
    type Key = Workspace;

    fn name(&self) -> &'static str {
        "flows"
    }

    async fn reconcile(&self, workspace: &Workspace) -> Result<Action, ApiError> {
        let (schemas, levels) = (self.client.at(SCHEMAS, workspace, None)?, self.client.at(LEVELS, workspace, None)?);
        if self.whole.contains(workspace) {
            for (place, given) in [(&levels, flows::levels()), (&schemas, flows::schemas())] {
                let found = self.client.list(place).await?;
                for missing in missing(given, &found) {
                    self.client.ensure(place, missing).await?;
                }
            }
        }
        let (found, known) = (self.client.list(&schemas).await?, self.client.list(&levels).await?);
        for (name, patch) in decide(&found, &known, self.client.ambient().now()) {
            match self.client.merge(&schemas.object(&name), Part::Status, &patch).await {
                Err(error) if error.code() != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(Action::Done)
    }
}

fn missing(given: Vec<Value>, found: &[Object]) -> impl Iterator<Item = Value> {
    given.into_iter().filter(move |given| !found.iter().any(|object| given["metadata"]["name"] == object.name()))
}

/// The flow schemas whose condition is not what it should be, and what makes it so. What lies below all workspaces is there.
fn decide(schemas: &[Object], levels: &[Object], now: Instant) -> Vec<(String, Value)> {
    let given = flows::levels();
    let is_there = |name: &str| {
        levels.iter().any(|level| level.name() == name) || given.iter().any(|level| level["metadata"]["name"] == name)
    };
    let wrong = schemas.iter().filter_map(|schema| {
        let level = schema.text(&["spec", "priorityLevelConfiguration", "name"]);
        let (status, reason, rest) = match is_there(level) {
            true => ("False", "Found", "and it exists"),
            false => ("True", "NotFound", "but there is no such object"),
        };
        let message =
            format!("This FlowSchema references the PriorityLevelConfiguration object named {level:?} {rest}");
        let is_ours = |condition: &&Value| condition["type"] == "Dangling";
        let before = schema.items(&["status", "conditions"]).find(is_ours);
        if before.is_some_and(|before| before["status"] == status && before["message"] == *message) {
            return None;
        }
        let others = schema.items(&["status", "conditions"]).filter(|condition| !is_ours(condition)).cloned();
        let condition = json!({
            "type": "Dangling", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": timestamp(now),
        });
        let conditions: Vec<Value> = others.chain([condition]).collect();
        let metadata = json!({ "uid": schema.uid(), "resourceVersion": schema.resource_version() });
        Some((schema.name().to_owned(), json!({ "metadata": metadata, "status": { "conditions": conditions } })))
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant { seconds: 1_800_000_000, nanos: 0 };

    fn schema(level: &str, conditions: Value) -> Object {
        json!({
            "metadata": { "name": "s", "uid": "u" }, "status": { "conditions": conditions },
            "spec": { "priorityLevelConfiguration": { "name": level } },
        })
        .try_into()
        .unwrap()
    }

    #[test]
    fn a_schema_says_once_whether_its_level_is_there() {
        let level: Object = json!({ "metadata": { "name": "own" } }).try_into().unwrap();
        let other = json!({ "type": "Other", "status": "True" });
        for (wanted, levels, status, reason) in [
            ("own", vec![level.clone()], "False", "Found"),
            ("own", vec![], "True", "NotFound"),
            ("global-default", vec![], "False", "Found"),
        ] {
            let decided = decide(&[schema(wanted, json!([other]))], &levels, NOW);
            let conditions = &decided[0].1["status"]["conditions"];
            assert_eq!(conditions[0], other);
            assert_eq!((&conditions[1]["status"], &conditions[1]["reason"]), (&json!(status), &json!(reason)));
            assert_eq!(decide(&[schema(wanted, conditions.clone())], &levels, NOW), []);
        }
    }

    #[test]
    fn what_is_there_is_not_missing() {
        let found: Object = json!({ "metadata": { "name": "exempt" } }).try_into().unwrap();
        let missing: Vec<Value> = missing(flows::schemas(), &[found]).collect();
        assert_eq!(missing.len(), flows::schemas().len() - 1);
        assert!(missing.iter().all(|schema| schema["metadata"]["name"] != "exempt"));
    }
}
