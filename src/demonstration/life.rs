//! Lets workloads tell that they run, in the cells of the demonstration and nowhere else.

use super::pretend::pretend;
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::timestamp;
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use storage::Key;

/// The kinds that tell something.
const TELLING: [(&str, &str, &str); 6] = [
    ("apps", "v1", "deployments"),
    ("apps", "v1", "statefulsets"),
    ("apps", "v1", "replicasets"),
    ("apps", "v1", "daemonsets"),
    ("batch", "v1", "jobs"),
    ("", "v1", "services"),
];

pub fn controller(client: &Client, cells: impl IntoIterator<Item = Workspace>) -> Controller<impl Reconciler> {
    let cells: Arc<HashSet<Workspace>> = Arc::new(cells.into_iter().collect());
    let mut controller = Controller::new(Life { client: client.clone() }).workers(8);
    for resource in TELLING {
        let cells = cells.clone();
        let here = move |seen: &Seen| {
            let workspace = keyspace::workspace(&seen.key)?;
            (seen.now.is_some() && cells.contains(&workspace)).then(|| seen.key.clone())
        };
        controller = controller.source(changes_of(client, resource, here));
    }
    controller
}

struct Life {
    client: Client,
}

impl Reconciler for Life {
    type Key = Key;

    fn name(&self) -> &'static str {
        "demonstration"
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, ApiError> {
        let Some(at) = self.client.place_of(key) else { return Ok(Action::Done) };
        let Some(object) = self.client.get(&at).await? else { return Ok(Action::Done) };
        let now = timestamp(self.client.ambient().now());
        if let Some(status) = pretend(&Value::from(object), now.as_str().unwrap_or_default()) {
            self.client.merge(&at, Part::Status, &json!({ "status": status })).await?;
        }
        Ok(Action::Done)
    }
}
