//! Several replicas of one store.

use crate::servers::{Lease, Servers};
use crate::{in_time, open, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use storage::{CommitError, Expect, KeyRange, Revision, Store, Txn};
use tokio::task::JoinHandle;

async fn two(servers: &Servers) -> [Store; 2] {
    let prefix = Lease::prefix();
    [open(&servers.endpoints(), &prefix), open(&servers.endpoints(), &prefix)]
}

async fn put(store: &Store, key: &str, value: &str) -> Revision {
    in_time("a put", store.commit(Txn::new().put(key, value.to_owned()))).await.expect("a put").revision
}

/// Somebody else who writes to the same etcd, outside any store, as fast as he can.
struct Stranger {
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Stranger {
    async fn at(servers: &Servers) -> Self {
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let mut client = servers.client(0).await;
        let (stopped, counted) = (stop.clone(), written.clone());
        let task = tokio::spawn(async move {
            while !stopped.load(Ordering::SeqCst) {
                client.put("/elsewhere", "?", None).await.expect("a put");
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Self { stop, written, task }
    }

    async fn leave(self) -> u64 {
        self.stop.store(true, Ordering::SeqCst);
        in_time("the stranger leaves", self.task).await.expect("the stranger");
        self.written.load(Ordering::SeqCst)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_replica_acknowledged_every_other_shows() {
    let servers = Lease::take().await;
    let stores = two(&servers).await;
    let start = in_time("a snapshot", stores[1].snapshot()).await.expect("a snapshot").revision();
    let mut watcher = stores[1].watch(KeyRange::all(), start).expect("a watch");
    let mut made = Vec::new();
    for nth in 0..100 {
        let revision = put(&stores[0], "a", &nth.to_string()).await;
        let seen = in_time("a snapshot", stores[1].snapshot()).await.expect("a snapshot");
        assert!(seen.revision() >= revision);
        assert_eq!(seen.get("a").expect("readable").expect("there").modified, revision, "round {nth}");
        made.push(revision);
    }
    for revision in made {
        assert_eq!(in_time("a change", watcher.next()).await.expect("a change").revision, revision);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stranger_in_the_same_etcd_changes_nothing_of_that() {
    let servers = Lease::take().await;
    let stores = two(&servers).await;
    let stranger = Stranger::at(&servers).await;
    for nth in 0..20 {
        let revision = put(&stores[0], "a", &nth.to_string()).await;
        let seen = in_time("a snapshot", stores[1].snapshot()).await.expect("a snapshot");
        assert_eq!(seen.get("a").expect("readable").expect("there").modified, revision, "round {nth}");
        // Also where nothing of ours has happened since.
        let again = in_time("a snapshot", stores[0].snapshot()).await.expect("a snapshot");
        assert!(again.revision() >= revision);
        let nothing = in_time("nothing", stores[1].commit(Txn::new().delete("absent"))).await.expect("nothing");
        assert!(nothing.revision >= revision && nothing.changes.is_empty());
        stores[1].snapshot_at(nothing.revision).expect("it can be read");
    }
    let written = stranger.leave().await;
    assert!(written > 0);
    for store in &stores {
        assert_eq!(store.recent().count(KeyRange::all()), Ok(1), "of {written} strange writes none is ours");
        assert_eq!(store.stats().unreadable, 0);
    }
}

#[tokio::test]
async fn a_quiet_replica_keeps_up_with_strangers() {
    let servers = Lease::take().await;
    let [store, _] = two(&servers).await;
    let mut watcher = store.watch(KeyRange::all(), store.recent().revision()).expect("a watch");
    let mut client = servers.client(0).await;
    let put = client.put("/elsewhere", "?", None).await.expect("a put");
    let revision = Revision(put.header().expect("a header").revision() as u64);
    // Nobody asks this store for anything: its own probing must notice.
    until("it is as far as etcd", || store.recent().revision() >= revision).await;
    assert_eq!(watcher.try_next(), Ok(None));
    until("its watchers keep their place", || watcher.progress().is_some_and(|at| at >= revision)).await;
}

#[tokio::test]
async fn what_etcd_says_of_its_progress_is_taken_at_its_word() {
    let servers = Servers::start_with(1, &["--experimental-watch-progress-notify-interval=100ms"], None).await;
    let store = open(&servers.endpoints(), "progress");
    let mut client = servers.client(0).await;
    client.put("/elsewhere", "?", None).await.expect("a put");
    let stored = client.get("progress/", None).await.expect("the store's marker");
    let revision = Revision(stored.header().expect("a header").revision() as u64);
    until("it is as far as etcd", || store.recent().revision() >= revision).await;
    assert_eq!(store.recent().revision(), revision, "and not because it wrote something itself");
    let put = in_time("a put", store.commit(Txn::create("a", "1"))).await.expect("a put");
    assert!(put.revision > revision);
}

#[tokio::test]
async fn conflicts_between_replicas_are_exact() {
    let servers = Lease::take().await;
    let stores = two(&servers).await;
    let conflict = async |store: &Store, txn: Txn| match in_time("an answer", store.commit(txn)).await {
        Err(CommitError::Conflict { key, expected, found }) => (key.to_string(), expected, found),
        other => panic!("not a conflict: {other:?}"),
    };
    let first = put(&stores[0], "a", "1").await;
    assert_eq!(conflict(&stores[1], Txn::create("a", "2")).await, ("a".into(), Expect::Absent, Some(first)));
    assert!(stores[1].recent().get("a").expect("readable").is_some(), "whoever lost can see to whom");
    let second = put(&stores[1], "a", "2").await;
    assert_eq!(conflict(&stores[0], Txn::remove("a", first)).await, ("a".into(), Expect::At(first), Some(second)));
    in_time("a removal", stores[0].commit(Txn::remove("a", second))).await.expect("a removal");
    assert_eq!(conflict(&stores[1], Txn::remove("a", second)).await, ("a".into(), Expect::At(second), None));
    assert_eq!(stores[1].recent().get("a"), Ok(None));
    let both = Txn::new().expect("b", Expect::Absent).expect("a", Expect::At(second)).put("c", "3");
    assert_eq!(conflict(&stores[1], both).await, ("a".into(), Expect::At(second), None));
}

async fn increment(store: &Store) {
    loop {
        let current = store.recent().get("counter").expect("readable");
        let number: u64 = current
            .as_ref()
            .map_or(0, |version| std::str::from_utf8(&version.value).expect("text").parse().expect("a number"));
        let expect = current.map_or(Expect::Absent, |version| Expect::At(version.modified));
        let txn = Txn::new().expect("counter", expect).put("counter", (number + 1).to_string());
        match in_time("an increment", store.commit(txn)).await {
            Ok(_) => return,
            Err(CommitError::Conflict { .. }) => {}
            Err(other) => panic!("neither done nor refused: {other}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_update_is_lost_between_replicas() {
    const EACH: usize = 50;
    let servers = Lease::take().await;
    let stores = two(&servers).await;
    let writers: Vec<_> = (0..4)
        .map(|nth| {
            let store = stores[nth % 2].clone();
            tokio::spawn(async move {
                for _ in 0..EACH {
                    increment(&store).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    for store in &stores {
        let seen = in_time("a snapshot", store.snapshot()).await.expect("a snapshot");
        let counter = seen.get("counter").expect("readable").expect("there").value;
        assert_eq!(counter, (4 * EACH).to_string());
    }
}
