//! Definitions of custom resources: one that goes takes its objects along, and one whose names were taken is looked at
//! again when they may be free.

use crate::controller::{Action, Controller, Reconciler, Source};
use apiserver::client::{Client, Follow, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::{Object, Peek};
use apiserver::options::{DeleteOptions, Propagation};
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::strategy::Part;
use apiserver::strategy::definitions::{CLEANUP, is_true};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};
use std::time::Duration;
use storage::ReadError;

const DEFINITIONS: (&str, &str, &str) = ("apiextensions.k8s.io", "v1", "customresourcedefinitions");

/// Deletions on their way at once: enough to fill a commit.
const DELETIONS_AT_ONCE: usize = 64;

/// Objects that are deleted before the rest is looked at: bounds how much is held at once.
const DOOMED_MAX: usize = 1024;

/// How soon objects that wait for somebody else are looked at again although nothing changed in them.
const WAIT: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DefinitionKey {
    workspace: Workspace,
    name: String,
}

pub(crate) fn controller(client: &Client) -> Controller<Definitions> {
    Controller::new(Definitions { client: client.clone() }).source(Unsettled::new(client))
}

/// Definitions that are not as they should be: those that are going, woken by every change of their objects, and those
/// that wait for a name, woken by every change of another definition that may have it.
struct Unsettled {
    client: Client,
    going: HashSet<DefinitionKey>,
    /// By the workspaces whose definitions they wait for.
    waiting: HashMap<Workspace, HashSet<DefinitionKey>>,
    /// Which those are: their own, and the one that lends it something.
    waits_for: HashMap<DefinitionKey, Vec<Workspace>>,
}

impl Unsettled {
    fn new(client: &Client) -> Self {
        Self { client: client.clone(), going: HashSet::new(), waiting: HashMap::new(), waits_for: HashMap::new() }
    }

    fn of_definition(&mut self, seen: &Seen, parts: Parts<'_>) -> Vec<DefinitionKey> {
        let key = DefinitionKey { workspace: Workspace::new(parts.workspace), name: parts.name.to_owned() };
        let peek = seen.now.as_ref().map(Peek::new);
        let is_going = peek.is_some_and(|peek| peek.text(&["metadata", "deletionTimestamp"]).is_some());
        let waits = peek.is_some_and(|peek| !is_going && is_refused(peek));
        let mut keys: Vec<DefinitionKey> = self.waiting.get(&key.workspace).into_iter().flatten().cloned().collect();
        keys.retain(|other| *other != key);
        self.forget(&key);
        if waits {
            self.remember(&key);
        }
        self.going.remove(&key);
        if is_going {
            self.going.insert(key.clone());
            keys.push(key);
        }
        keys
    }
}

impl Unsettled {
    fn remember(&mut self, key: &DefinitionKey) {
        let lender = self.client.lender(&key.workspace).ok().flatten();
        let others: Vec<Workspace> = [key.workspace.clone()].into_iter().chain(lender).collect();
        for other in &others {
            self.waiting.entry(other.clone()).or_default().insert(key.clone());
        }
        self.waits_for.insert(key.clone(), others);
    }

    fn forget(&mut self, key: &DefinitionKey) {
        for other in self.waits_for.remove(key).into_iter().flatten() {
            let Entry::Occupied(mut waiting) = self.waiting.entry(other) else { continue };
            waiting.get_mut().remove(key);
            if waiting.get().is_empty() {
                waiting.remove();
            }
        }
    }
}

fn is_refused(definition: Peek<'_>) -> bool {
    let conditions: Vec<Value> = definition.value(&["status", "conditions"]).unwrap_or_default();
    conditions.iter().any(|condition| condition["type"] == "NamesAccepted" && condition["status"] == "False")
}

impl Source for Unsettled {
    type Key = DefinitionKey;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        self.going.clear();
        self.waiting.clear();
        self.waits_for.clear();
        self.client.follow_all()
    }

    fn keys(&mut self, seen: &Seen) -> Vec<DefinitionKey> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        if (parts.group, parts.resource) == (DEFINITIONS.0, DEFINITIONS.2) {
            return self.of_definition(seen, parts);
        }
        if self.going.is_empty() {
            return Vec::new();
        }
        let name = format!("{}.{}", parts.resource, parts.group);
        // What is lent goes with the definition of the lender.
        let key = DefinitionKey { workspace: Workspace::new(parts.identity.unwrap_or(parts.workspace)), name };
        self.going.contains(&key).then_some(key).into_iter().collect()
    }
}

pub(crate) struct Definitions {
    client: Client,
}

/// What a look at a definition leads to.
#[derive(Debug)]
enum Step {
    Nothing,
    /// Its names may be free now.
    AskAgain,
    Delete(Vec<ObjectRef>),
    /// All of its objects are going.
    Wait,
    LetGo,
}

impl Reconciler for Definitions {
    type Key = DefinitionKey;

    fn name(&self) -> &'static str {
        "definitions"
    }

    async fn reconcile(&self, key: &DefinitionKey) -> Result<Action, ApiError> {
        let place = self.client.at(DEFINITIONS, &key.workspace, None)?.object(&key.name);
        let Some(definition) = self.client.get(&place).await? else { return Ok(Action::Done) };
        match self.decide(key, &definition)? {
            Step::Nothing => Ok(Action::Done),
            Step::AskAgain => self.write(&place, json!({ "metadata": seen(&definition) })).await,
            Step::Wait => Ok(Action::After(WAIT)),
            Step::Delete(doomed) => self.delete(doomed).await,
            Step::LetGo => {
                let left: Vec<&str> = definition.finalizers().filter(|name| *name != CLEANUP).collect();
                let mut metadata = seen(&definition);
                metadata["finalizers"] = json!(left);
                self.write(&place, json!({ "metadata": metadata })).await
            }
        }
    }
}

impl Definitions {
    fn decide(&self, key: &DefinitionKey, definition: &Object) -> Result<Step, ApiError> {
        if !definition.is_deleting() {
            let refused = !is_true(definition, "NamesAccepted");
            return Ok(if refused { Step::AskAgain } else { Step::Nothing });
        }
        if !definition.finalizers().any(|name| name == CLEANUP) {
            return Ok(Step::Nothing);
        }
        let own = (self.client.catalog(&key.workspace)?, &key.workspace);
        let lent = (self.client.lent_catalog(&key.workspace)?, &Workspace::everywhere());
        let (group, plural) = (definition.text(&["spec", "group"]), definition.text(&["spec", "names", "plural"]));
        // What was never served has no objects.
        let places = [own, lent].into_iter().filter_map(|(catalog, workspace)| {
            let resource = catalog.stored_as(group, plural)?.clone();
            Some(Collection { resource, workspace: workspace.clone(), namespace: None })
        });
        let scans = places.map(|place| self.client.scan(&place)).collect::<Result<Vec<_>, _>>()?;
        let (mut doomed, mut left) = (Vec::new(), false);
        for entry in scans.into_iter().flatten() {
            let entry = entry?;
            left = true;
            if Peek::new(&entry.version).text(&["metadata", "deletionTimestamp"]).is_none() {
                doomed.extend(self.client.place_of(&entry.key));
            }
            if doomed.len() == DOOMED_MAX {
                break;
            }
        }
        Ok(match (doomed.is_empty(), left) {
            (false, _) => Step::Delete(doomed),
            (true, true) => Step::Wait,
            (true, false) => Step::LetGo,
        })
    }

    async fn delete(&self, doomed: Vec<ObjectRef>) -> Result<Action, ApiError> {
        let how = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        let results = stream::iter(doomed).map(|at| {
            let how = &how;
            async move { self.client.delete(&at, how).await }
        });
        let mut results = results.buffer_unordered(DELETIONS_AT_ONCE);
        while let Some(result) = results.next().await {
            match result {
                Err(error) if error.code() != 404 => return Err(error),
                _ => {}
            }
        }
        Ok(Action::After(Duration::ZERO))
    }

    async fn write(&self, place: &ObjectRef, patch: Value) -> Result<Action, ApiError> {
        match self.client.merge(place, Part::Main, &patch).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}

/// The version of an object that a decision was made about.
fn seen(object: &Object) -> Value {
    json!({ "uid": object.uid(), "resourceVersion": object.resource_version() })
}
