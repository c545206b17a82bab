//! etcd away: what a store says, how soon, and that it recovers by itself.

use crate::proxy::Proxy;
use crate::servers::Servers;
use crate::{in_time, open, until};
use std::time::{Duration, Instant};
use storage::{CommitError, Expect, KeyRange, ReadError, Revision, Store, Txn};

/// Twice etcd's time to answer, and what a busy machine adds.
const ANSWER_MAX: Duration = Duration::from_secs(14);

async fn put(store: &Store, key: &str, value: &str) -> Revision {
    let txn = Txn::new().put(key, value.to_owned());
    in_time("a put", store.commit(txn)).await.expect("a put").revision
}

/// Commits to a store whose etcd is away, and says how that was answered.
async fn refused(store: &Store) -> CommitError {
    let begun = Instant::now();
    let answer = in_time("an answer", store.commit(Txn::new().put("lost", "?"))).await;
    assert!(begun.elapsed() < ANSWER_MAX, "answered after {:?}", begun.elapsed());
    answer.expect_err("etcd is away")
}

async fn reads_go_on(store: &Store, revision: Revision) {
    assert_eq!(store.recent().get("a").expect("readable").expect("there").value, "1");
    assert_eq!(store.snapshot_at(revision).expect("the past").count(KeyRange::all()), Ok(1));
    let begun = Instant::now();
    let answer = in_time("an answer", store.snapshot()).await;
    assert!(matches!(answer, Err(ReadError::Unavailable(_))), "{answer:?}");
    assert!(begun.elapsed() < ANSWER_MAX);
}

#[tokio::test]
async fn a_store_says_that_etcd_is_gone_and_goes_on_when_it_is_back() {
    let mut servers = Servers::start(1).await;
    let store = open(&servers.endpoints(), "away");
    let revision = put(&store, "a", "1").await;
    let mut watcher = store.watch(KeyRange::all(), revision).expect("a watch");
    assert!(store.stats().failure.is_none());

    servers.kill(0);
    until("the failure is told", || store.stats().failure.is_some()).await;
    let empty = in_time("an answer", store.commit(Txn::new()));
    let (answer, empty, ()) = tokio::join!(refused(&store), empty, reads_go_on(&store, revision));
    assert!(matches!(answer, CommitError::Unavailable(_)), "it cannot have been sent: {answer:?}");
    assert!(matches!(empty, Err(CommitError::Unavailable(_))), "{empty:?}");
    let failure = store.stats().failure.expect("a failure").to_string();
    assert!(failure.contains(&servers.endpoints()[0]) && failure.contains("refused"), "{failure}");

    servers.restart(0);
    until("the failure is over", || store.stats().failure.is_none()).await;
    let again = put(&store, "b", "2").await;
    let change = in_time("a change", watcher.next()).await.expect("a change");
    assert_eq!((change.revision, change.key.to_string().as_str()), (again, "b"), "and nothing of what was refused");
    assert_eq!(in_time("a snapshot", store.snapshot()).await.expect("a snapshot").revision(), again);
}

#[tokio::test]
async fn a_server_that_hangs_leaves_commits_uncertain_but_not_waiting() {
    let servers = Servers::start(1).await;
    let store = open(&servers.endpoints(), "hangs");
    let revision = put(&store, "a", "1").await;
    servers.stop(0);
    let answer = refused(&store).await;
    assert!(matches!(answer, CommitError::Uncertain(_)), "{answer:?}");
    until("the failure is told", || store.stats().failure.is_some()).await;
    let (answer, ()) = tokio::join!(refused(&store), reads_go_on(&store, revision));
    assert!(matches!(answer, CommitError::Unavailable(_)), "{answer:?}");

    servers.resume(0);
    until("the failure is over", || store.stats().failure.is_none()).await;
    // What was uncertain happened or not; whichever it is, the writer can find out.
    let seen = in_time("a snapshot", store.snapshot()).await.expect("a snapshot");
    let found = seen.get("lost").expect("readable").map(|version| version.modified);
    let expect = found.map_or(Expect::Absent, Expect::At);
    let txn = Txn::new().expect("lost", expect).put("lost", "found");
    in_time("a commit", store.commit(txn)).await.expect("what was read is so");
}

#[tokio::test]
async fn closing_a_store_whose_etcd_is_away_takes_no_longer_than_an_answer() {
    let mut servers = Servers::start(1).await;
    let store = open(&servers.endpoints(), "closing");
    servers.kill(0);
    until("the failure is told", || store.stats().failure.is_some()).await;
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.commit(Txn::new().put("a", "1")).await }
    });
    tokio::task::yield_now().await;
    let begun = Instant::now();
    in_time("closing", store.close()).await;
    assert!(begun.elapsed() < ANSWER_MAX);
    let answer = in_time("an answer", waiting).await.expect("a writer");
    assert!(matches!(answer, Err(CommitError::Closed | CommitError::Unavailable(_))), "{answer:?}");
    assert!(matches!(store.commit(Txn::new().put("a", "1")).await, Err(CommitError::Closed)));
    assert!(matches!(store.snapshot().await, Err(ReadError::Closed)));
}

#[tokio::test]
async fn an_etcd_that_lost_everything_is_not_followed() {
    let mut servers = Servers::start(1).await;
    let store = open(&servers.endpoints(), "replaced");
    put(&store, "a", "1").await;
    servers.restart_empty(0);
    let told = || store.stats().failure.map(|failure| failure.to_string()).unwrap_or_default();
    until("the change is told", || told().contains("it is another etcd") || told().contains("its history ends")).await;
    assert_eq!(store.recent().get("a").expect("readable").expect("there").value, "1", "what was read stays");
    assert!(matches!(refused(&store).await, CommitError::Unavailable(_)));
}

#[tokio::test]
async fn a_line_that_breaks_loses_nothing() {
    let servers = Servers::start(1).await;
    let proxy = Proxy::to(&servers.endpoints()[0]);
    let near = open(&[proxy.url()], "line");
    let far = open(&servers.endpoints(), "line");
    let start = near.recent().revision();
    let mut watcher = near.watch(KeyRange::all(), start).expect("a watch");
    let mut made = Vec::new();
    for round in 0..5 {
        made.push(put(&far, "a", &round.to_string()).await);
        proxy.cut();
        made.push(put(&far, "a", &round.to_string()).await);
        proxy.mend();
        made.push(put(&far, "a", &round.to_string()).await);
    }
    let mut told = Vec::new();
    for _ in &made {
        told.push(in_time("a change", watcher.next()).await.expect("a change").revision);
    }
    assert_eq!(told, made);
}
