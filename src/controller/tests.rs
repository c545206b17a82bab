//! Controllers in time that passes only when nothing else can happen, and on a store in memory.

use super::*;
use apiserver::ambient::Ambient;
use apiserver::catalog::Catalog;
use apiserver::client::Client;
use apiserver::place::Workspace;
use apiserver::resources::Resources;
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeMap;
use storage::{Key, Options, Place, Store};
use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;

/// Does what its script says, key by key, and writes down when.
struct Scripted {
    since: Instant,
    script: Mutex<BTreeMap<u32, Vec<Result<Action, ApiError>>>>,
    looks: Arc<Mutex<Vec<(u128, u32)>>>,
    finished: CancellationToken,
}

impl Reconciler for Scripted {
    type Key = u32;

    fn name(&self) -> &'static str {
        "scripted"
    }

    async fn reconcile(&self, key: &u32) -> Result<Action, ApiError> {
        self.looks.lock().push((self.since.elapsed().as_millis(), *key));
        let mut script = self.script.lock();
        let next = script.get_mut(key).and_then(Vec::pop).unwrap_or(Ok(Action::Done));
        if script.values().all(Vec::is_empty) {
            self.finished.cancel();
        }
        next
    }
}

/// Runs a script for each of the keys 0, 1, ... and tells when, in milliseconds, each was looked at.
async fn check(scripts: Vec<Vec<Result<Action, ApiError>>>, expect: &[(u128, u32)]) {
    let (looks, finished) = (Arc::new(Mutex::new(Vec::new())), CancellationToken::new());
    let keys = 0..u32::try_from(scripts.len()).unwrap();
    let reversed = scripts.into_iter().map(|script| script.into_iter().rev().collect());
    let script = Mutex::new(keys.clone().zip(reversed).collect());
    let reconciler = Scripted { since: Instant::now(), script, looks: looks.clone(), finished: finished.clone() };
    Controller::new(reconciler).first(keys).run(finished).await;
    assert_eq!(*looks.lock(), expect);
}

fn failed() -> Result<Action, ApiError> {
    Err(ApiError::unavailable("not now"))
}

fn after(millis: u64) -> Result<Action, ApiError> {
    Ok(Action::After(Duration::from_millis(millis)))
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_tried_again_after_ever_longer() {
    let script = vec![failed(), failed(), failed(), Ok(Action::Done)];
    check(vec![script], &[(0, 0), (10, 0), (30, 0), (70, 0)]).await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_looked_at_again_when_it_asked_to_be() {
    let scripts = vec![vec![after(500), after(0), after(1)], vec![Ok(Action::Done)]];
    check(scripts, &[(0, 0), (0, 1), (500, 0), (500, 0)]).await;
}

/// Counts how many of its looks happen at once.
struct Counting {
    now: Mutex<usize>,
    most: Arc<Mutex<usize>>,
    left: Arc<Semaphore>,
}

impl Reconciler for Counting {
    type Key = u32;

    fn name(&self) -> &'static str {
        "counting"
    }

    async fn reconcile(&self, key: &u32) -> Result<Action, ApiError> {
        let now = {
            let mut now = self.now.lock();
            *now += 1;
            *now
        };
        {
            let mut most = self.most.lock();
            *most = now.max(*most);
        }
        tokio::task::yield_now().await;
        *self.now.lock() -= 1;
        self.left.add_permits(1);
        assert!(*key != 3, "a bug");
        Ok(Action::Done)
    }
}

#[tokio::test(start_paused = true)]
async fn few_are_looked_at_at_once_and_a_panic_stops_nothing() {
    let (most, left) = (Arc::new(Mutex::new(0)), Arc::new(Semaphore::new(0)));
    let reconciler = Counting { now: Mutex::new(0), most: most.clone(), left: left.clone() };
    let stop = CancellationToken::new();
    let controller = Controller::new(reconciler).first(0..20).workers(4);
    let running = tokio::spawn(controller.run(stop.clone()));
    // Key 3 is tried again and again.
    left.acquire_many(25).await.unwrap().forget();
    stop.cancel();
    running.await.unwrap();
    assert_eq!(*most.lock(), 4);
}

#[tokio::test(start_paused = true)]
async fn who_shares_workers_has_some_of_its_own_and_gives_the_others_back() {
    let more = Arc::new(Semaphore::new(3));
    for (taken, expected) in [(0, 5), (1, 4), (3, 2)] {
        let elsewhere = more.clone().acquire_many_owned(taken).await.unwrap();
        let (most, left) = (Arc::new(Mutex::new(0)), Arc::new(Semaphore::new(0)));
        let reconciler = Counting { now: Mutex::new(0), most: most.clone(), left: left.clone() };
        let stop = CancellationToken::new();
        let controller = Controller::new(reconciler).first(0..20).workers(8).sharing(2, &more);
        let running = tokio::spawn(controller.run(stop.clone()));
        left.acquire_many(25).await.unwrap().forget();
        stop.cancel();
        running.await.unwrap();
        assert_eq!(*most.lock(), expected, "{taken} of those that are shared are taken");
        drop(elsewhere);
        assert_eq!(more.available_permits(), 3);
    }
}

/// Looks that never end by themselves, each counted when it begins.
struct Hanging(Arc<Semaphore>);

impl Reconciler for Hanging {
    type Key = u32;

    fn name(&self) -> &'static str {
        "hanging"
    }

    async fn reconcile(&self, _: &u32) -> Result<Action, ApiError> {
        self.0.add_permits(1);
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_while_a_shared_worker_is_free() {
    let (more, began) = (Arc::new(Semaphore::new(2)), Arc::new(Semaphore::new(0)));
    let elsewhere = more.clone().acquire_many_owned(2).await.unwrap();
    let controller = Controller::new(Hanging(began.clone())).first(0..5).workers(8).sharing(1, &more);
    let running = tokio::spawn(controller.run(CancellationToken::new()));
    began.acquire().await.unwrap().forget();
    drop(elsewhere);
    // Nothing of its own ends, and nothing new comes.
    let both = tokio::time::timeout(Duration::from_hours(1), began.acquire_many(2)).await;
    assert!(both.is_ok(), "keys wait, and two workers are free");
    running.abort();
}

/// Begins, and goes on when it is told to.
struct Slow {
    began: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl Reconciler for Slow {
    type Key = ();

    fn name(&self) -> &'static str {
        "slow"
    }

    async fn reconcile(&self, (): &()) -> Result<Action, ApiError> {
        self.began.notify_one();
        self.go_on.notified().await;
        Ok(Action::Done)
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_begun_is_finished_before_it_stops() {
    let (began, go_on, stop) = (Arc::new(Notify::new()), Arc::new(Notify::new()), CancellationToken::new());
    let controller = Controller::new(Slow { began: began.clone(), go_on: go_on.clone() }).first([()]);
    let mut running = tokio::spawn(controller.run(stop.clone()));
    began.notified().await;
    stop.cancel();
    let early = tokio::time::timeout(Duration::from_hours(1), &mut running).await;
    assert!(early.is_err(), "it stopped in the middle");
    go_on.notify_one();
    running.await.unwrap();
}

/// Tells of every look.
struct Telling(mpsc::Sender<Key>);

impl Reconciler for Telling {
    type Key = Key;

    fn name(&self) -> &'static str {
        "telling"
    }

    async fn reconcile(&self, key: &Key) -> Result<Action, ApiError> {
        let told = self.0.send(key.clone()).await;
        told.map(|()| Action::Done).map_err(|_| ApiError::internal("nobody listens"))
    }
}

/// Makes a namespace before a controller with this resync starts, and one after; yields what was looked at.
async fn followed(resync: Duration, looks: usize) -> Vec<String> {
    let store = Store::open(&Place::Memory, Options::default()).unwrap();
    let resources = Resources::new(store, Arc::new(Catalog::builtin()), Ambient::real());
    let client = Client::as_system(resources, "telling");
    let namespaces = client.at(("", "v1", "namespaces"), &Workspace::new("w"), None).unwrap();
    let make = async |name: &str| client.create(&namespaces, json!({ "metadata": { "name": name } })).await.unwrap();
    make("before").await;
    let (tell, mut told) = mpsc::channel(1);
    let source = changes_of(&client, ("", "v1", "namespaces"), |seen| Some(seen.key.clone()));
    let stop = CancellationToken::new();
    let running = tokio::spawn(Controller::new(Telling(tell)).source(source).resync(resync).run(stop.clone()));
    let mut names = vec![told.recv().await.unwrap().to_string()];
    make("later").await;
    while names.len() < looks {
        names.push(told.recv().await.unwrap().to_string());
    }
    drop(told);
    stop.cancel();
    running.await.unwrap();
    names
}

const BEFORE: &str = "core/namespaces/-/w//before";
const LATER: &str = "core/namespaces/-/w//later";

#[tokio::test]
async fn what_is_there_and_what_changes_is_looked_at() {
    assert_eq!(followed(RESYNC, 2).await, [BEFORE, LATER]);
}

#[tokio::test]
async fn everything_is_looked_at_again_from_time_to_time() {
    let names = followed(Duration::from_millis(1), 20).await;
    for name in [BEFORE, LATER] {
        assert!(names.iter().filter(|found| *found == name).count() > 1, "{names:?}");
    }
}
