//! API servers behind this one: whether they are there, what they serve, and what they recognise this server by.
//!
//! A controller looks at every `APIService`: it observes where its service is and whether it answers there, decides by a
//! pure function what that means ([`decide`]), and writes it down. A workspace without one costs nothing here.

mod decide;
mod front;
mod probe;
mod source;

pub use front::Front;

use crate::controller::{Action, Controller, Reconciler};
use apiserver::backends::Backend;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, timestamp};
use apiserver::place::{ObjectRef, Workspace};
use apiserver::relay::Relay;
use apiserver::strategy::Part;
use decide::{Seen, condition, conditions, pause};
use serde_json::json;
use source::{Index, Users, Watched};
use std::sync::Arc;

const SERVICES: (&str, &str, &str) = ("apiregistration.k8s.io", "v1", "apiservices");

/// Backends that are looked for at once: most of it is waiting.
const PROBED_AT_ONCE: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    workspace: Workspace,
    name: String,
}

/// Looks after every `APIService`.
#[derive(Debug)]
pub(crate) struct Backends {
    client: Client,
    relay: Relay,
    front: Arc<Front>,
}

pub(crate) fn controller(client: &Client, relay: &Relay, front: &Arc<Front>) -> Controller<Backends> {
    let users = Users::default();
    let watched = |index| Watched { client: client.clone(), users: users.clone(), index };
    let reconciler = Backends { client: client.clone(), relay: relay.clone(), front: front.clone() };
    Controller::new(reconciler)
        .source(watched(Index::Registrations))
        .source(watched(Index::Services))
        .source(watched(Index::Slices))
        .workers(PROBED_AT_ONCE)
}

impl Reconciler for Backends {
    type Key = Key;

    fn name(&self) -> &'static str {
        "aggregation"
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, ApiError> {
        let at = self.client.at(SERVICES, &key.workspace, None)?.object(&key.name);
        let Some(registered) = self.client.get(&at).await? else {
            let (version, group) = key.name.split_once('.').unwrap_or_default();
            self.relay.forget(&key.workspace, group, version);
            return Ok(Action::Done);
        };
        let seen = self.observe(key, &registered).await?;
        self.record(&at, &registered, &seen).await?;
        Ok(pause(&registered, &seen, self.client.ambient().now()))
    }
}

impl Backends {
    async fn observe(&self, key: &Key, registered: &Object) -> Result<Seen, ApiError> {
        let Some(backend) = Backend::read(registered) else { return Ok(Seen::Local) };
        let catalog = self.client.builtin();
        if backend.group.is_empty() || catalog.version(&backend.group, &backend.version).is_some() {
            return Ok(Seen::BuiltIn);
        }
        // Backends recognise this server by what is published in their workspace.
        self.front.publish(&self.client, &key.workspace).await?;
        let addresses = match self.relay.addresses(&key.workspace, &backend.service)? {
            Ok(addresses) => addresses,
            Err(why) => return Ok(Seen::Nowhere(why)),
        };
        match self.check(&key.workspace, &backend, &addresses).await {
            Err(message) => Ok(Seen::Silent(message)),
            Ok(list) => {
                let known = self.ask_what_is_served(&key.workspace, &backend, &list).await;
                self.relay.learn(&key.workspace, &backend, known);
                Ok(Seen::Answered)
            }
        }
    }

    async fn record(&self, at: &ObjectRef, registered: &Object, seen: &Seen) -> Result<(), ApiError> {
        let now = timestamp(self.client.ambient().now());
        let Some(conditions) = conditions(registered, condition(seen), &now) else { return Ok(()) };
        let metadata = json!({ "uid": registered.uid(), "resourceVersion": registered.resource_version() });
        let patch = json!({ "metadata": metadata, "status": { "conditions": conditions } });
        self.client.merge(at, Part::Status, &patch).await.map(drop)
    }
}
