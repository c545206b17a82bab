//! How much of the past is kept, and what forgetting leaves.

use super::words::{all, contents, delete, put, tell, until};
use super::{Fixture, Hands};
use crate::{HistoryBounds, KeyRange, Options, ReadError, Revision, Store, Txn};
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn bounded(age_max: Duration, bytes_max: usize, hands: &Hands) -> Options {
    Options { history: HistoryBounds::exactly(age_max, bytes_max), clock: hands.clock(), ..Options::default() }
}

pub async fn history_is_bounded_by_age(fixture: Fixture) {
    let hands = Hands::default();
    let store = fixture.open_with(bounded(5 * MINUTE, usize::MAX, &hands)).await;
    let start = store.stats().oldest;
    let mut made = Vec::new();
    for minute in 0..10 {
        made.push(put(&store, "a", &minute.to_string()).await);
        hands.advance(MINUTE);
    }
    // It is minute 10. What happened in minute 5 is five minutes old, not older.
    assert_eq!(store.enforce_bounds().await.expect("forgetting"), made[4]);
    assert_eq!(store.stats().oldest, made[4]);
    assert_eq!(contents(&store.snapshot_at(made[4]).expect("the oldest"), KeyRange::all()), "a=4");
    assert!(matches!(store.snapshot_at(made[3]), Err(ReadError::Compacted { .. })));
    assert_eq!(store.enforce_bounds().await.expect("forgetting again"), made[4], "nothing grew older meanwhile");
    hands.advance(100 * MINUTE);
    assert_eq!(store.enforce_bounds().await.expect("forgetting"), made[9]);
    assert_eq!(all(&store), "a=9", "the present has no age");
    assert_eq!(store.stats().history_bytes, 0);
    assert!(start < made[0]);
}

pub async fn history_is_bounded_by_bytes(fixture: Fixture) {
    const BYTES_MAX: usize = 100 * 1024;
    let store = fixture.open_with(bounded(Duration::MAX, BYTES_MAX, &Hands::default())).await;
    let value = "v".repeat(10 * 1024);
    let mut made = Vec::new();
    for _ in 0..40 {
        made.push(put(&store, "a", &value).await);
        put(&store, "b", &value).await;
    }
    let oldest = store.enforce_bounds().await.expect("forgetting");
    assert!(store.stats().history_bytes <= BYTES_MAX, "{:?}", store.stats());
    assert!(store.stats().history_bytes > BYTES_MAX / 2, "no more was forgotten than needed: {:?}", store.stats());
    assert!(made[30] < oldest && oldest < made[39], "{oldest} is near the end of {made:?}");
    assert_eq!(store.recent().count(KeyRange::all()), Ok(2));
}

pub async fn compaction_keeps_what_is_current(fixture: Fixture) {
    let store = fixture.open().await;
    let past = super::snapshot::eventful(&store).await;
    let (newest, present) = past[past.len() - 1].clone();
    for (floor, expected) in [past[10].clone(), (newest, present.clone())] {
        assert_eq!(store.compact(floor).await.expect("compaction"), floor);
        assert_eq!(contents(&store.snapshot_at(floor).expect("the floor"), KeyRange::all()), expected);
        assert_eq!(all(&store), present);
    }
    let versions = |store: &Store| -> Vec<_> { store.recent().scan(KeyRange::all()).collect() };
    let before = versions(&store);
    put(&store, "later", "1").await;
    delete(&store, "later").await;
    let store = fixture.reopen(store).await;
    assert_eq!(versions(&store), before, "values, creations and modifications");
}

pub async fn compaction_never_goes_back_nor_ahead(fixture: Fixture) {
    let store = fixture.open().await;
    let first = put(&store, "a", "1").await;
    let second = put(&store, "a", "2").await;
    assert_eq!(store.compact(Revision::ZERO).await.expect("nothing to do"), store.stats().oldest);
    assert_eq!(store.compact(second).await.expect("compaction"), second);
    assert_eq!(store.compact(first).await.expect("it is past already"), second);
    assert_eq!(store.compact(Revision(u64::MAX)).await.expect("as far as there is"), second);
    let third = put(&store, "a", "3").await;
    assert_eq!(store.stats().oldest, second, "the future was not compacted");
    assert_eq!(contents(&store.snapshot_at(second).expect("the oldest"), KeyRange::all()), "a=2");
    let mut watcher = store.watch(KeyRange::all(), second).expect("a watch");
    assert_eq!(tell(&until(&mut watcher, third).await), "a=2>3");
}

pub async fn a_key_deleted_before_the_floor_is_gone(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "a", "1").await;
    let deletion = delete(&store, "a").await;
    put(&store, "b", "1").await;
    store.compact(deletion).await.expect("compaction");
    let reborn = store.commit(Txn::create("a", "2")).await.expect("a creation");
    let mut watcher = store.watch(KeyRange::all(), deletion).expect("a watch");
    assert_eq!(tell(&until(&mut watcher, reborn.revision).await), "+b=1 | +a=2");
    let store = fixture.reopen(store).await;
    assert_eq!(store.recent().get("a").expect("readable").expect("there").created, reborn.revision);
    store.compact(store.recent().revision()).await.expect("compaction");
    assert_eq!(all(&store), "a=2 b=1");
}

pub async fn a_long_history_is_forgotten_in_one_call(fixture: Fixture) {
    let store = fixture.open().await;
    for turn in 0..30 {
        let txn = (0..100).fold(Txn::new(), |txn, nth| txn.put(format!("k{nth}"), turn.to_string()));
        store.commit(txn).await.expect("a transaction");
    }
    let newest = store.recent().revision();
    assert_eq!(store.compact(newest).await.expect("compaction"), newest);
    assert_eq!((store.stats().oldest, store.stats().history_bytes), (newest, 0));
    assert_eq!(store.recent().count(KeyRange::all()), Ok(100));
    put(&store, "k0", "after").await;
    let store = fixture.reopen(store).await;
    assert_eq!(store.recent().count(KeyRange::all()), Ok(100));
    assert_eq!(store.recent().get("k0").expect("readable").expect("there").value, "after");
}

pub async fn reopening_after_compaction_reads_right(fixture: Fixture) {
    let store = fixture.open().await;
    let past = super::snapshot::eventful(&store).await;
    let floor = past[15].0;
    store.compact(floor).await.expect("compaction");
    let store = fixture.reopen(store).await;
    for (revision, expected) in &past {
        // Forgetting may not have reached the disk: then what was forgotten is there again, as it was.
        match store.snapshot_at(*revision) {
            Ok(seen) => assert_eq!(contents(&seen, KeyRange::all()), *expected, "at {revision}"),
            Err(error) => assert!(*revision < floor || !fixture.keeps_history, "{error}"),
        }
    }
    assert_eq!(all(&store), past[past.len() - 1].1);
}
