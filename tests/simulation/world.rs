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
use hanse::dialects::{Book, native};
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
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) type Resource = (&'static str, &'static str, &'static str);
pub(crate) const NAMESPACES: Resource = ("", "v1", "namespaces");
pub(crate) const CONFIG_MAPS: Resource = ("", "v1", "configmaps");

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
    running: Option<(TaskTracker, CancellationToken)>,
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
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let client = |name: &str| Client::as_system(self.resources.clone(), name);
        let book: Arc<dyn Rulebook> = Arc::new(Book::default());
        let ledger = Arc::new(Ledger::default());
        let millis = Duration::from_millis;
        let pace = Pace { every: millis(50), soon: millis(5), away: millis(50) };
        let fakes = Arc::new(Fakes(self.cells.clone()));
        let fleet = fleet::start(&client("fleet"), fakes, (&ledger, pace), &tasks, &stop);
        scheduler::start(&client("scheduler"), HUB, &book, &tasks, &stop);
        syncer::start(&client("syncer"), HUB, &book, (&fleet, &ledger), &tasks, &stop);
        tasks.close();
        self.running = Some((tasks, stop));
    }

    pub(crate) async fn stop(&mut self) {
        if let Some((tasks, stop)) = self.running.take() {
            stop.cancel();
            tokio::time::timeout(PATIENCE, tasks.wait()).await.expect("the controllers end");
        }
    }

    pub(crate) fn at(&self, resource: Resource, namespace: Option<&str>, name: &str) -> ObjectRef {
        self.client.at(resource, &self.workspace, namespace).unwrap().object(name)
    }

    pub(crate) async fn make(&self, resource: Resource, namespace: Option<&str>, tree: Value) -> Object {
        let place = self.client.at(resource, &self.workspace, namespace).unwrap();
        self.client.create(&place, tree).await.unwrap()
    }

    /// A ConfigMap in `n` that goes everywhere.
    pub(crate) async fn send(&self, name: &str, value: &str) {
        let metadata = json!({ "name": name, "labels": { "go": "everywhere" } });
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
        let cells = self.list(CELLS).await;
        for (name, cell) in &self.cells {
            let known = cells.iter().find(|cell| cell["metadata"]["name"] == name.as_str());
            let off = known.is_none_or(|cell| !cell["metadata"]["labels"]["off"].is_null());
            let sources = if off { &[] } else { sources.as_slice() };
            wrong.extend(differences(name, &cell.objects(), sources));
        }
        wrong
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

/// What a cell holds beside what it should.
fn differences(name: &str, objects: &BTreeMap<Place, Value>, sources: &[Value]) -> Vec<String> {
    let maps: BTreeMap<&str, &Value> = objects
        .iter()
        .filter(|(place, _)| place[1] == "configmaps")
        .map(|(place, object)| (place[3].as_str(), &object["data"]["v"]))
        .collect();
    let wanted: BTreeMap<&str, &Value> = sources
        .iter()
        .filter(|source| source["metadata"]["labels"]["go"] == "everywhere")
        .map(|source| (source["metadata"]["name"].as_str().unwrap(), &source["data"]["v"]))
        .collect();
    if maps == wanted { Vec::new() } else { vec![format!("{name} holds {maps:?} and should hold {wanted:?}")] }
}
