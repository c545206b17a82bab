//! A namespace that is to go is emptied first: pods, then everything else, then whatever waits for finalizers.

mod conditions;
mod content;
mod elsewhere;

use super::key::{NAMESPACES, NamespaceKey};
use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::catalog::ResourceDef;
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek, timestamp};
use apiserver::options::{DeleteOptions, Propagation};
use apiserver::place::{Collection, Workspace};
use apiserver::relay::Relay;
use apiserver::strategy::Part;
use conditions::Facts;
use content::{Content, Item};
use futures_util::{StreamExt, stream};
use openapi::scalar::time::{Instant, Precision};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;
use storage::ReadError;

/// The finalizer in the spec of a namespace that stands for its content.
const CONTENT: &str = "kubernetes";

/// Deletions on their way at once: enough to fill a commit.
const DELETIONS_AT_ONCE: usize = 64;

/// How soon content that waits for somebody else is looked at again although nothing changed in it.
const WAIT_MIN: Duration = Duration::from_secs(1);
const WAIT_MAX: Duration = Duration::from_mins(1);

pub(super) fn controller(client: &Client, relay: Option<&Relay>) -> Controller<Namespaces> {
    let source = Going { client: client.clone(), namespaces: HashSet::new() };
    Controller::new(Namespaces { client: client.clone(), relay: relay.cloned() }).source(source)
}

/// The namespaces that are to go, for as long as they are there: a change of anything in them needs a look.
struct Going {
    client: Client,
    namespaces: HashSet<NamespaceKey>,
}

impl Source for Going {
    type Key = NamespaceKey;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        self.namespaces.clear();
        self.client.follow_all()
    }

    fn keys(&mut self, seen: &Seen) -> Vec<NamespaceKey> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        if (parts.group, parts.resource) != (NAMESPACES.0, NAMESPACES.2) {
            if self.namespaces.is_empty() {
                return Vec::new();
            }
            return NamespaceKey::containing(seen).filter(|key| self.namespaces.contains(key)).into_iter().collect();
        }
        let Some(key) = NamespaceKey::of_namespace(seen) else { return Vec::new() };
        let going = |version| Peek::new(version).text(&["metadata", "deletionTimestamp"]).is_some();
        if seen.now.as_ref().is_some_and(going) {
            self.namespaces.insert(key.clone());
            return vec![key];
        }
        self.namespaces.remove(&key);
        Vec::new()
    }
}

pub(super) struct Namespaces {
    client: Client,
    /// The way to others who may have something in a namespace.
    relay: Option<Relay>,
}

/// What a look at the content of a namespace leads to.
enum Step {
    Delete(Vec<Item>),
    /// Everything is going already.
    Wait,
    Finish,
}

fn decide(content: &mut Content) -> Step {
    let doomed = content.take_doomed();
    if !doomed.is_empty() {
        Step::Delete(doomed)
    } else if content.is_empty() {
        Step::Finish
    } else {
        Step::Wait
    }
}

impl Reconciler for Namespaces {
    type Key = NamespaceKey;

    fn name(&self) -> &'static str {
        "namespaces"
    }

    async fn reconcile(&self, key: &NamespaceKey) -> Result<Action, ApiError> {
        let found = self.client.get(&key.place(&self.client)?).await?;
        let Some(namespace) = found.filter(is_held) else { return Ok(Action::Done) };
        let mut content = self.content(key)?;
        match decide(&mut content) {
            Step::Delete(doomed) => self.delete(key, &namespace, doomed).await,
            Step::Wait => {
                self.tell(key, &namespace, &content.facts()).await?;
                Ok(Action::After(wait(&namespace, self.client.ambient().now())))
            }
            Step::Finish => {
                let elsewhere = self.empty_elsewhere(key).await?;
                if elsewhere.is_clear() {
                    return self.finish(key, namespace, &content.facts()).await;
                }
                self.tell(key, &namespace, &elsewhere).await?;
                Ok(Action::After(wait(&namespace, self.client.ambient().now())))
            }
        }
    }
}

/// Whether a namespace is to go, and its content is not yet known to be gone.
fn is_held(namespace: &Object) -> bool {
    namespace.is_deleting() && finalizers(namespace).any(|name| name == CONTENT)
}

fn finalizers(namespace: &Object) -> impl Iterator<Item = &Value> {
    namespace.pointer(&["spec", "finalizers"]).and_then(Value::as_array).into_iter().flatten()
}

/// As long as it has waited already: soon at first, then less and less often.
fn wait(namespace: &Object, now: Instant) -> Duration {
    let since = Instant::parse(namespace.text(&["metadata", "deletionTimestamp"]), Precision::Seconds);
    let waited = since.map_or(0, |since| now.seconds.saturating_sub(since.seconds));
    Duration::from_secs(u64::try_from(waited).unwrap_or_default()).clamp(WAIT_MIN, WAIT_MAX)
}

impl Namespaces {
    /// What is in the namespace. The namespace was read before: nothing was made in it since it is to go.
    fn content(&self, key: &NamespaceKey) -> Result<Content, ApiError> {
        let (mut content, now) = (Content::default(), self.client.ambient().now());
        for resource in self.in_order(&key.workspace)? {
            let pods = resource.plural == "pods";
            let namespace = Some(key.name.clone());
            let place = Collection { resource, workspace: key.workspace.clone(), namespace };
            for entry in self.client.scan(&place)? {
                content.add(Item::read(&place, &entry?, now));
                if content.is_full() {
                    return Ok(content);
                }
            }
            if pods && !content.is_empty() {
                break;
            }
        }
        Ok(content)
    }

    /// What can be in a namespace: pods first, because what else is there may be what they need to end well.
    fn in_order(&self, workspace: &Workspace) -> Result<Vec<Arc<ResourceDef>>, ApiError> {
        let catalog = self.client.catalog(workspace)?;
        let all = catalog.stored().filter(|resource| resource.namespaced && resource.allows("delete"));
        let mut all: Vec<_> = all.cloned().collect();
        all.sort_by_key(|resource| (&*resource.group, &*resource.plural) != ("", "pods"));
        Ok(all)
    }

    async fn delete(&self, key: &NamespaceKey, was: &Object, doomed: Vec<Item>) -> Result<Action, ApiError> {
        let results = stream::iter(doomed).map(|item| self.delete_one(item)).buffer_unordered(DELETIONS_AT_ONCE);
        let errors: Vec<ApiError> = results.filter_map(async |result| result.err()).collect().await;
        let Some(first) = errors.first().cloned() else { return Ok(Action::After(Duration::ZERO)) };
        let failures = errors.iter().map(ToString::to_string).collect();
        self.tell(key, was, &Facts { failures, ..Facts::default() }).await?;
        Err(first)
    }

    async fn delete_one(&self, item: Item) -> Result<(), ApiError> {
        let grace_secs = item.overdue.then_some(0);
        let propagation = Some(Propagation::Background);
        let how = DeleteOptions { grace_secs, uid: Some(item.uid), propagation, ..DeleteOptions::default() };
        match self.client.delete(&item.at, &how).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(()),
        }
    }

    /// Writes down how the deletion is doing, unless that is known.
    async fn tell(&self, key: &NamespaceKey, was: &Object, facts: &Facts) -> Result<(), ApiError> {
        let now = timestamp(self.client.ambient().now());
        let Some(conditions) = conditions::updated(was, facts, &now) else { return Ok(()) };
        let patch = json!({ "metadata": seen(was), "status": { "conditions": conditions } });
        self.client.merge(&key.place(&self.client)?, Part::Status, &patch).await?;
        Ok(())
    }

    async fn finish(&self, key: &NamespaceKey, mut was: Object, facts: &Facts) -> Result<Action, ApiError> {
        let rest: Vec<Value> = finalizers(&was).filter(|name| *name != CONTENT).cloned().collect();
        let stays = !rest.is_empty() || was.finalizers().next().is_some();
        let place = key.place(&self.client)?;
        if stays {
            self.tell(key, &was, facts).await?;
            let Some(told) = self.client.get(&place).await? else { return Ok(Action::Done) };
            was = told;
        }
        let patch = json!({ "metadata": seen(&was), "spec": { "finalizers": rest } });
        self.client.merge(&place, Part::Finalizers, &patch).await?;
        Ok(Action::Done)
    }
}

/// The version of an object that a decision was made about.
fn seen(object: &Object) -> Value {
    json!({ "uid": object.uid(), "resourceVersion": object.resource_version() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(waited_secs: i64, expect: u64) {
        let namespace = json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } });
        let start = Instant::parse("2026-01-01T00:00:00Z", Precision::Seconds).unwrap();
        let now = Instant { seconds: start.seconds + waited_secs, ..start };
        assert_eq!(wait(&namespace.try_into().unwrap(), now).as_secs(), expect);
    }

    #[test]
    fn the_longer_it_has_waited_the_longer_it_waits() {
        check(-5, 1);
        check(0, 1);
        check(4, 4);
        check(3600, 60);
    }
}
