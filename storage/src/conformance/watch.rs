//! Watches: every change after a revision, once, in order, or a clear end.

use super::words::{all, delete, next, put, tell, until, watch, watch_all};
use super::{Fixture, in_time};
use crate::{Change, KeyRange, ReadError, Revision, Store, Txn, Watcher};
use std::sync::Arc;

/// More rounds than a watcher's channel holds, whatever its size is within reason.
const FLOOD: usize = 150;

/// Changes `key` so often that a watcher who does not read falls out of its channel; `follower`, a watcher of the same
/// range, proves that each change was sent on its own.
async fn flood(store: &Store, follower: &mut Watcher, key: &str) -> Vec<Revision> {
    let mut made = Vec::with_capacity(FLOOD);
    for nth in 0..FLOOD {
        let revision = put(store, key, &nth.to_string()).await;
        assert_eq!(next(follower, 1).await[0].revision, revision);
        made.push(revision);
    }
    made
}

fn revisions(changes: &[Arc<Change>]) -> Vec<Revision> {
    changes.iter().map(|change| change.revision).collect()
}

pub async fn a_watch_from_now_tells_what_comes(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "a", "before").await;
    let mut watcher = watch_all(&store);
    assert_eq!(watcher.try_next(), Ok(None));
    let first = put(&store, "a", "1").await;
    let second = put(&store, "b", "2").await;
    let third = delete(&store, "a").await;
    let told = next(&mut watcher, 3).await;
    assert_eq!(tell(&told), "a=before>1 | +b=2 | -a=1");
    assert_eq!(revisions(&told), [first, second, third]);
    assert_eq!(watcher.try_next(), Ok(None), "once, and no more");
    assert_eq!(watcher.range(), &KeyRange::all());
}

pub async fn a_watch_from_the_past_tells_all_since(fixture: Fixture) {
    let store = fixture.open().await;
    let start = store.recent().revision();
    let mut made = Vec::new();
    for turn in 0..100 {
        made.push(put(&store, ["a", "b", "c"][turn % 3], &turn.to_string()).await);
    }
    for after in [0, 1, 50, 98, 99] {
        let mut watcher = store.watch(KeyRange::all(), made[after]).expect("a watch");
        assert_eq!(
            watcher.try_next().map(|change| change.map(|change| change.revision)),
            Ok(made.get(after + 1).copied())
        );
        let extra = put(&store, "d", "now").await;
        made.push(extra);
        let told = until(&mut watcher, extra).await;
        assert_eq!(revisions(&told), made[(after + 2).min(made.len() - 1)..], "after the commit of turn {after}");
    }
    let mut watcher = store.watch(KeyRange::all(), start).expect("a watch from the beginning");
    assert_eq!(revisions(&next(&mut watcher, made.len()).await), made);
}

pub async fn the_changes_of_one_commit_come_together(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "b", "1").await;
    let start = store.recent().revision();
    let mut live = watch_all(&store);
    assert_eq!(live.try_next(), Ok(None));
    store.commit(Txn::new().put("a", "2").delete("b").put("x/1", "2").put("x/2", "2")).await.expect("a transaction");
    let last = put(&store, "a", "3").await;
    let mut late = store.watch(KeyRange::all(), start).expect("a watch from the past");
    for watcher in [&mut live, &mut late] {
        assert_eq!(tell(&until(watcher, last).await), "+a=2 -b=1 +x/1=2 +x/2=2 | a=2>3");
    }
    let mut part = store.watch(KeyRange::prefix("x/"), start).expect("a watch from the past");
    assert_eq!(tell(&next(&mut part, 2).await), "+x/1=2 +x/2=2");
}

pub async fn only_the_watched_range_is_told(fixture: Fixture) {
    let store = fixture.open().await;
    let start = store.recent().revision();
    let ranges = [
        (KeyRange::prefix("b/"), "+b/1=v | +b/2=v"),
        (KeyRange::key("b"), "+b=v"),
        (KeyRange::between("b", "b/2").expect("a range"), "+b=v | +b/1=v"),
        (KeyRange::prefix("b"), "+b=v | +b/1=v | +b/2=v | +b0=v"),
        (KeyRange::all(), "+a=v | +b=v | +b/1=v | +b/2=v | +b0=v | +c=v"),
    ];
    let live: Vec<_> = ranges.iter().map(|(range, _)| watch(&store, range.clone())).collect();
    for key in ["a", "b", "b/1", "b/2", "b0", "c"] {
        put(&store, key, "v").await;
    }
    for ((range, expected), mut live) in ranges.into_iter().zip(live) {
        let count = expected.split(" | ").count();
        assert_eq!(tell(&next(&mut live, count).await), expected, "{range:?}");
        assert_eq!(live.try_next(), Ok(None));
        let mut late = store.watch(range.clone(), start).expect("a watch from the past");
        assert_eq!(tell(&next(&mut late, count).await), expected, "{range:?} from the past");
        assert_eq!(late.try_next(), Ok(None));
    }
}

pub async fn nested_ranges_are_each_told_their_part(fixture: Fixture) {
    let store = fixture.open().await;
    let key: Vec<u8> = vec![b'a', 0, 0xff, b'/', 0xff, 0xff];
    let mut watchers: Vec<_> = (0..=key.len()).map(|length| watch(&store, KeyRange::prefix(&key[..length]))).collect();
    let mut made = Vec::new();
    for length in 1..=key.len() {
        made.push(store.commit(Txn::create(&key[..length], "v")).await.expect("a creation").revision);
    }
    for (length, watcher) in watchers.iter_mut().enumerate() {
        // The prefix of this length sees the keys at least as long.
        let expected = &made[length.saturating_sub(1)..];
        assert_eq!(revisions(&next(watcher, expected.len()).await), expected, "a prefix of {length}");
        assert_eq!(watcher.try_next(), Ok(None));
    }
}

pub async fn an_empty_range_is_silent(fixture: Fixture) {
    let store = fixture.open().await;
    let start = store.recent().revision();
    let nothing = KeyRange::between("a", "a").expect("a range");
    let (mut live, mut everything) = (watch(&store, nothing.clone()), watch_all(&store));
    let revision = put(&store, "a", "1").await;
    next(&mut everything, 1).await;
    assert_eq!(live.try_next(), Ok(None));
    let mut late = store.watch(nothing, start).expect("a watch from the past");
    assert_eq!(late.try_next(), Ok(None));
    assert!(late.progress() >= Some(revision));
}

pub async fn a_watch_cannot_start_in_the_future(fixture: Fixture) {
    let store = fixture.open().await;
    let newest = put(&store, "a", "1").await;
    let asked = newest.next();
    let refused = store.watch(KeyRange::all(), asked).expect_err("it has not happened");
    assert_eq!(refused, ReadError::Future { asked, newest });
    assert_eq!(store.stats().watched_ranges, 0, "a refused watch leaves nothing");
}

pub async fn a_watch_cannot_start_before_the_oldest_revision(fixture: Fixture) {
    let store = fixture.open().await;
    let first = put(&store, "a", "1").await;
    let second = put(&store, "a", "2").await;
    store.compact(second).await.expect("compaction");
    for asked in [Revision::ZERO, first] {
        let refused = store.watch(KeyRange::key("elsewhere"), asked).expect_err("it was forgotten");
        assert_eq!(refused, ReadError::Compacted { asked, oldest: second });
    }
    assert_eq!(store.stats().watched_ranges, 0, "a refused watch leaves nothing");
}

pub async fn a_watch_can_start_at_the_oldest_revision(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "a", "1").await;
    let second = put(&store, "a", "2").await;
    let third = delete(&store, "a").await;
    store.compact(second).await.expect("compaction");
    let mut watcher = store.watch(KeyRange::all(), second).expect("a watch");
    assert_eq!(tell(&until(&mut watcher, third).await), "-a=2", "with what was there before");
}

/// Waits until `watcher` says that it has been told everything up to `revision`.
async fn reached(watcher: &mut Watcher, revision: Revision) {
    in_time("progress", async {
        while watcher.progress() < Some(revision) {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

pub async fn progress_is_told_when_nothing_waits(fixture: Fixture) {
    let store = fixture.open().await;
    let (mut watcher, mut other) = (watch(&store, KeyRange::prefix("a/")), watch(&store, KeyRange::prefix("a/")));
    assert_eq!((watcher.try_next(), other.try_next()), (Ok(None), Ok(None)));
    let elsewhere = put(&store, "b", "1").await;
    reached(&mut watcher, elsewhere).await;
    assert_eq!(watcher.progress(), Some(elsewhere), "everything there was, though none of it was told");
    let first = put(&store, "a/1", "1").await;
    let second = put(&store, "a/2", "1").await;
    assert_eq!(revisions(&next(&mut other, 2).await), [first, second]);
    assert_eq!(watcher.progress(), None, "two changes wait");
    next(&mut watcher, 1).await;
    assert!(watcher.progress() < Some(second), "a second one waits");
    next(&mut watcher, 1).await;
    reached(&mut watcher, second).await;
    assert_eq!(watcher.progress(), Some(second));
    let mut resumed = store.watch(KeyRange::prefix("a/"), second).expect("a watch from a progress mark");
    assert_eq!(resumed.try_next(), Ok(None));
}

pub async fn a_quiet_watcher_keeps_its_place(fixture: Fixture) {
    let store = fixture.open().await;
    let range = || KeyRange::prefix("quiet/");
    let (mut quiet, mut follower) = (watch(&store, range()), watch(&store, range()));
    for turn in 0..3 {
        for nth in 0..10 {
            put(&store, "busy", &nth.to_string()).await;
        }
        store.compact(store.recent().revision()).await.expect("compaction");
        assert_eq!((quiet.try_next(), follower.try_next()), (Ok(None), Ok(None)), "there was nothing to miss");
        let made = flood(&store, &mut follower, &format!("quiet/{turn}")).await;
        assert_eq!(revisions(&next(&mut quiet, FLOOD).await), made, "nor is there now");
    }
}

pub async fn trying_never_waits(fixture: Fixture) {
    let store = fixture.open().await;
    let start = store.recent().revision();
    let (mut watcher, mut other) = (watch_all(&store), watch_all(&store));
    assert_eq!((watcher.try_next(), other.try_next()), (Ok(None), Ok(None)));
    put(&store, "a", "1").await;
    put(&store, "a", "2").await;
    next(&mut other, 2).await;
    let mut late = store.watch(KeyRange::all(), start).expect("a watch from the past");
    for watcher in [&mut watcher, &mut late] {
        let mut told = Vec::new();
        while let Some(change) = watcher.try_next().expect("an open watch") {
            told.push(change);
        }
        assert_eq!(tell(&told), "+a=1 | a=1>2");
    }
}

pub async fn a_slow_watcher_misses_nothing(fixture: Fixture) {
    let store = fixture.open().await;
    let range = || KeyRange::prefix("a");
    let (mut slow, mut follower) = (watch(&store, range()), watch(&store, range()));
    assert_eq!(slow.try_next(), Ok(None), "it has joined and waits for what comes");
    let mut made = flood(&store, &mut follower, "a").await;
    assert_eq!(revisions(&next(&mut slow, 20).await), made[..20]);
    // It falls behind again while it reads what it missed.
    made.extend(flood(&store, &mut follower, "ab").await);
    let told = next(&mut slow, 2 * FLOOD - 20).await;
    assert_eq!(revisions(&told), made[20..]);
    assert!(told.windows(2).all(|pair| pair[0].key != pair[1].key || pair[0].current == pair[1].previous));
    let last = put(&store, "a", "live").await;
    assert_eq!(revisions(&next(&mut slow, 1).await), [last], "and it is live again");
    assert_eq!(slow.try_next(), Ok(None));
}

pub async fn a_watcher_slower_than_history_is_told(fixture: Fixture) {
    let store = fixture.open().await;
    let (mut slow, mut follower) = (watch_all(&store), watch_all(&store));
    let (mut unread, cursor) = (watch_all(&store), store.recent().revision());
    assert_eq!(slow.try_next(), Ok(None));
    let made = flood(&store, &mut follower, "a").await;
    let oldest = made[FLOOD - 1];
    store.compact(oldest).await.expect("compaction");
    for watcher in [&mut slow, &mut unread] {
        for _ in 0..3 {
            let end = watcher.next().await.expect_err("what it missed was forgotten");
            assert_eq!(end, ReadError::Compacted { asked: cursor, oldest }, "and that is final");
        }
        assert!(watcher.try_next().is_err());
    }
    put(&store, "a", "later").await;
    assert!(slow.next().await.is_err(), "it does not go on with a gap");
}

pub async fn a_watcher_that_keeps_up_does_not_mind_compaction(fixture: Fixture) {
    let store = fixture.open().await;
    let (mut watcher, mut elsewhere) = (watch_all(&store), watch(&store, KeyRange::prefix("x/")));
    assert_eq!(elsewhere.try_next(), Ok(None));
    for turn in 0..30 {
        let revision = put(&store, "a", &turn.to_string()).await;
        assert_eq!(revisions(&next(&mut watcher, 1).await), [revision]);
        store.compact(revision).await.expect("compaction");
    }
    let last = put(&store, "x/1", "1").await;
    assert_eq!(revisions(&next(&mut elsewhere, 1).await), [last], "nor does one that had nothing to read");
    assert_eq!(tell(&next(&mut watcher, 1).await), "+x/1=1");
}

pub async fn compaction_does_not_overtake_watchers_that_could_keep_up(fixture: Fixture) {
    let store = fixture.open().await;
    let (mut unread, mut elsewhere) = (watch(&store, KeyRange::prefix("a")), watch(&store, KeyRange::prefix("x/")));
    let mut made = Vec::new();
    for turn in 0..15 {
        let revision = put(&store, "a", &turn.to_string()).await;
        store.compact(revision).await.expect("compaction");
        made.push(revision);
    }
    assert_eq!(revisions(&next(&mut unread, 15).await), made, "what was sent is not taken back");
    let last = put(&store, "x/1", "1").await;
    assert_eq!(revisions(&next(&mut elsewhere, 1).await), [last]);
}

pub async fn watchers_of_one_range_are_told_the_same(fixture: Fixture) {
    let store = fixture.open().await;
    let watchers: Vec<_> = (0..50).map(|_| watch(&store, KeyRange::prefix("a/"))).collect();
    assert_eq!(store.stats().watched_ranges, 1, "they share one");
    let readers: Vec<_> =
        watchers.into_iter().map(|mut watcher| tokio::spawn(async move { next(&mut watcher, 60).await })).collect();
    for nth in 0..60 {
        put(&store, &format!("a/{}", nth % 7), &nth.to_string()).await;
    }
    let mut told = Vec::new();
    for reader in readers {
        told.push(reader.await.expect("a watcher"));
    }
    assert!(told.windows(2).all(|pair| pair[0] == pair[1]));
    let shared = told.iter().all(|changes| changes.iter().zip(&told[0]).all(|(a, b)| Arc::ptr_eq(a, b)));
    assert!(shared, "a change is one value, however many watch it");
}

pub async fn many_ranges_are_each_told_their_own(fixture: Fixture) {
    let store = fixture.open().await;
    let mut watchers: Vec<_> = (0..200).map(|nth| watch(&store, KeyRange::prefix(format!("r{nth:03}/")))).collect();
    assert_eq!(store.stats().watched_ranges, 200);
    for nth in (0..200).step_by(4) {
        let txn = (nth..nth + 4).fold(Txn::new(), |txn, nth| txn.put(format!("r{nth:03}/k"), nth.to_string()));
        store.commit(txn).await.expect("a transaction");
    }
    for (nth, watcher) in watchers.iter_mut().enumerate() {
        assert_eq!(tell(&next(watcher, 1).await), format!("+r{nth:03}/k={nth}"));
        assert_eq!(watcher.try_next(), Ok(None));
    }
}

pub async fn dropped_watchers_release_their_ranges(fixture: Fixture) {
    let store = fixture.open().await;
    let ranges = || store.stats().watched_ranges;
    let (first, second) = (watch(&store, KeyRange::prefix("a/")), watch(&store, KeyRange::prefix("a/")));
    let inside = watch(&store, KeyRange::key("a/b"));
    let sibling = watch(&store, KeyRange::between("a/b", "a/c").expect("a range"));
    let everything = watch_all(&store);
    assert_eq!(ranges(), 4);
    drop(first);
    assert_eq!(ranges(), 4, "somebody still watches it");
    drop(second);
    assert_eq!(ranges(), 3);
    drop(everything);
    drop(inside);
    assert_eq!(ranges(), 1);
    put(&store, "a/b", "1").await;
    drop(sibling);
    assert_eq!(ranges(), 0);
    let mut again = watch(&store, KeyRange::prefix("a/"));
    put(&store, "a/c", "2").await;
    assert_eq!(tell(&next(&mut again, 1).await), "+a/c=2", "a released range can be watched again");
}

pub async fn a_watcher_that_stops_waiting_loses_nothing(fixture: Fixture) {
    let store = fixture.open().await;
    let mut watcher = watch_all(&store);
    let mut told = Vec::new();
    for nth in 0..40 {
        put(&store, "a", &nth.to_string()).await;
        // Polled and dropped, whether or not it was about to answer.
        if let Ok(change) = tokio::time::timeout(std::time::Duration::ZERO, watcher.next()).await {
            told.push(change.expect("a change"));
        }
    }
    told.extend(next(&mut watcher, 40 - told.len()).await);
    let values: Vec<_> = told.iter().map(|change| change.current.as_ref().expect("a value").value.clone()).collect();
    assert!(values.iter().zip(0..40).all(|(value, nth)| *value == nth.to_string()), "{}", tell(&told));
}

pub async fn watchers_that_join_during_writes_miss_nothing_and_repeat_nothing(fixture: Fixture) {
    const WRITES: usize = 300;
    let store = fixture.open().await;
    let start = store.recent().revision();
    let writing = tokio::spawn({
        let store = store.clone();
        async move {
            let mut made = Vec::new();
            for nth in 0..WRITES {
                made.push(put(&store, ["a", "b"][nth % 2], &nth.to_string()).await);
            }
            made
        }
    });
    let mut readers = Vec::new();
    while readers.len() < 40 && !writing.is_finished() {
        let after = if readers.len() % 2 == 0 { start } else { store.recent().revision() };
        let mut watcher = store.watch(KeyRange::all(), after).expect("a watch");
        readers.push(tokio::spawn(async move {
            let mut told = vec![after];
            loop {
                let change = watcher.next().await.expect("a change");
                told.push(change.revision);
                if change.current.as_ref().is_some_and(|version| version.value == (WRITES - 1).to_string()) {
                    return told;
                }
            }
        }));
        tokio::task::yield_now().await;
    }
    let made = writing.await.expect("a writer");
    for reader in readers {
        let told = reader.await.expect("a watcher");
        let from = made.partition_point(|revision| *revision <= told[0]);
        assert_eq!(told[1..], made[from..], "after {}", told[0]);
    }
    assert!(all(&store).contains(&format!("b={}", WRITES - 1)));
}
