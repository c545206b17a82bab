//! The commit pipeline on a backend that fails: nothing acknowledged is lost, nothing refused appears, nothing is torn.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod stage;
mod storm;

use stage::{Fail, Hold, Stage, eventually};
use std::time::Duration;
use storage::conformance::Hands;
use storage::{CommitError, HistoryBounds, KeyRange, Options, Revision, Store, Txn};

fn open(stage: &Stage) -> Store {
    Store::on(Box::new(stage.clone()), Options::default()).unwrap()
}

async fn put(store: &Store, key: &str, value: &str) -> Result<Revision, CommitError> {
    store.commit(Txn::new().put(key, value.to_owned())).await.map(|done| done.revision)
}

/// A commit that keeps the disk busy: what comes next shares a batch, until the hold is dropped.
async fn busy(stage: &Stage, store: &Store) -> (Hold, tokio::task::JoinHandle<Result<Revision, CommitError>>) {
    let hold = stage.hold();
    let store = store.clone();
    let first = tokio::spawn(async move { put(&store, "first", "1").await });
    stage.reached_disk(1).await;
    (hold, first)
}

#[tokio::test]
async fn what_changes_nothing_after_a_failure_is_answered_with_a_revision_that_exists() {
    let stage = Stage::default();
    let store = open(&stage);
    let first = put(&store, "a", "1").await.unwrap();
    stage.fail_next(Fail::Before);
    assert!(matches!(put(&store, "a", "2").await, Err(CommitError::Uncertain(_))));
    let nothing = store.commit(Txn::new().delete("b")).await.unwrap();
    assert_eq!(nothing.revision, first, "the failed commit's revision never happened");
    store.snapshot_at(nothing.revision).unwrap();
    store.watch(KeyRange::all(), nothing.revision).unwrap();
}

#[tokio::test]
async fn what_was_refused_in_a_batch_that_failed_is_known_not_to_have_happened() {
    let stage = Stage::default();
    let store = open(&stage);
    let (hold, first) = busy(&stage, &store).await;
    stage.fail_next(Fail::Before);
    let (second, conflict, nothing, ()) = tokio::join!(
        biased;
        put(&store, "b", "1"),
        store.commit(Txn::create("b", "2")),
        store.commit(Txn::new().delete("c")),
        async { drop(hold) },
    );
    assert!(first.await.unwrap().is_ok());
    assert!(matches!(second, Err(CommitError::Uncertain(_))), "{second:?}");
    assert!(matches!(conflict, Err(CommitError::Unavailable(_))), "it told of a commit that failed: {conflict:?}");
    assert!(matches!(nothing, Err(CommitError::Unavailable(_))), "{nothing:?}");
}

#[tokio::test]
async fn what_was_forgotten_leaves_the_disk_though_a_write_fails() {
    for how in [Fail::Before, Fail::After] {
        let stage = Stage::default();
        let store = open(&stage);
        for turn in 0..10 {
            put(&store, "a", &turn.to_string()).await.unwrap();
        }
        assert_eq!(stage.stored(), 10, "every version");
        store.compact(store.recent().revision()).await.unwrap();
        stage.fail_next(how);
        // Whoever asks with nothing to write gives the store time to clean up; the first time that fails.
        for _ in 0..3 {
            store.enforce_bounds().await.unwrap();
        }
        assert!(stage.failed() && store.stats().failure.is_none(), "it failed and recovered");
        assert_eq!(stage.stored(), 1, "what is current, after failing {how:?}");
        store.close().await;
        assert_eq!(open(&stage).recent().count(KeyRange::all()), Ok(1));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_at_rest_recovers_by_itself() {
    let stage = Stage::default();
    let store = at_rest(&stage, &Hands::default()).await;
    stage.fail_next(Fail::After);
    let mut watcher = store.watch(KeyRange::all(), store.recent().revision()).unwrap();
    assert!(matches!(put(&store, "a", "2").await, Err(CommitError::Uncertain(_))));
    let change = stage::in_time("the commit of uncertain fate is shown", watcher.next()).await.unwrap();
    assert_eq!(change.current.as_ref().unwrap().value, "2");
    eventually("the failure is over", || store.stats().failure.is_none()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_was_at_rest_forgets_by_itself() {
    let (stage, hands) = (Stage::default(), Hands::default());
    let store = at_rest(&stage, &hands).await;
    let newest = put(&store, "a", "2").await.unwrap();
    hands.advance(Duration::from_secs(3600));
    eventually("what grew old is forgotten", || store.stats().oldest == newest).await;
}

/// A store with no history left to forget, on a disk that takes its time: the validator is back at its post long
/// before the persister knows how a batch went.
async fn at_rest(stage: &Stage, hands: &Hands) -> Store {
    let history = HistoryBounds { age_max: Duration::from_secs(60), ..HistoryBounds::default() };
    let options = Options { history, clock: hands.clock(), ..Options::default() };
    let store = Store::on(Box::new(stage.clone()), options).unwrap();
    put(&store, "a", "1").await.unwrap();
    hands.advance(Duration::from_secs(3600));
    while store.stats().history_bytes > 0 {
        store.enforce_bounds().await.unwrap();
    }
    // Once more for what was forgotten to leave the disk, and once more to find nothing to do.
    store.enforce_bounds().await.unwrap();
    store.enforce_bounds().await.unwrap();
    stage.take_long();
    store
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_failure_does_not_drag_on() {
    let stage = Stage::default();
    let store = open(&stage);
    let writers: Vec<_> = (0..32)
        .map(|nth: usize| {
            let store = store.clone();
            tokio::spawn(async move {
                let (mut uncertain, mut unavailable) = (0, 0);
                for turn in 0..50 {
                    match put(&store, &format!("k{nth}"), &turn.to_string()).await {
                        Ok(_) => {}
                        Err(CommitError::Uncertain(_)) => uncertain += 1,
                        Err(CommitError::Unavailable(_)) => unavailable += 1,
                        Err(other) => panic!("{other}"),
                    }
                }
                (uncertain, unavailable)
            })
        })
        .collect();
    stage.reached_disk(3).await;
    stage.fail_next(Fail::Before);
    for writer in writers {
        let (uncertain, unavailable) = writer.await.unwrap();
        assert!(uncertain <= 1 && unavailable <= 1, "uncertain {uncertain} times, unavailable {unavailable} times");
    }
}

#[tokio::test]
async fn closing_finishes_what_was_accepted() {
    let stage = Stage::default();
    let store = open(&stage);
    let (hold, first) = busy(&stage, &store).await;
    let (second, third, (), ()) = tokio::join!(
        biased;
        put(&store, "b", "1"),
        store.commit(Txn::create("b", "2")),
        async { drop(hold) },
        store.close(),
    );
    first.await.unwrap().unwrap();
    second.unwrap();
    assert!(matches!(third, Err(CommitError::Conflict { .. })), "{third:?}");
    assert_eq!(open(&stage).recent().count(KeyRange::all()), Ok(2));
}

#[tokio::test]
async fn waiting_writers_hold_no_more_memory_than_they_may() {
    const MIB: usize = 1 << 20;
    let stage = Stage::default();
    let store = open(&stage);
    let (hold, _) = busy(&stage, &store).await;
    let value = bytes::Bytes::from(vec![7; MIB]);
    let writers: Vec<_> = (0..90)
        .map(|nth: usize| {
            let (store, value) = (store.clone(), value.clone());
            tokio::spawn(async move { store.commit(Txn::new().put(format!("k{nth}"), value)).await })
        })
        .collect();
    // Time for all that may come to come: the more the better, and none is too little to be right.
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    drop(hold);
    for writer in writers {
        writer.await.unwrap().unwrap();
    }
    assert!(stage.largest_batch() <= 65 * MIB, "{} MiB went to the disk at once", stage.largest_batch() / MIB);
}
