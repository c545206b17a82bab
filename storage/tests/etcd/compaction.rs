//! etcd's memory is bounded, too.

use crate::proxy::Proxy;
use crate::servers::Servers;
use crate::{in_time, open, open_with, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use storage::{Clock, HistoryBounds, KeyRange, Options, ReadError, Revision, Store, Txn};

async fn put(store: &Store, key: &str, value: &str) -> Revision {
    in_time("a put", store.commit(Txn::new().put(key, value.to_owned()))).await.expect("a put").revision
}

fn contents(store: &Store) -> String {
    let entries = store.recent().scan(KeyRange::all()).map(|entry| {
        let entry = entry.expect("an entry");
        format!("{}={}", entry.key, String::from_utf8_lossy(&entry.version.value))
    });
    entries.collect::<Vec<_>>().join(" ")
}

/// Waits until etcd has forgotten `revision`.
async fn compacted(servers: &Servers, revision: Revision) {
    let mut client = servers.client(0).await;
    let forgotten = async {
        let options = etcd_client::GetOptions::new().with_revision(revision.0 as i64);
        while client.get("any", Some(options.clone())).await.is_ok() {
            tokio::task::yield_now().await;
        }
        let error = client.get("any", Some(options)).await.expect_err("it is gone").to_string();
        assert!(error.contains("compacted"), "{error}");
    };
    in_time("etcd is compacted, too", forgotten).await;
}

#[tokio::test]
async fn who_missed_what_etcd_forgot_is_told_and_the_state_is_right() {
    let servers = Servers::start(1).await;
    let proxy = Proxy::to(&servers.endpoints()[0]);
    let store = open(&[proxy.url()], "behind");
    let other = open(&servers.endpoints(), "behind");
    put(&store, "a", "1").await;
    let seen = put(&store, "b", "1").await;
    let mut watcher = store.watch(KeyRange::all(), seen).expect("a watch");
    let mut quiet = store.watch(KeyRange::prefix("quiet"), seen).expect("a watch");
    assert_eq!((watcher.try_next(), quiet.try_next()), (Ok(None), Ok(None)));

    proxy.cut();
    until("the cut is noticed", || store.stats().failure.is_some()).await;
    other.commit(Txn::new().delete("a")).await.expect("a deletion");
    let floor = put(&other, "b", "2").await;
    other.compact(floor).await.expect("compaction");
    compacted(&servers, seen).await;
    put(&other, "c", "3").await;
    assert_eq!(contents(&store), "a=1 b=1");

    proxy.mend();
    let told = in_time("the news", watcher.next()).await.expect_err("something was missed");
    assert!(matches!(told, ReadError::Compacted { asked, oldest } if asked == seen && oldest >= floor), "{told}");
    let told = in_time("the news", quiet.next()).await.expect_err("something may have been missed");
    assert!(matches!(told, ReadError::Compacted { .. }), "{told}");
    assert!(matches!(store.snapshot_at(seen), Err(ReadError::Compacted { .. })));

    let newest = in_time("a snapshot", store.snapshot()).await.expect("a snapshot").revision();
    assert_eq!(contents(&store), "b=2 c=3");
    let mut watcher = store.watch(KeyRange::all(), newest).expect("a watch from now");
    let next = put(&other, "d", "4").await;
    assert_eq!(in_time("a change", watcher.next()).await.expect("a change").revision, next);
    assert!(store.stats().failure.is_none());
}

#[tokio::test]
async fn what_has_grown_old_is_forgotten_here_and_in_etcd() {
    let servers = Servers::start(1).await;
    let seconds = Arc::new(AtomicU64::new(0));
    let hands = seconds.clone();
    let clock = Clock::new(move || Duration::from_secs(hands.load(Ordering::SeqCst)));
    let store = open_with(&servers.endpoints(), "old", Options { clock, ..Options::default() });
    let first = put(&store, "a", "1").await;
    let second = put(&store, "a", "2").await;
    let age_max = HistoryBounds::default().age_max.as_secs();
    seconds.store(age_max, Ordering::SeqCst);
    let third = put(&store, "a", "3").await;
    assert_eq!(store.snapshot_at(first).expect("not yet").get("a").unwrap().unwrap().value, "1");
    seconds.store(age_max + 1, Ordering::SeqCst);
    until("it is forgotten here", || store.stats().oldest == second).await;
    compacted(&servers, first).await;
    assert!(store.snapshot_at(third).is_ok());
}

#[tokio::test]
async fn a_watch_goes_on_where_another_replica_left_it() {
    let servers = Servers::start(1).await;
    let first = open(&servers.endpoints(), "resume");
    put(&first, "a", "1").await;
    let floor = put(&first, "a", "2").await;
    let left = put(&first, "a", "3").await;
    let missed = [put(&first, "a", "4").await, put(&first, "b", "5").await];
    // As after five minutes of a quiet day: everything but the last changes is compacted.
    first.compact(floor).await.expect("compaction");
    compacted(&servers, Revision(floor.0 - 1)).await;
    first.close().await;

    let second = open(&servers.endpoints(), "resume");
    assert_eq!(second.stats().oldest, floor, "all that etcd has");
    let mut watcher = second.watch(KeyRange::all(), left).expect("a watch from before it was opened");
    for revision in missed {
        assert_eq!(in_time("a change", watcher.next()).await.expect("a change").revision, revision);
    }
    assert_eq!(second.snapshot_at(floor).expect("the past").get("a").unwrap().unwrap().value, "2");
}
