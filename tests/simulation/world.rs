//! A hub in memory with its controllers, which can be stopped, killed and started, and fake cells.

use super::fake::FakeCell;
use super::machine::{Clock, Machine, Threads};
use super::people::{CONFIG_MAPS, NAMESPACES, Person, Resource};
use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::object::Object;
use apiserver::place::Workspace;
use apiserver::resources::Resources;
use hanse::apis::definitions::{self, COPIES, PLACEMENTS};
use hanse::dialects::{Book, karmada, native};
use hanse::fleet::api::{CellApi, CellError};
use hanse::fleet::{self, Access, Connect, Ledger, Pace};
use hanse::scheduler::controller::{self as scheduler, Rulebook};
use hanse::syncer::run as syncer;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use storage::{Options, Store};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) const HUB: &str = "hub";

/// A condition that takes longer will not come true. In virtual time it is less than what passes until everything is looked
/// at again in case that something went unnoticed: nothing may go unnoticed.
const PATIENCE_VIRTUAL: Duration = Duration::from_mins(20);
const PATIENCE_REAL: Duration = Duration::from_secs(120);

/// How soon it is looked whether a condition is true; in virtual time later and later, up to the last.
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LAST: Duration = Duration::from_secs(5);

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
    pub(crate) cells: BTreeMap<String, FakeCell>,
    pub(crate) person: Person,
    pub(crate) machine: Machine,
    pub(crate) clock: Arc<Clock>,
    store: Store,
    resources: Resources,
    running: Option<(TaskTracker, CancellationToken)>,
    /// Whoever asked for something and was not waited for.
    asking: Vec<JoinHandle<()>>,
    /// What was done to it, for whoever has to find out why it ended badly.
    done: Vec<String>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("cells", &self.cells.len()).field("done", &self.done).finish_non_exhaustive()
    }
}

impl World {
    /// A hub in virtual time with the namespace `n`, cells of these names, and rules that send every ConfigMap and every
    /// Deployment with the label `go: everywhere` to all of them.
    pub(crate) fn new(seed: u64, cells: &[&str]) -> Self {
        let names: Vec<String> = cells.iter().map(|name| (*name).to_owned()).collect();
        Self::on(Threads::Virtual { turns: 61 }, seed, &names)
    }

    pub(crate) fn on(threads: Threads, seed: u64, cells: &[String]) -> Self {
        let store = Store::open(&storage::Place::Memory, Options::default()).unwrap();
        let (clock, dice) = (Arc::new(Clock::default()), AtomicU64::new(seed));
        let machine = Machine::new(threads, &store, &clock);
        let then = clock.clone();
        let chance = move || {
            u128::from(dice.fetch_add(1, Ordering::Relaxed)).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        };
        let ambient = Ambient::new(move || then.now(), chance);
        let given = native::definitions::definitions().into_iter().chain(definitions::all());
        let given = given.chain(karmada::definitions::definitions());
        let given = given.map(|definition| Object::try_from(definition).unwrap());
        let catalog = Catalog::given(&Arc::new(Catalog::builtin()), given);
        let resources = Resources::new(store.clone(), Arc::new(catalog), ambient);
        let client = Client::as_system(resources.clone(), "test");
        let person = Person { client, workspace: Workspace::new("w") };
        let fakes = cells.iter().zip(seed..).map(|(name, seed)| (name.clone(), FakeCell::new(seed)));
        let cells = fakes.collect();
        let mut world = Self {
            cells,
            person,
            machine,
            clock,
            store,
            resources,
            running: None,
            asking: Vec::new(),
            done: Vec::new(),
        };
        world.people(async |person| {
            person.make(NAMESPACES, None, json!({ "metadata": { "name": "n" } })).await;
            for name in world.cells.keys() {
                person.join(name).await;
            }
            person.rules_everywhere().await;
        });
        world.start();
        world
    }

    /// People do something, and are answered.
    pub(crate) fn people<T>(&self, what: impl AsyncFnOnce(&Person) -> T) -> T {
        self.machine.run(what(&self.person))
    }

    /// Somebody does something, and nobody waits until they are answered.
    pub(crate) fn meanwhile<F: Future<Output = ()> + Send + 'static>(&mut self, what: impl FnOnce(Person) -> F) {
        self.asking.push(self.machine.runtime().spawn(what(self.person.clone())));
    }

    /// Waits for those who asked and were not waited for; whoever asked a server that was killed gets no answer.
    pub(crate) fn all_are_answered(&mut self) {
        for asking in std::mem::take(&mut self.asking) {
            let answered = self.machine.run(asking);
            assert!(answered.map_or_else(|error| error.is_cancelled(), |()| true), "a request panicked");
        }
    }

    /// Notes what is done next.
    pub(crate) fn note(&mut self, what: String) {
        self.done.push(what);
    }

    pub(crate) fn done(&self) -> &[String] {
        &self.done
    }

    pub(crate) fn send(&self, name: &str, value: &str) {
        self.people(async |person| person.send(name, value).await);
    }

    pub(crate) fn change(&self, name: &str, value: &str) {
        self.people(async |person| person.change(name, value).await);
    }

    pub(crate) fn delete(&self, resource: Resource, namespace: Option<&str>, name: &str) {
        self.people(async |person| person.delete(resource, namespace, name).await);
    }

    pub(crate) fn list(&self, resource: Resource) -> Vec<Value> {
        self.people(async |person| person.list(resource).await)
    }

    /// How often anything was written here.
    pub(crate) fn revision(&self) -> u64 {
        self.store.recent().revision().0
    }

    /// The cells that hold a ConfigMap of this name.
    pub(crate) fn holders(&self, name: &str) -> Vec<String> {
        let holds = |cell: &FakeCell| {
            cell.look(|objects| objects.keys().any(|place| place[1] == "configmaps" && place[3] == name))
        };
        self.cells.iter().filter(|(_, cell)| holds(cell)).map(|(name, _)| name.clone()).collect()
    }

    pub(crate) fn start(&mut self) {
        self.start_with(true);
    }

    /// Starts everything, or all but what reads rules and decides.
    pub(crate) fn start_with(&mut self, decides: bool) {
        let _entered = self.machine.runtime().enter();
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let client = |name: &str| Client::as_system(self.resources.clone(), name);
        let book: Arc<dyn Rulebook> = Arc::new(Book::default());
        let ledger = Arc::new(Ledger::default());
        let millis = Duration::from_millis;
        let hurried = Pace { every: millis(50), soon: millis(5), away: millis(50) };
        let pace = if self.machine.is_virtual() { Pace::default() } else { hurried };
        let fakes = Arc::new(Fakes(self.cells.clone()));
        let fleet = fleet::start(&client("fleet"), fakes, (&ledger, pace), &tasks, &stop);
        if decides {
            scheduler::start(&client("scheduler"), HUB, &book, &tasks, &stop);
        }
        syncer::start(&client("syncer"), HUB, &book, (&fleet, &ledger), &tasks, &stop);
        tasks.close();
        self.running = Some((tasks, stop));
    }

    pub(crate) fn stop(&mut self) {
        if let Some((tasks, stop)) = self.running.take() {
            stop.cancel();
            let ended = async { tokio::time::timeout(Duration::from_mins(1), tasks.wait()).await };
            self.machine.run(ended).expect("the controllers end");
            self.machine.reboot();
        }
    }

    /// Ends whatever runs, wherever it is.
    pub(crate) fn kill(&mut self) {
        self.running = None;
        self.machine.reboot();
    }

    /// Waits until it is so.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let patience = if self.machine.is_virtual() { PATIENCE_VIRTUAL } else { PATIENCE_REAL };
        let (mut waited, mut next) = (Duration::ZERO, LOOK_FIRST);
        while !is_so(self) {
            assert!(waited < patience, "it never came true: {what}; {:#?}", self.wrong());
            self.cells.values().for_each(FakeCell::let_go);
            self.machine.pass(next);
            waited += next;
            if self.machine.is_virtual() {
                next = (next * 2).min(LOOK_LAST);
            }
        }
    }

    #[track_caller]
    pub(crate) fn converged(&self) {
        self.until("everything is where it should be", |world| world.wrong().is_empty());
    }

    /// Nothing of ours is left in any cell, nor any record of it.
    pub(crate) fn is_empty(&self) -> bool {
        let cells = self.cells.values().all(|cell| cell.look(BTreeMap::is_empty));
        cells && self.list(COPIES).is_empty() && self.list(PLACEMENTS).is_empty()
    }

    /// Nobody asked a cell for anything or wrote anything here for as long as it takes, though nothing changed.
    #[track_caller]
    pub(crate) fn is_quiet_for(&self, time: Duration) {
        let requests = |world: &Self| -> Vec<u64> { world.cells.values().map(FakeCell::requests).collect() };
        let probes = |world: &Self| -> u64 { world.cells.values().map(FakeCell::probes).max().unwrap_or_default() };
        let before = (requests(self), self.revision(), probes(self));
        self.machine.pass(time);
        assert_eq!(requests(self), before.0, "cells are asked though nothing changes");
        assert_eq!(self.revision(), before.1, "something is written though nothing changes: {}", self.latest());
        let often = time.as_secs() / Pace::default().every.as_secs() + 1;
        assert!(
            probes(self) - before.2 <= often,
            "a cell was asked {} times whether it is there",
            probes(self) - before.2
        );
    }

    /// What was written last.
    fn latest(&self) -> String {
        let all = [CONFIG_MAPS, COPIES, PLACEMENTS, definitions::CELLS, definitions::RULES];
        let version =
            |object: &Value| object["metadata"]["resourceVersion"].as_str().and_then(|text| text.parse::<u64>().ok());
        let all = all.into_iter().flat_map(|resource| self.list(resource));
        all.max_by_key(version).map(|object| object.to_string()).unwrap_or_default()
    }
}
