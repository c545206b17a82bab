//! Opening, reopening, closing, and what a store says of itself.

use super::Fixture;
use super::words::{all, contents, delete, next, put, tell, until, watch_all};
use crate::{CommitError, Entry, KeyRange, ReadError, Revision, Size, Store, Txn, read_backup};

pub async fn a_new_store_is_empty(fixture: Fixture) {
    let store = fixture.open().await;
    let stats = store.stats();
    assert_eq!((stats.size, stats.watched_ranges), (Size::default(), 0));
    assert!(stats.oldest <= stats.revision && stats.failure.is_none());
    assert_eq!(all(&store), "");
    let nothing = store.watch(KeyRange::all(), stats.revision).expect("a watch").try_next();
    assert_eq!(nothing, Ok(None));
}

fn entries(store: &Store) -> Vec<Entry> {
    store.recent().scan(KeyRange::all()).collect::<Result<_, _>>().expect("a scan")
}

pub async fn everything_survives_reopening(fixture: Fixture) {
    let store = fixture.open().await;
    super::snapshot::eventful(&store).await;
    let (before, revision, size) = (entries(&store), store.recent().revision(), store.stats().size);
    let mut store = store;
    for turn in 0..3 {
        store = fixture.reopen(store).await;
        assert_eq!(entries(&store), before, "reopening {turn}");
        assert_eq!((store.recent().revision(), store.stats().size), (revision, size));
        assert!(store.stats().failure.is_none());
    }
}

pub async fn the_past_survives_reopening(fixture: Fixture) {
    let store = fixture.open().await;
    let start = store.recent().revision();
    let past = super::snapshot::eventful(&store).await;
    let newest = past[past.len() - 1].0;
    let mut watcher = store.watch(KeyRange::all(), start).expect("a watch");
    let told = until(&mut watcher, newest).await;
    drop(watcher);
    let store = fixture.reopen(store).await;
    for (revision, expected) in &past {
        match store.snapshot_at(*revision) {
            Ok(seen) => assert_eq!(contents(&seen, KeyRange::all()), *expected, "at {revision}"),
            Err(error) => assert!(!fixture.keeps_history, "{error}"),
        }
    }
    let oldest = store.stats().oldest;
    assert!(oldest <= start || !fixture.keeps_history);
    // Within one commit the order of its keys is all that may have been forgotten.
    let by_key = |mut changes: Vec<std::sync::Arc<crate::Change>>| {
        changes.retain(|change| change.revision > oldest);
        changes.sort_by(|a, b| a.revision.cmp(&b.revision).then(a.key.cmp(&b.key)));
        changes
    };
    if oldest < newest {
        let mut watcher = store.watch(KeyRange::all(), oldest.max(start)).expect("a watch from the past");
        let again = until(&mut watcher, newest).await;
        assert!(again.is_sorted_by_key(|change| (change.revision, change.key.clone())), "{}", tell(&again));
        assert_eq!(again, by_key(told));
    }
}

pub async fn revisions_go_on_after_reopening(fixture: Fixture) {
    let mut store = fixture.open().await;
    let mut last = Revision::ZERO;
    for turn in 0..4 {
        let done = put(&store, "a", &turn.to_string()).await;
        assert!(done > last);
        last = delete(&store, "a").await;
        store = fixture.reopen(store).await;
        assert_eq!(store.recent().revision(), last, "a deletion is the last thing that happened");
        assert_eq!(all(&store), "");
    }
}

pub async fn dropping_the_store_lets_go_of_it(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "a", "1").await;
    let mut watcher = watch_all(&store);
    let clone = store.clone();
    drop(store);
    put(&clone, "b", "1").await;
    assert_eq!(tell(&next(&mut watcher, 1).await), "+b=1", "a clone keeps it open");
    tokio::task::spawn_blocking(move || drop(clone)).await.expect("dropping");
    assert_eq!(watcher.next().await, Err(ReadError::Closed));
    let store = fixture.open().await;
    assert_eq!(all(&store), "a=1 b=1");
}

pub async fn closing_finishes_what_was_accepted(fixture: Fixture) {
    let store = fixture.open().await;
    let writers: Vec<_> = (0..40)
        .map(|nth: usize| {
            let store = store.clone();
            tokio::spawn(async move { store.commit(Txn::create(format!("k{nth:02}"), "1")).await })
        })
        .collect();
    store.close().await;
    let mut acknowledged = Vec::new();
    for (nth, writer) in writers.into_iter().enumerate() {
        match writer.await.expect("a writer") {
            Ok(_) => acknowledged.push(format!("k{nth:02}=1")),
            Err(CommitError::Closed) => {}
            Err(other) => panic!("neither done nor closed: {other}"),
        }
    }
    let store = fixture.reopen(store).await;
    assert_eq!(all(&store), acknowledged.join(" "), "what was acknowledged, and nothing else");
}

pub async fn closing_ends_watches_after_their_last_change(fixture: Fixture) {
    let store = fixture.open().await;
    let (mut behind, mut waiting, mut drained) = (watch_all(&store), watch_all(&store), watch_all(&store));
    assert_eq!(drained.try_next(), Ok(None));
    let waiter = tokio::spawn(async move {
        let mut told = Vec::new();
        loop {
            match waiting.next().await {
                Ok(change) => told.push(change),
                Err(end) => return (told, end),
            }
        }
    });
    for nth in 0..200 {
        put(&store, "a", &nth.to_string()).await;
    }
    store.close().await;
    let (told, end) = waiter.await.expect("a watcher");
    assert_eq!((told.len(), end), (200, ReadError::Closed), "one that was waiting");
    assert_eq!(next(&mut behind, 200).await, told, "one that had read nothing");
    assert_eq!(next(&mut drained, 200).await, told, "one that had stopped reading");
    for _ in 0..3 {
        assert_eq!(behind.next().await, Err(ReadError::Closed), "the end is final");
        assert_eq!(behind.try_next(), Err(ReadError::Closed));
    }
    assert_eq!(store.watch(KeyRange::all(), store.recent().revision()).expect_err("too late"), ReadError::Closed);
}

pub async fn a_closed_store_takes_nothing_and_still_reads(fixture: Fixture) {
    let store = fixture.open().await;
    let newest = put(&store, "a", "1").await;
    let held = store.recent();
    store.close().await;
    store.close().await;
    assert!(matches!(store.commit(Txn::new().put("a", "2")).await, Err(CommitError::Closed)));
    assert!(matches!(store.commit(Txn::new()).await, Err(CommitError::Closed)));
    assert!(matches!(store.compact(newest).await, Err(CommitError::Closed)));
    assert!(matches!(store.enforce_bounds().await, Err(CommitError::Closed)));
    assert_eq!(store.reached(newest.next()).await, Err(ReadError::Closed));
    assert_eq!(contents(&held, KeyRange::all()), "a=1");
    assert_eq!(contents(&store.snapshot_at(newest).expect("readable"), KeyRange::all()), "a=1");
    assert_eq!(store.stats().watched_ranges, 0);
}

pub async fn the_size_is_exact(fixture: Fixture) {
    let store = fixture.open().await;
    let size = |store: &Store| (store.stats().size.keys, store.stats().size.bytes);
    put(&store, "a", "12345").await;
    assert_eq!(size(&store), (1, 6));
    put(&store, "a", "1").await;
    assert_eq!(size(&store), (1, 2));
    store.commit(Txn::new().put("bb", "").put("ccc", "333").delete("a")).await.expect("a transaction");
    assert_eq!(size(&store), (2, 8));
    let store = fixture.reopen(store).await;
    assert_eq!(size(&store), (2, 8));
    store.compact(store.recent().revision()).await.expect("compaction");
    assert_eq!(size(&store), (2, 8), "the past is not counted");
    delete(&store, "bb").await;
    delete(&store, "ccc").await;
    assert_eq!(size(&store), (0, 0));
}

pub async fn waiting_for_a_revision_ends_when_it_is_there(fixture: Fixture) {
    let store = fixture.open().await;
    let first = put(&store, "a", "1").await;
    store.reached(first).await.expect("it was there before");
    store.reached(Revision::ZERO).await.expect("everything is after the beginning");
    let waiting = store.clone();
    let waiter = tokio::spawn(async move {
        waiting.reached(first.next()).await.expect("it comes");
        waiting.recent().revision()
    });
    let second = put(&store, "a", "2").await;
    assert!(waiter.await.expect("a waiter") >= second);
    let never = tokio::spawn({
        let store = store.clone();
        async move { store.reached(Revision(u64::MAX)).await }
    });
    store.close().await;
    assert_eq!(never.await.expect("a waiter"), Err(ReadError::Closed));
}

pub async fn a_copy_holds_what_the_snapshot_shows(fixture: Fixture) {
    let store = fixture.open().await;
    super::snapshot::eventful(&store).await;
    let mut copy = Vec::new();
    let summary = store.backup(&mut copy).expect("a backup");
    put(&store, "later", "1").await;
    let mut found = Vec::new();
    let read = read_backup(copy.as_slice(), |entry| {
        found.push(entry);
        Ok(())
    });
    assert_eq!(read.expect("a whole backup"), summary);
    let seen = store.snapshot_at(summary.revision).expect("the past");
    // A copy of what is sealed is sealed.
    for entry in found.iter_mut().filter(|entry| crate::sealed_by(&entry.version.value).is_some()) {
        entry.version.value = seen.seal().open(&entry.key, &entry.version.value).expect("the key").into();
    }
    let expected: Vec<Entry> = seen.scan(KeyRange::all()).collect::<Result<_, _>>().expect("a scan");
    assert_eq!(found, expected);
    assert_eq!(summary.entries, expected.len() as u64);
}
