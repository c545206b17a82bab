//! WorkloadRebalancer: has it decided anew where workloads go, as if they were new.

use crate::apis::definitions::{PLACEMENTS, RESCHEDULE};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, timestamp};
use apiserver::options::DeleteOptions;
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::strategy::Part;
use openapi::scalar::time::{Instant, Precision};
use serde_json::{Value, json};
use std::time::Duration;

const REBALANCERS: (&str, &str, &str) = ("apps.karmada.io", "v1alpha1", "workloadrebalancers");

/// Carries out the rebalancers of all workspaces.
pub fn controller(client: &Client) -> Controller<Rebalancing> {
    Controller::new(Rebalancing { client: client.clone() }).source(changes_of(client, REBALANCERS, which))
}

fn which(seen: &Seen) -> Option<(Workspace, String)> {
    let parts = keyspace::parse(&seen.key)?;
    Some((Workspace::new(parts.workspace), parts.name.to_owned()))
}

#[derive(Debug)]
pub struct Rebalancing {
    client: Client,
}

impl Reconciler for Rebalancing {
    type Key = (Workspace, String);

    fn name(&self) -> &'static str {
        "rebalancer"
    }

    async fn reconcile(&self, (workspace, name): &(Workspace, String)) -> Result<Action, ApiError> {
        let place = self.client.at(REBALANCERS, workspace, None)?.object(name);
        let Some(rebalancer) = self.client.get(&place).await? else { return Ok(Action::Done) };
        if is_finished(&rebalancer) {
            return self.expire(&place, &rebalancer).await;
        }
        let mut observed = Vec::new();
        let mut workloads: Vec<&Value> = rebalancer.items(&["spec", "workloads"]).collect();
        workloads
            .sort_by_key(|workload| ["apiVersion", "kind", "namespace", "name"].map(|key| workload[key].to_string()));
        for workload in workloads {
            let found = self.rebalance(workspace, workload, &rebalancer).await?;
            observed.push(match found {
                true => json!({ "workload": workload, "result": "Successful" }),
                false => json!({ "workload": workload, "result": "Failed", "reason": "ReferencedBindingNotFound" }),
            });
        }
        let now = timestamp(self.client.ambient().now());
        let status = json!({
            "observedWorkloads": observed, "observedGeneration": rebalancer.generation(), "finishTime": now,
        });
        self.client.merge(&place, Part::Status, &json!({ "status": status })).await?;
        // Its change brings it back here.
        Ok(Action::Done)
    }
}

fn is_finished(rebalancer: &Object) -> bool {
    let observed = rebalancer.pointer(&["status", "observedGeneration"]).and_then(Value::as_i64);
    observed == Some(rebalancer.generation()) && !rebalancer.text(&["status", "finishTime"]).is_empty()
}

impl Rebalancing {
    /// Whether there is a decision that could be made anew.
    async fn rebalance(&self, workspace: &Workspace, workload: &Value, rebalancer: &Object) -> Result<bool, ApiError> {
        let word = |key: &str| workload[key].as_str().unwrap_or_default();
        let catalog = self.client.catalog(workspace)?;
        let Some(resource) = catalog.of_kind(word("apiVersion"), word("kind")).cloned() else { return Ok(false) };
        let namespace = Some(word("namespace").to_owned()).filter(|_| resource.namespaced);
        let within = Collection { resource, workspace: workspace.clone(), namespace };
        let Some(object) = self.client.get(&within.object(word("name"))).await? else { return Ok(false) };
        let placement = self.client.at(PLACEMENTS, workspace, None)?.object(object.uid());
        let token = format!("{}/{}", rebalancer.uid(), rebalancer.generation());
        let patch = json!({ "metadata": { "annotations": { RESCHEDULE: token } } });
        match self.client.merge(&placement, Part::Main, &patch).await {
            Err(error) if error.code() == 404 => Ok(false),
            written => written.map(|_| true),
        }
    }

    /// What is finished goes after as long as it says, if it says.
    async fn expire(&self, place: &ObjectRef, rebalancer: &Object) -> Result<Action, ApiError> {
        let lasts = rebalancer.pointer(&["spec", "ttlSecondsAfterFinished"]).and_then(Value::as_i64);
        let Some(lasts) = lasts.filter(|lasts| *lasts >= 0) else { return Ok(Action::Done) };
        let finished = rebalancer.text(&["status", "finishTime"]);
        let finished = Instant::parse(finished, Precision::Seconds).map_or(0, |finished| finished.seconds);
        let left = finished.saturating_add(lasts) - self.client.ambient().now().seconds;
        if left > 0 {
            return Ok(Action::After(Duration::from_secs(left.unsigned_abs())));
        }
        match self.client.delete(place, &DeleteOptions::default()).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}
