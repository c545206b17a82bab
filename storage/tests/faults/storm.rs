//! Many writers at once while one step in a few fails, and what must be true when the storm is over.

use crate::stage::{eventually, in_time};
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::conformance::KeptMemory;
use storage::{
    Backend, Change, CommitError, Entry, Expect, Faults, FaultyBackend, FjallBackend, Key, KeyRange, LogBackend,
    Options, Revision, SledBackend, Store, Txn, Version,
};

const WRITERS: usize = 12;

/// What became of one transaction: a pair of keys that only it writes, and a counter that all writers share.
struct Outcome {
    name: String,
    fate: Fate,
}

enum Fate {
    Done(Revision),
    /// It certainly did not happen.
    Refused,
    Unknown,
}

/// Writes pairs until it has tried often enough. Every third of them also counts, if it saw the count as it is.
async fn write(store: Store, nth: usize, turns: usize) -> Vec<Outcome> {
    let mut outcomes = Vec::with_capacity(turns);
    for turn in 0..turns {
        let name = format!("{nth:02}-{turn:03}");
        let mut txn = Txn::new();
        if turn % 3 == 0 {
            let count = store.recent().get("count").unwrap();
            let next = count.as_ref().map_or(0, number) + 1;
            let seen = count.map_or(Expect::Absent, |count| Expect::At(count.modified));
            txn = txn.expect("count", seen).put("count", next.to_string());
        }
        txn = txn.put(format!("a/{name}"), name.clone()).put(format!("b/{name}"), name.clone());
        let fate = match store.commit(txn).await {
            Ok(done) => Fate::Done(done.revision),
            Err(CommitError::Unavailable(_) | CommitError::Conflict { .. }) => Fate::Refused,
            Err(CommitError::Uncertain(_)) => Fate::Unknown,
            Err(other) => panic!("{other}"),
        };
        outcomes.push(Outcome { name, fate });
    }
    outcomes
}

fn number(version: &Version) -> usize {
    std::str::from_utf8(&version.value).unwrap().parse().unwrap()
}

/// Everything the watch told up to and including `last`, replayed: each change must follow from the one before it.
async fn follow(store: &Store, after: Revision, last: Revision) -> BTreeMap<Key, Version> {
    let mut watcher = store.watch(KeyRange::all(), after).unwrap();
    let mut state: BTreeMap<Key, Version> = BTreeMap::new();
    let mut reached = after;
    loop {
        while let Some(change) = watcher.try_next().unwrap() {
            assert!(change.revision >= reached && change.revision > after, "in order");
            reached = change.revision;
            replay(&mut state, &change);
        }
        if watcher.progress() >= Some(last) {
            return state;
        }
        tokio::task::yield_now().await;
    }
}

fn replay(state: &mut BTreeMap<Key, Version>, change: &Arc<Change>) {
    let previous = match &change.current {
        Some(version) => state.insert(change.key.clone(), version.clone()),
        None => state.remove(&change.key),
    };
    assert_eq!(previous, change.previous, "{} at {}", change.key, change.revision);
}

fn entries(store: &Store) -> BTreeMap<Key, Version> {
    let scan = store.recent().scan(KeyRange::all());
    scan.map(|entry| entry.unwrap()).map(|Entry { key, version }| (key, version)).collect()
}

/// Nothing acknowledged is missing, nothing refused is there, nothing is torn.
fn check(state: &BTreeMap<Key, Version>, outcomes: &[Outcome]) {
    let mut pairs = 0;
    let mut counted = 0;
    for Outcome { name, fate } in outcomes {
        let [a, b] = ["a", "b"].map(|side| state.get(format!("{side}/{name}").as_bytes()));
        assert_eq!(a, b, "{name} is torn");
        match fate {
            Fate::Done(revision) => {
                assert_eq!(a.map(|version| version.modified), Some(*revision), "{name} was acknowledged");
            }
            Fate::Refused => assert_eq!(a, None, "{name} was refused"),
            Fate::Unknown => {}
        }
        pairs += usize::from(a.is_some());
        counted += usize::from(a.is_some() && name[3..].parse::<usize>().unwrap().is_multiple_of(3));
    }
    let count = state.get(b"count".as_slice()).map_or(0, number);
    assert_eq!(count, counted, "the count is of those that happened");
    assert_eq!(state.len(), 2 * pairs + usize::from(count > 0), "and nothing else is there");
}

/// One storm, the calm after it, and the store opened anew.
async fn storm(
    backend: impl Backend + 'static,
    seed: u64,
    one_in: u64,
    turns: usize,
    reopened: impl FnOnce() -> Store,
) {
    let faults = Faults::default();
    let store = Store::on(Box::new(FaultyBackend::new(backend, faults.clone())), Options::default()).unwrap();
    let start = store.recent().revision();
    let live = tokio::spawn({
        let store = store.clone();
        // The last commit of all is the one that says so.
        async move {
            let mut watcher = store.watch(KeyRange::all(), start).unwrap();
            let mut state = BTreeMap::new();
            loop {
                let change = watcher.next().await.unwrap();
                replay(&mut state, &change);
                if change.key == Key::new("end") {
                    return state;
                }
            }
        }
    });
    faults.set(seed, one_in);
    let writers: Vec<_> = (0..WRITERS).map(|nth| tokio::spawn(write(store.clone(), nth, turns))).collect();
    let mut outcomes = Vec::new();
    for writer in writers {
        outcomes.extend(writer.await.unwrap());
    }
    faults.set(seed, 0);
    let end = settle(&store).await;
    let mut state = entries(&store);
    assert_eq!(follow(&store, start, end).await, state, "history tells of the same");
    assert_eq!(live.await.unwrap(), state, "and so did the watch that was there all the time");
    store.close().await;
    drop(store);
    let again = reopened();
    assert_eq!(entries(&again), state, "and so does the disk");
    assert_eq!(follow(&again, start, end).await, state, "with its history");
    state.remove(b"end".as_slice());
    check(&state, &outcomes);
    let happened = outcomes.iter().filter(|outcome| matches!(outcome.fate, Fate::Done(_))).count();
    assert!(happened > 0 && happened < outcomes.len(), "{happened} of {} happened", outcomes.len());
}

/// The first commit after the failures may still find one of them; soon they work.
async fn settle(store: &Store) -> Revision {
    for _ in 0..3 {
        match store.commit(Txn::new().put("end", "")).await {
            Ok(done) => return done.revision,
            Err(CommitError::Unavailable(_) | CommitError::Uncertain(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
    panic!("the store does not recover: {:?}", store.stats());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storms_leave_a_whole_history_in_memory() {
    for (seed, one_in) in [(1, 5), (2, 7), (3, 10), (4, 15), (5, 20), (6, 30), (7, 50), (8, 12)] {
        let kept = KeptMemory::default();
        let again = kept.clone();
        let reopened = move || Store::on(Box::new(again), Options::default()).unwrap();
        in_time(&format!("seed {seed}"), storm(kept, seed, one_in, 40, reopened)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storms_leave_a_whole_history_in_the_log() {
    for seed in 11..15 {
        let dir = tempfile::tempdir().unwrap();
        let backend = || LogBackend::open(dir.path().join("engine")).unwrap();
        let reopened = || Store::on(Box::new(backend()), Options::default()).unwrap();
        in_time("the log", storm(backend(), seed, 10, 40, reopened)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storms_leave_a_whole_history_in_fjall() {
    let dir = tempfile::tempdir().unwrap();
    let backend = || FjallBackend::open(dir.path().join("engine")).unwrap();
    let reopened = || Store::on(Box::new(backend()), Options::default()).unwrap();
    in_time("fjall", storm(backend(), 9, 10, 15, reopened)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn storms_leave_a_whole_history_in_sled() {
    let dir = tempfile::tempdir().unwrap();
    let backend = || SledBackend::open(dir.path().join("engine")).unwrap();
    let reopened = || Store::on(Box::new(backend()), Options::default()).unwrap();
    in_time("sled", storm(backend(), 10, 10, 15, reopened)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_the_disk_works_again_so_does_the_store_without_help() {
    let faults = Faults::default();
    let backend = FaultyBackend::new(KeptMemory::default(), faults.clone());
    let store = Store::on(Box::new(backend), Options::default()).unwrap();
    store.commit(Txn::create("a", "1")).await.unwrap();
    faults.stop();
    assert!(matches!(store.commit(Txn::create("b", "1")).await, Err(CommitError::Uncertain(_))));
    for _ in 0..5 {
        assert!(matches!(store.commit(Txn::create("c", "1")).await, Err(CommitError::Unavailable(_))));
        assert!(store.stats().failure.is_some());
    }
    assert_eq!(store.recent().count(KeyRange::all()), Ok(1), "reading goes on");
    faults.resume();
    eventually("it finds out by itself", || store.stats().failure.is_none()).await;
    store.commit(Txn::create("c", "1")).await.unwrap();
    assert_eq!(store.recent().get("b"), Ok(None), "it failed before it was stored");
}
