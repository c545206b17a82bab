//! A policy says in its status what seems wrong with its expressions, once it is known which objects they are about.

use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::Object;
use apiserver::place::Workspace;
use apiserver::policy::type_checking;
use apiserver::strategy::Part;
use serde_json::{Value, json};

const POLICIES: (&str, &str, &str) = ("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies");

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PolicyKey {
    workspace: Workspace,
    name: String,
}

impl PolicyKey {
    fn of(seen: &Seen) -> Option<Self> {
        let Parts { workspace, name, .. } = keyspace::parse(&seen.key)?;
        Some(Self { workspace: Workspace::new(workspace), name: name.to_owned() })
    }
}

pub(super) fn controller(client: &Client) -> Controller<Policies> {
    Controller::new(Policies { client: client.clone() }).source(changes_of(client, POLICIES, PolicyKey::of))
}

pub(super) struct Policies {
    client: Client,
}

/// Nothing is said twice of one generation: what is said is about the policy, not about what else there is.
fn is_observed(policy: &Object) -> bool {
    let observed = policy.pointer(&["status", "observedGeneration"]).and_then(Value::as_i64).unwrap_or_default();
    policy.generation() <= observed
}

impl Reconciler for Policies {
    type Key = PolicyKey;

    fn name(&self) -> &'static str {
        "policies"
    }

    async fn reconcile(&self, key: &PolicyKey) -> Result<Action, ApiError> {
        let place = self.client.at(POLICIES, &key.workspace, None)?.object(&key.name);
        let Some(policy) = self.client.get(&place).await?.filter(|policy| !is_observed(policy)) else {
            return Ok(Action::Done);
        };
        let catalog = self.client.catalog(&key.workspace)?;
        let mut checked = type_checking(&policy, &catalog);
        if checked.get("expressionWarnings").is_none() {
            // What was said of another generation.
            checked["expressionWarnings"] = Value::Null;
        }
        let patch = json!({
            "metadata": { "uid": policy.uid(), "resourceVersion": policy.resource_version() },
            "status": { "observedGeneration": policy.generation(), "typeChecking": checked },
        });
        match self.client.merge(&place, Part::Status, &patch).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}
