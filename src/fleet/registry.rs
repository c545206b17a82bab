//! Keeps the cells: connects to what their objects describe, asks how they are, and writes down what changed.

use super::api::CellError;
use super::capacity;
use super::cell::{AccessRef, CellId, access_ref, is_lost, kubeconfig};
use super::definitions::Doubts;
use super::health::{Pace, Standing, Verdict};
use super::ledger::Ledger;
use super::served::Served;
use super::session::{Access, Connect, Fleet, Session};
use crate::apis::definitions::{CELLS, CLEANUP};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, timestamp};
use apiserver::place::ObjectRef;
use apiserver::strategy::Part;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

/// Cells that are asked at once: those that do not answer must not keep others waiting.
const PROBED_AT_ONCE: usize = 128;

/// How often a cell is asked anew what it serves.
const DISCOVER_EVERY: u32 = 30;

/// How often it is looked how much room a cell has, in probes.
const MEASURE_EVERY: u32 = 3;

/// How often in a row it is asked once its definitions have changed: a new kind is served a moment after it is defined.
const LOOKS: u32 = 4;

/// How soon a cell that is leaving is looked at again: whether anything is left in it.
const LEAVING: Duration = Duration::from_millis(200);

const SECRETS: (&str, &str, &str) = ("", "v1", "secrets");

pub(super) fn controller(
    client: &Client,
    connect: Arc<dyn Connect>,
    fleet: &Fleet,
    ledger: &Arc<Ledger>,
    pace: Pace,
) -> Controller<Registry> {
    let (fleet, ledger, cells) = (fleet.clone(), ledger.clone(), Arc::default());
    let doubts = Doubts { cells: Arc::clone(&cells) };
    let (usual, known) = (Mutex::default(), Mutex::default());
    let registry = Registry { client: client.clone(), connect, fleet, ledger, doubts, pace, usual, known };
    let controller = Controller::new(registry).source(changes_of(client, CELLS, cell_of));
    controller.mailbox(&cells).workers(PROBED_AT_ONCE)
}

fn cell_of(seen: &Seen) -> Option<CellId> {
    let parts = keyspace::parse(&seen.key)?;
    Some(CellId::new(parts.workspace, parts.name))
}

pub(super) struct Registry {
    client: Client,
    connect: Arc<dyn Connect>,
    fleet: Fleet,
    ledger: Arc<Ledger>,
    doubts: Doubts,
    pace: Pace,
    /// What the last cell that was asked serves. Held for one operation.
    usual: Mutex<Arc<Served>>,
    /// What is known of each cell. Held for one operation.
    known: Mutex<HashMap<CellId, Known>>,
}

#[derive(Clone, Debug, Default)]
struct Known {
    standing: Standing,
    /// Probes since it was asked what it serves.
    probes: u32,
    /// How often it is still to be asked soon.
    looks: u32,
    version: String,
}

impl Reconciler for Registry {
    type Key = CellId;

    fn name(&self) -> &'static str {
        "cells"
    }

    async fn reconcile(&self, id: &CellId) -> Result<Action, ApiError> {
        let place = self.client.at(CELLS, &id.workspace, None)?.object(&id.name);
        let Some(cell) = self.client.get(&place).await? else {
            self.forget(id);
            return Ok(Action::Done);
        };
        if cell.is_deleting() {
            if self.is_empty(id, &cell) {
                return self.let_go(&place, &cell).await;
            }
        } else if !cell.finalizers().any(|name| name == CLEANUP) {
            return self.hold(&place, &cell).await;
        }
        if let Some(taints) = dated(&cell, &timestamp(self.client.ambient().now())) {
            let patch =
                json!({ "metadata": { "resourceVersion": cell.resource_version() }, "spec": { "taints": taints } });
            // Its change brings it back here.
            return match self.client.merge(&place, Part::Main, &patch).await {
                Err(error) if !matches!(error.code(), 404 | 409) => Err(error),
                _ => Ok(Action::Done),
            };
        }
        let probed = match self.session(id, &cell).await {
            Ok(session) => self.probe(&session).await,
            Err(error) => self.unusable(id, &error),
        };
        self.record(&place, &cell, &probed).await?;
        let next = probed.standing.next(self.pace, self.client.ambient().below(100));
        let next = if probed.again { next.min(self.pace.soon) } else { next };
        Ok(Action::After(if cell.is_deleting() { next.min(LEAVING) } else { next }))
    }
}

/// What a look at a cell has brought.
struct Probed {
    standing: Standing,
    version: String,
    /// Where it was asked.
    resources: Option<Arc<Served>>,
    /// How much room there is, where it was looked.
    capacity: Option<Value>,
    /// It is to be asked again soon.
    again: bool,
}

impl Registry {
    fn forget(&self, id: &CellId) {
        self.known.lock().remove(id);
        self.fleet.leave(id);
    }

    /// Whether a cell that leaves may go: nothing of ours is in it, or nobody cares any more.
    fn is_empty(&self, id: &CellId, cell: &Object) -> bool {
        let revision = cell.resource_version().parse().map(storage::Revision).unwrap_or_default();
        is_lost(cell) || (self.ledger.knows(revision) && self.ledger.number_in(id) == 0)
    }

    async fn let_go(&self, place: &ObjectRef, cell: &Object) -> Result<Action, ApiError> {
        let left: Vec<&str> = cell.finalizers().filter(|name| *name != CLEANUP).collect();
        self.finalizers(place, cell, &left).await
    }

    async fn hold(&self, place: &ObjectRef, cell: &Object) -> Result<Action, ApiError> {
        let held: Vec<&str> = cell.finalizers().chain([CLEANUP]).collect();
        self.finalizers(place, cell, &held).await
    }

    async fn finalizers(&self, place: &ObjectRef, cell: &Object, finalizers: &[&str]) -> Result<Action, ApiError> {
        let metadata = json!({
            "uid": cell.uid(), "resourceVersion": cell.resource_version(), "finalizers": finalizers,
        });
        match self.client.merge(place, Part::Main, &json!({ "metadata": metadata })).await {
            Err(error) if error.code() != 404 => Err(error),
            // Its change brings it back here.
            _ => Ok(Action::Done),
        }
    }

    /// The session with a cell: the one there is, unless the cell is reached otherwise by now.
    async fn session(&self, id: &CellId, cell: &Object) -> Result<Arc<Session>, CellError> {
        let access = self.access(id, cell).await?;
        if let Some(session) = self.fleet.session(id)
            && session.is_by(&access)
            && session.uid == cell.uid()
        {
            return Ok(session);
        }
        let api = self.connect.connect(&access)?;
        let session = Arc::new(Session::new(id.clone(), cell.uid().to_owned(), api, &access));
        self.known.lock().remove(id);
        self.fleet.enter(session.clone());
        let (watched, settled) = (Arc::downgrade(&session), session.settled());
        tokio::spawn(self.doubts.clone().watch(watched, settled, session.ended()));
        Ok(session)
    }

    async fn access(&self, id: &CellId, cell: &Object) -> Result<Access, CellError> {
        let unusable = |why: String| CellError::Unusable(why);
        match access_ref(cell) {
            AccessRef::Workspace(workspace) => Ok(Access::Workspace(workspace)),
            AccessRef::Nothing => Err(unusable("spec has neither secretRef nor workspace".to_owned())),
            AccessRef::Secret { namespace, name } => {
                let secrets = self.client.at(SECRETS, &id.workspace, Some(&namespace));
                let place = secrets.map_err(|error| unusable(error.message().to_owned()))?.object(&name);
                let secret = self.client.get(&place).await.map_err(|error| unusable(error.message().to_owned()))?;
                let secret = secret.ok_or_else(|| unusable(format!("no such Secret: {namespace}/{name}")))?;
                let text = kubeconfig(cell, &secret);
                let text = text.ok_or_else(|| {
                    unusable(format!("Secret {namespace}/{name} has neither a kubeconfig nor a token"))
                })?;
                Ok(Access::Kubeconfig(text))
            }
        }
    }

    async fn probe(&self, session: &Session) -> Probed {
        let known = self.known.lock().get(&session.cell).cloned().unwrap_or_default();
        let Known { standing, probes, looks, version } = known;
        let looks = if session.take_doubt() { LOOKS } else { looks };
        let mut answer = session.api.ready().await;
        let (mut resources, mut said) = (None, version);
        let regular = !standing.is_ready() || probes % DISCOVER_EVERY == 0;
        if answer.is_ok() && (regular || looks > 0) {
            match discover(session).await {
                Ok((version, found)) => (said, resources) = (version, Some(self.shared(found))),
                Err(error) => answer = Err(error),
            }
        }
        // What is as it was when it was last compared with what is written down need not be compared again.
        let same = |found: &Arc<Served>| !regular && Arc::ptr_eq(found, &session.resources());
        resources = resources.filter(|found| !same(found));
        let measures = answer.is_ok() && (!standing.is_ready() || probes % MEASURE_EVERY == 0);
        let capacity = if measures { measure(session).await } else { None };
        let standing = standing.after(answer.as_ref().copied());
        self.fleet.settle(session, standing.is_ready(), resources.clone());
        let (probes, looks) = (probes.wrapping_add(1), looks.saturating_sub(1));
        let known = Known { standing: standing.clone(), probes, looks, version: said.clone() };
        self.known.lock().insert(session.cell.clone(), known);
        Probed { standing, version: said, resources, capacity, again: looks > 0 }
    }

    /// What a cell serves, kept once for all that serve the same: most cells of a fleet do.
    fn shared(&self, found: Served) -> Arc<Served> {
        let mut usual = self.usual.lock();
        if **usual != found {
            *usual = Arc::new(found);
        }
        usual.clone()
    }

    /// A cell that cannot even be tried.
    fn unusable(&self, id: &CellId, error: &CellError) -> Probed {
        self.fleet.leave(id);
        let standing = Standing::default().after(Err(error));
        Probed { standing, version: String::new(), resources: None, capacity: None, again: false }
    }

    /// Writes down what is not written yet: a cell that stays as it is costs no write.
    async fn record(&self, place: &ObjectRef, cell: &Object, probed: &Probed) -> Result<(), ApiError> {
        let now = timestamp(self.client.ambient().now());
        let patch = status_patch(cell, probed, &now);
        if patch.as_object().is_none_or(serde_json::Map::is_empty) {
            return Ok(());
        }
        match self.client.merge(place, Part::Status, &json!({ "status": patch })).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(()),
        }
    }
}

/// Taints that send objects away, with when they came to be where nobody said: some are tolerated for a while.
fn dated(cell: &Object, now: &Value) -> Option<Vec<Value>> {
    let undated = |taint: &Value| taint["effect"] == "NoExecute" && taint["timeAdded"].is_null();
    if !cell.items(&["spec", "taints"]).any(undated) {
        return None;
    }
    let date = |taint: &Value| {
        let mut taint = taint.clone();
        if undated(&taint) {
            taint["timeAdded"] = now.clone();
        }
        taint
    };
    Some(cell.items(&["spec", "taints"]).map(date).collect())
}

async fn discover(session: &Session) -> Result<(String, Served), CellError> {
    let version = session.api.version().await?;
    Ok((version, Served::new(session.api.resources().await?)))
}

/// How much room a cell has, if it has nodes and lets us look at them.
async fn measure(session: &Session) -> Option<Value> {
    let nodes = session.versions_of("", "Node").into_iter().next()?;
    let pods = session.versions_of("", "Pod").into_iter().next()?;
    let nodes = session.api.list(&nodes, "").await.ok()?.items;
    if nodes.is_empty() {
        return None;
    }
    let pods = session.api.list(&pods, "").await.ok()?.items;
    capacity::summary(&nodes, &pods)
}

/// What of the status has to be written.
fn status_patch(cell: &Object, probed: &Probed, now: &Value) -> Value {
    let mut patch = json!({});
    let (status, reason, message) = match &probed.standing.verdict {
        Some(Verdict::Ready) => ("True", "CellReady", "the cell answers"),
        Some(Verdict::NotReady { reason, message }) => ("False", reason.as_str(), message.as_str()),
        Some(Verdict::Unreachable { message }) => ("Unknown", "CellUnreachable", message.as_str()),
        None => return patch,
    };
    let found = cell.items(&["status", "conditions"]).find(|condition| condition["type"] == "Ready");
    let same = |key: &str, value: &str| found.is_some_and(|found| found[key] == value);
    // The words of a failure change from probe to probe; that is no transition.
    if !same("status", status) || !same("reason", reason) {
        let since = if same("status", status) { found.map(|found| found["lastTransitionTime"].clone()) } else { None };
        let ready = json!({
            "type": "Ready", "status": status, "reason": reason, "message": message,
            "lastTransitionTime": since.unwrap_or_else(|| now.clone()),
        });
        let others = cell.items(&["status", "conditions"]).filter(|condition| condition["type"] != "Ready").cloned();
        patch["conditions"] = others.chain([ready]).collect();
    }
    if !probed.version.is_empty() && cell.text(&["status", "kubernetesVersion"]) != probed.version {
        patch["kubernetesVersion"] = json!(probed.version);
    }
    if let Some(resources) = &probed.resources {
        let served = summary(resources);
        if cell.pointer(&["status", "apiEnablements"]) != Some(&served) {
            patch["apiEnablements"] = served;
        }
    }
    for (key, value) in probed.capacity.as_ref().and_then(Value::as_object).into_iter().flatten() {
        if cell.pointer(&["status", key]) != Some(value) {
            patch[key] = value.clone();
        }
    }
    patch
}

/// What a cell serves, by group and version.
fn summary(resources: &Served) -> Value {
    let mut by_version: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for resource in resources.iter() {
        let entry = json!({ "name": resource.plural, "kind": resource.kind });
        by_version.entry(resource.api_version()).or_default().push(entry);
    }
    by_version
        .into_iter()
        .map(|(version, resources)| json!({ "groupVersion": version, "resources": resources }))
        .collect()
}
