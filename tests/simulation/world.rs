//! A hub in memory with its controllers, which can be stopped and started, and fake cells.

use super::fake::{FakeCell, Place};
use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::resources::Resources;
use apiserver::strategy::Part;
use hanse::apis::definitions::{self, CELLS, COPIES, PLACEMENTS, RULES};
use hanse::dialects::{Book, karmada, native};
use hanse::fleet::api::{CellApi, CellError};
use hanse::fleet::{self, Access, Connect, Ledger, Pace};
use hanse::scheduler::controller::{self as scheduler, Rulebook};
use hanse::syncer::audit::{Evidence, Found, audit, cell_name};
use hanse::syncer::{mark, run as syncer};
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use storage::{Options, Store};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) type Resource = (&'static str, &'static str, &'static str);
pub(crate) const NAMESPACES: Resource = ("", "v1", "namespaces");
pub(crate) const CONFIG_MAPS: Resource = ("", "v1", "configmaps");

const POLICIES: Resource = ("policy.karmada.io", "v1alpha1", "propagationpolicies");
const SCRIPTS: Resource = ("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations");

const HUB: &str = "hub";

/// A condition that takes longer will not come true.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone, Default)]
struct Fakes(BTreeMap<String, FakeCell>);

impl Connect for Fakes {
    fn connect(&self, access: &Access) -> Result<Arc<dyn CellApi>, CellError> {
        let Access::Workspace(name) = access else { return Err(CellError::Unusable("only fakes".to_owned())) };
        let cell = self.0.get(name).cloned().ok_or_else(|| CellError::Unusable(format!("no fake {name}")))?;
        Ok(Arc::new(cell))
    }
}

pub(crate) struct World {
    pub(crate) client: Client,
    resources: Resources,
    pub(crate) workspace: Workspace,
    pub(crate) cells: BTreeMap<String, FakeCell>,
    clock: Arc<AtomicI64>,
    running: Option<Running>,
}

/// The controllers, on threads of their own, so that they can be killed in the middle of anything.
struct Running {
    runtime: Runtime,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Running {
    /// What it is in the middle of is never finished.
    async fn end(self) {
        let ended = tokio::task::spawn_blocking(move || self.runtime.shutdown_timeout(PATIENCE));
        ended.await.expect("the threads end");
    }
}

/// A runtime must not be dropped where others wait.
impl Drop for World {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.runtime.shutdown_background();
        }
    }
}

impl World {
    /// A hub with the namespace `n`, cells of these names, and a rule that sends every ConfigMap with the label
    /// `go: everywhere` to all of them.
    pub(crate) async fn new(seed: u64, cells: &[&str]) -> Self {
        let store = Store::open(&storage::Place::Memory, Options::default()).unwrap();
        let dice = AtomicU64::new(seed);
        let clock = Arc::new(AtomicI64::new(1_800_000_000));
        let then = clock.clone();
        let ambient = Ambient::new(
            move || Instant { seconds: then.load(Ordering::Relaxed), nanos: 0 },
            move || {
                u128::from(dice.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
            },
        );
        let given = native::definitions::definitions().into_iter().chain(definitions::all());
        let given = given.chain(karmada::definitions::definitions());
        let given = given.map(|definition| Object::try_from(definition).unwrap());
        let catalog = Catalog::given(&Arc::new(Catalog::builtin()), given);
        let resources = Resources::new(store, Arc::new(catalog), ambient);
        let client = Client::as_system(resources.clone(), "test");
        let fakes = cells.iter().zip(seed..).map(|(name, seed)| ((*name).to_owned(), FakeCell::new(seed)));
        let workspace = Workspace::new("w");
        let mut world = Self { client, resources, workspace, cells: fakes.collect(), clock, running: None };
        world.make(NAMESPACES, None, json!({ "metadata": { "name": "n" } })).await;
        for name in cells {
            world.join(name).await;
        }
        let objects = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": { "matchLabels": { "go": "everywhere" } } }]);
        let cells = json!({ "labelSelector": { "matchExpressions": [{ "key": "off", "operator": "DoesNotExist" }] } });
        let spec = json!({ "objects": objects, "cells": cells, "nothingFits": "Withdraw" });
        world.make(RULES, None, json!({ "metadata": { "name": "all" }, "spec": spec })).await;
        world.start();
        world
    }

    pub(crate) async fn join(&self, name: &str) {
        let spec = json!({ "workspace": name });
        self.make(CELLS, None, json!({ "metadata": { "name": name }, "spec": spec })).await;
    }

    /// The clock is set, forwards or backwards.
    pub(crate) fn jump(&self, seconds: i64) {
        self.clock.fetch_add(seconds, Ordering::Relaxed);
    }

    /// A cell is wanted by the rule from now on, or is not.
    pub(crate) async fn relabel(&self, cell: &str, off: bool) {
        let patch = json!({ "metadata": { "labels": { "off": off.then_some("yes") } } });
        let _ = self.client.merge(&self.at(CELLS, None, cell), Part::Main, &patch).await;
    }

    /// What is in a cell is sent away from now on, or is not.
    pub(crate) async fn taint(&self, cell: &str, tainted: bool) {
        let taints = tainted.then(|| json!([{ "key": "down", "effect": "NoExecute" }]));
        let _ =
            self.client.merge(&self.at(CELLS, None, cell), Part::Main, &json!({ "spec": { "taints": taints } })).await;
    }

    /// A rule that sends ConfigMaps with the label `go: one` to one cell.
    pub(crate) async fn choose_one(&self) {
        let objects =
            json!([{ "apiVersion": "v1", "kind": "ConfigMap", "labelSelector": { "matchLabels": { "go": "one" } } }]);
        let spec = json!({ "objects": objects, "cells": { "pick": 1 } });
        self.make(RULES, None, json!({ "metadata": { "name": "one" }, "spec": spec })).await;
    }

    /// The cells that hold a ConfigMap of this name.
    pub(crate) fn holders(&self, name: &str) -> Vec<String> {
        let holds = |cell: &FakeCell| cell.objects().keys().any(|place| place[1] == "configmaps" && place[3] == name);
        self.cells.iter().filter(|(_, cell)| holds(cell)).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn start(&mut self) {
        self.start_with(true);
    }

    /// Starts everything, or all but what reads rules and decides.
    pub(crate) fn start_with(&mut self, decides: bool) {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let entered = runtime.enter();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let client = |name: &str| Client::as_system(self.resources.clone(), name);
        let book: Arc<dyn Rulebook> = Arc::new(Book::default());
        let ledger = Arc::new(Ledger::default());
        let millis = Duration::from_millis;
        let pace = Pace { every: millis(50), soon: millis(5), away: millis(50) };
        let fakes = Arc::new(Fakes(self.cells.clone()));
        let fleet = fleet::start(&client("fleet"), fakes, (&ledger, pace), &tasks, &stop);
        if decides {
            scheduler::start(&client("scheduler"), HUB, &book, &tasks, &stop);
        }
        syncer::start(&client("syncer"), HUB, &book, (&fleet, &ledger), &tasks, &stop);
        tasks.close();
        drop(entered);
        self.running = Some(Running { runtime, tasks, stop });
    }

    pub(crate) async fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop.cancel();
            tokio::time::timeout(PATIENCE, running.tasks.wait()).await.expect("the controllers end");
            running.end().await;
        }
    }

    /// Ends whatever runs, wherever it is.
    pub(crate) async fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.end().await;
        }
    }

    pub(crate) fn at(&self, resource: Resource, namespace: Option<&str>, name: &str) -> ObjectRef {
        self.client.at(resource, &self.workspace, namespace).unwrap().object(name)
    }

    /// What goes everywhere says this there from now on, besides what it says here.
    pub(crate) async fn add_everywhere(&self, value: Option<&str>) {
        let added = |value: &str| {
            let patch = json!([{ "path": "/data/w", "operator": "add", "value": value }]);
            json!([{ "overriders": { "plaintext": patch } }])
        };
        let patch = json!({ "spec": { "overrides": value.map(added) } });
        self.client.merge(&self.at(RULES, None, "all"), Part::Main, &patch).await.unwrap();
    }

    /// Policies of Karmada that send ConfigMaps with the label `go` to one cell, which they leave when it is tainted or
    /// silent: one of them takes the old copy back before there is a new one, the other after.
    pub(crate) async fn choose_and_move(&self) {
        for (name, purge) in [("directly", "Directly"), ("gracefully", "Gracefully")] {
            let selectors = json!([{ "apiVersion": "v1", "kind": "ConfigMap",
                "labelSelector": { "matchLabels": { "go": name } } }]);
            let placement = json!({
                "clusterAffinity": { "labelSelector": { "matchExpressions": [{ "key": "off", "operator": "DoesNotExist" }] } },
                "spreadConstraints": [{ "spreadByField": "cluster", "minGroups": 1, "maxGroups": 1 }],
            });
            let spec = json!({ "resourceSelectors": selectors, "placement": placement,
                "failover": { "cluster": { "purgeMode": purge } } });
            self.make(POLICIES, Some("n"), json!({ "metadata": { "name": name }, "spec": spec })).await;
        }
    }

    /// For how long the policies let their objects stay in a tainted cell: not at all, so many seconds, or for ever.
    pub(crate) async fn tolerate(&self, seconds: Option<u64>, tolerated: bool) {
        let toleration =
            json!({ "key": "down", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds });
        let tolerations = if tolerated { json!([toleration]) } else { json!(null) };
        for name in ["directly", "gracefully"] {
            let patch = json!({ "spec": { "placement": { "clusterTolerations": tolerations } } });
            let _ = self.client.merge(&self.at(POLICIES, Some("n"), name), Part::Main, &patch).await;
        }
    }

    /// ConfigMaps are interpreted by scripts from now on, or no more.
    pub(crate) async fn script(&self, scripted: bool) {
        if !scripted {
            return self.delete(SCRIPTS, None, "maps").await;
        }
        let script = |text: &str| json!({ "luaScript": text });
        let customizations = json!({
            "healthInterpretation": script("function InterpretHealth(observed) return observed.data ~= nil end"),
            "retention": script("function Retain(desired, observed) return desired end"),
        });
        let target = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
        let spec = json!({ "target": target, "customizations": customizations });
        let place = self.client.at(SCRIPTS, &self.workspace, None).unwrap();
        // It may be there.
        let _ = self.client.create(&place, json!({ "metadata": { "name": "maps" }, "spec": spec })).await;
    }

    pub(crate) async fn make(&self, resource: Resource, namespace: Option<&str>, tree: Value) -> Object {
        let place = self.client.at(resource, &self.workspace, namespace).unwrap();
        self.client.create(&place, tree).await.unwrap()
    }

    /// A ConfigMap in `n` that goes everywhere.
    pub(crate) async fn send(&self, name: &str, value: &str) {
        self.send_by("everywhere", name, value).await;
    }

    /// A ConfigMap in `n` that goes where the rule for this label says.
    pub(crate) async fn send_by(&self, label: &str, name: &str, value: &str) {
        let metadata = json!({ "name": name, "labels": { "go": label } });
        let place = self.client.at(CONFIG_MAPS, &self.workspace, Some("n")).unwrap();
        // It may be there, on its way out.
        let _ = self.client.create(&place, json!({ "metadata": metadata, "data": { "v": value } })).await;
    }

    pub(crate) async fn change(&self, name: &str, value: &str) {
        let patch = json!({ "data": { "v": value } });
        let _ = self.client.merge(&self.at(CONFIG_MAPS, Some("n"), name), Part::Main, &patch).await;
    }

    pub(crate) async fn delete(&self, resource: Resource, namespace: Option<&str>, name: &str) {
        let _ = self.client.delete(&self.at(resource, namespace, name), &DeleteOptions::default()).await;
    }

    pub(crate) async fn list(&self, resource: Resource) -> Vec<Value> {
        let place = self.client.at(resource, &self.workspace, None).unwrap();
        self.client.list(&place).await.unwrap().into_iter().map(Value::from).collect()
    }

    /// Waits until it is so, looking whenever anything changes in the hub.
    pub(crate) async fn until(&self, what: &str, is_so: impl AsyncFn(&Self) -> bool) {
        let mut follow = self.client.follow_all().unwrap();
        let watch = async {
            while !is_so(self).await {
                // Cells change without the hub being told, so it is looked now and then, too.
                let _ = tokio::time::timeout(Duration::from_millis(20), follow.next()).await;
            }
        };
        if tokio::time::timeout(PATIENCE, watch).await.is_err() {
            let wrong: Vec<String> = self.wrong().await;
            panic!("it never came true: {what}; {wrong:#?}");
        }
    }

    /// Everything that is not as it should be when all is quiet.
    pub(crate) async fn wrong(&self) -> Vec<String> {
        let evidence = Evidence {
            copies: self.list(COPIES).await,
            placements: self.list(PLACEMENTS).await,
            cells: self.cells.iter().map(|(name, cell)| (cell_name("w", name), Some(marked(cell)))).collect(),
        };
        let mut wrong: Vec<String> = audit(&evidence).iter().map(ToString::to_string).collect();
        let sources = self.list(CONFIG_MAPS).await;
        wrong.extend(evidence.copies.iter().filter_map(doubt));
        let (cells, rules) = (self.list(CELLS).await, self.list(RULES).await);
        let all = rules.iter().find(|rule| rule["metadata"]["name"] == "all");
        let added = all.map(|rule| rule["spec"]["overrides"][0]["overriders"]["plaintext"][0]["value"].clone());
        let added = added.unwrap_or_default();
        for (name, cell) in &self.cells {
            let known = cells.iter().find(|cell| cell["metadata"]["name"] == name.as_str());
            let off = known.is_none_or(|cell| !cell["metadata"]["labels"]["off"].is_null());
            let sources = if off { &[] } else { sources.as_slice() };
            wrong.extend(differences(name, &cell.objects(), sources, &added));
        }
        for source in sources.iter().filter(|source| is_moving(source)) {
            let decided = |placement: &&Value| placement["spec"]["source"]["uid"] == source["metadata"]["uid"];
            let decided = evidence.placements.iter().find(decided).map(|placement| &placement["spec"]);
            wrong.extend(self.misplaced(source).map(|misplaced| format!("{misplaced}: {decided:?}")));
        }
        wrong
    }

    /// Whether an object that goes to one cell is elsewhere, or something else.
    fn misplaced(&self, source: &Value) -> Option<String> {
        let name = source["metadata"]["name"].as_str().unwrap();
        let holders = self.holders(name);
        let says = |cell: &FakeCell| {
            let objects = cell.objects();
            objects.iter().any(|(place, object)| place[3] == name && object["data"]["v"] == source["data"]["v"])
        };
        let right = holders.len() == 1 && says(&self.cells[&holders[0]]);
        (!right).then(|| format!("{name} should be in one cell and say {}, and is in {holders:?}", source["data"]["v"]))
    }

    pub(crate) async fn converged(&self) {
        self.until("everything is where it should be", async |world: &Self| world.wrong().await.is_empty()).await;
    }
}

fn doubt(copy: &Value) -> Option<String> {
    (copy["status"]["applied"] != "True").then(|| format!("not applied: {copy}"))
}

fn marked(cell: &FakeCell) -> Vec<Found> {
    let ours = |(_, object): &(Place, Value)| object["metadata"]["labels"][mark::OWNER] == HUB;
    let found = |(place, object): (Place, Value)| Found {
        place,
        uid: object["metadata"]["uid"].as_str().unwrap_or_default().to_owned(),
        source: object["metadata"]["annotations"][mark::SOURCE_UID].as_str().unwrap_or_default().to_owned(),
    };
    cell.objects().into_iter().filter(ours).map(found).collect()
}

/// Whether an object goes to one cell, which it may have to leave.
fn is_moving(object: &Value) -> bool {
    ["directly", "gracefully"].iter().any(|label| object["metadata"]["labels"]["go"] == *label)
}

/// What a cell holds of what goes everywhere beside what it should; `added` is what is said there alone.
fn differences(name: &str, objects: &BTreeMap<Place, Value>, sources: &[Value], added: &Value) -> Vec<String> {
    let maps: BTreeMap<&str, (&Value, &Value)> = objects
        .iter()
        .filter(|(place, object)| place[1] == "configmaps" && !is_moving(object))
        .map(|(place, object)| (place[3].as_str(), (&object["data"]["v"], &object["data"]["w"])))
        .collect();
    let wanted: BTreeMap<&str, (&Value, &Value)> = sources
        .iter()
        .filter(|source| source["metadata"]["labels"]["go"] == "everywhere")
        .map(|source| (source["metadata"]["name"].as_str().unwrap(), (&source["data"]["v"], added)))
        .collect();
    if maps == wanted { Vec::new() } else { vec![format!("{name} holds {maps:?} and should hold {wanted:?}")] }
}
