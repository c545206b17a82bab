//! Commits: conditions, writes, revisions, all or nothing.

use super::Fixture;
use super::words::{all, delete, next, put, tell, watch_all};
use crate::{CommitError, Draft, Expect, Key, KeyRange, Revision, Store, Txn, Version};
use std::collections::HashSet;

/// What a conflict said: the key, what was expected of it, what was found.
async fn conflict(store: &Store, txn: Txn) -> (String, Expect, Option<Revision>) {
    match store.commit(txn).await {
        Err(CommitError::Conflict { key, expected, found }) => (key.to_string(), expected, found),
        other => panic!("not a conflict: {other:?}"),
    }
}

pub async fn a_key_is_created_replaced_and_deleted(fixture: Fixture) {
    let store = fixture.open().await;
    let created = store.commit(Txn::create("a", "1")).await.expect("a creation");
    assert_eq!((all(&store).as_str(), tell(&created.changes).as_str()), ("a=1", "+a=1"));
    let replaced = store.commit(Txn::replace("a", created.revision, "2")).await.expect("a replacement");
    assert_eq!((all(&store).as_str(), tell(&replaced.changes).as_str()), ("a=2", "a=1>2"));
    let removed = store.commit(Txn::remove("a", replaced.revision)).await.expect("a removal");
    assert_eq!((all(&store).as_str(), tell(&removed.changes).as_str()), ("", "-a=2"));
    assert!(Revision::ZERO < created.revision && created.revision < replaced.revision);
    assert!(replaced.revision < removed.revision);
    assert_eq!(store.recent().revision(), removed.revision);
}

pub async fn a_put_without_conditions_takes_whatever_is_there(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "a", "1").await;
    put(&store, "a", "2").await;
    delete(&store, "a").await;
    put(&store, "a", "3").await;
    assert_eq!(all(&store), "a=3");
}

pub async fn a_conflict_says_what_was_expected_and_what_was_found(fixture: Fixture) {
    let store = fixture.open().await;
    let first = put(&store, "a", "1").await;
    let second = put(&store, "a", "2").await;
    let absent = ("a".to_owned(), Expect::Absent, Some(second));
    assert_eq!(conflict(&store, Txn::create("a", "3")).await, absent);
    let stale = ("a".to_owned(), Expect::At(first), Some(second));
    assert_eq!(conflict(&store, Txn::replace("a", first, "3")).await, stale);
    assert_eq!(conflict(&store, Txn::remove("a", first)).await, stale);
    let gone = |key: &str| (key.to_owned(), Expect::At(first), None);
    assert_eq!(conflict(&store, Txn::replace("b", first, "3")).await, gone("b"));
    delete(&store, "a").await;
    assert_eq!(conflict(&store, Txn::remove("a", first)).await, gone("a"));
    let never = Expect::At(Revision::ZERO);
    assert_eq!(conflict(&store, Txn::new().expect("a", never)).await, ("a".to_owned(), never, None));
}

pub async fn a_conflict_changes_nothing(fixture: Fixture) {
    let store = fixture.open().await;
    let before = put(&store, "a", "1").await;
    let mut watcher = watch_all(&store);
    conflict(&store, Txn::create("a", "2")).await;
    conflict(&store, Txn::new().put("b", "2").delete("a").expect("c", Expect::At(before))).await;
    assert_eq!(all(&store), "a=1");
    let after = put(&store, "d", "4").await;
    assert_eq!(tell(&next(&mut watcher, 1).await), "+d=4", "the next thing that happened");
    let found = store.recent().get("a").expect("readable").expect("there");
    assert_eq!(found, Version { created: before, modified: before, value: "1".into() });
    assert!(after > before);
}

pub async fn a_recreated_key_is_not_the_one_it_was(fixture: Fixture) {
    let store = fixture.open().await;
    let first = put(&store, "a", "same").await;
    delete(&store, "a").await;
    let second = put(&store, "a", "same").await;
    assert_eq!(conflict(&store, Txn::remove("a", first)).await, ("a".into(), Expect::At(first), Some(second)));
}

pub async fn several_keys_change_together_or_not_at_all(fixture: Fixture) {
    let store = fixture.open().await;
    let a = put(&store, "a", "1").await;
    put(&store, "b", "1").await;
    let txn = || Txn::new().expect("a", Expect::At(a)).put("a", "2").delete("b").put("c", "2");
    let done = store.commit(txn()).await.expect("a transaction");
    assert_eq!(all(&store), "a=2 c=2");
    for key in ["a", "c"] {
        let version = store.recent().get(key).expect("readable").expect("there");
        assert_eq!(version.modified, done.revision, "{key} changed with the others");
    }
    let before = store.snapshot_at(a).expect("the past");
    assert_eq!(before.get("c").expect("readable"), None);
    conflict(&store, txn().put("d", "3")).await;
    assert_eq!(all(&store), "a=2 c=2");
}

pub async fn conditions_may_be_on_keys_that_are_not_written(fixture: Fixture) {
    let store = fixture.open().await;
    let lock = put(&store, "lock", "mine").await;
    let guarded = |value: &str| {
        let txn = Txn::new().expect("lock", Expect::At(lock)).expect("ban", Expect::Absent);
        txn.put("a", value.to_owned())
    };
    store.commit(guarded("1")).await.expect("both conditions hold");
    let unchanged = store.recent().get("lock").expect("readable").expect("there");
    assert_eq!((unchanged.modified, unchanged.created), (lock, lock), "a condition is not a write");
    let ban = put(&store, "ban", "").await;
    assert_eq!(conflict(&store, guarded("2")).await, ("ban".into(), Expect::Absent, Some(ban)));
    delete(&store, "ban").await;
    let taken = put(&store, "lock", "yours").await;
    assert_eq!(conflict(&store, guarded("3")).await, ("lock".into(), Expect::At(lock), Some(taken)));
    assert_eq!(all(&store), "a=1 lock=yours");
}

pub async fn what_changes_nothing_makes_no_revision(fixture: Fixture) {
    let store = fixture.open().await;
    let before = put(&store, "a", "1").await;
    let mut watcher = watch_all(&store);
    let asked_only = Txn::new().expect("a", Expect::At(before)).expect("b", Expect::Absent);
    for txn in [Txn::new(), Txn::new().delete("b").delete("c"), asked_only] {
        let done = store.commit(txn).await.expect("nothing to refuse");
        assert_eq!((done.revision, done.changes.len()), (before, 0));
        assert_eq!(store.snapshot().await.expect("a snapshot").revision(), before);
    }
    let same = put(&store, "a", "1").await;
    assert!(same > before, "writing the same value is a change");
    assert_eq!(tell(&next(&mut watcher, 1).await), "a=1>1");
}

pub async fn deleting_what_is_absent_beside_a_write_is_no_change(fixture: Fixture) {
    let store = fixture.open().await;
    let done = store.commit(Txn::new().delete("gone").put("a", "1").delete("b")).await.expect("a transaction");
    assert_eq!(tell(&done.changes), "+a=1");
    assert_eq!(store.stats().size.keys, 1);
}

pub async fn creation_is_remembered_until_deletion(fixture: Fixture) {
    let store = fixture.open().await;
    let version = |store: &Store| store.recent().get("a").expect("readable").expect("there");
    let born = put(&store, "a", "1").await;
    let changed = put(&store, "a", "2").await;
    assert_eq!(version(&store), Version { created: born, modified: changed, value: "2".into() });
    let deletion = store.commit(Txn::remove("a", changed)).await.expect("a removal");
    assert_eq!(deletion.changes[0].previous, Some(Version { created: born, modified: changed, value: "2".into() }));
    let reborn = put(&store, "a", "3").await;
    assert_eq!(version(&store), Version { created: reborn, modified: reborn, value: "3".into() });
    let store = fixture.reopen(store).await;
    assert_eq!(version(&store), Version { created: reborn, modified: reborn, value: "3".into() });
    let replaced = store.commit(Txn::replace("a", reborn, "4")).await.expect("a replacement after reopening");
    assert_eq!(version(&store), Version { created: reborn, modified: replaced.revision, value: "4".into() });
}

pub async fn the_answer_lists_the_changes_in_the_order_of_the_writes(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "m", "1").await;
    let done = store.commit(Txn::new().put("z", "2").delete("m").put("a", "2")).await.expect("a transaction");
    assert_eq!(tell(&done.changes), "+z=2 -m=1 +a=2");
    assert!(done.changes.iter().all(|change| change.revision == done.revision));
}

pub async fn the_revision_is_written_into_the_gap_for_every_reader(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "before", "1").await;
    let mut watcher = watch_all(&store);
    let drafts = [("middle", "<>", 1), ("front", "ab", 0), ("back", "ab", 2), ("only", "", 0)];
    let txn = drafts.iter().fold(Txn::new(), |txn, (key, text, gap)| txn.put(*key, Draft::with_gap(*text, *gap)));
    let done = store.commit(txn).await.expect("a transaction");
    let number = done.revision;
    let written = format!("back=ab{number} before=1 front={number}ab middle=<{number}> only={number}");
    assert_eq!(all(&store), written);
    let told = tell(&next(&mut watcher, 4).await);
    assert!(told.contains(&format!("+middle=<{number}>")), "{told}");
    let answered = tell(&done.changes);
    assert!(answered.contains(&format!("+front={number}ab")), "{answered}");
    let bytes: u64 = ["back", "before", "front", "middle", "only"].iter().map(|key| key.len() as u64).sum();
    assert_eq!(store.stats().size.bytes, bytes + 1 + 6 + 4 * number.to_string().len() as u64);
    let store = fixture.reopen(store).await;
    assert_eq!(all(&store), written);
}

pub async fn an_acknowledged_commit_is_seen_at_once(fixture: Fixture) {
    let store = fixture.open().await;
    for number in 0..50 {
        let done = store.commit(Txn::new().put("a", number.to_string())).await.expect("a put");
        let seen = store.snapshot().await.expect("a snapshot");
        assert!(seen.revision() >= done.revision);
        let version = seen.get("a").expect("readable").expect("there");
        assert_eq!((version.modified, version.value), (done.revision, number.to_string().into()));
        assert_eq!(store.recent().get("a"), seen.get("a"));
        store.reached(done.revision).await.expect("it is there");
    }
}

/// Adds one to the number at `key` by compare-and-write, as often as it takes.
async fn increment(store: &Store, key: &str) -> Revision {
    loop {
        let current = store.recent().get(key).expect("readable");
        let number: u64 = current.as_ref().map_or(0, |version| text(version).parse().expect("a number"));
        let next = (number + 1).to_string();
        let txn = match current {
            Some(version) => Txn::replace(key, version.modified, next),
            None => Txn::create(key, next),
        };
        match store.commit(txn).await {
            Ok(done) => return done.revision,
            Err(CommitError::Conflict { .. }) => {}
            Err(other) => panic!("neither done nor refused: {other}"),
        }
    }
}

fn text(version: &Version) -> &str {
    std::str::from_utf8(&version.value).expect("text")
}

pub async fn concurrent_increments_are_all_counted(fixture: Fixture) {
    const WRITERS: usize = 8;
    const EACH: usize = 30;
    let store = fixture.open().await;
    let mut watcher = watch_all(&store);
    let writers = (0..WRITERS).map(|nth| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut revisions = Vec::new();
            for turn in 0..EACH {
                revisions.push(increment(&store, ["x", "y", "z"][(nth + turn) % 3]).await);
            }
            revisions
        })
    });
    let mut revisions = Vec::new();
    for writer in writers.collect::<Vec<_>>() {
        let own = writer.await.expect("a writer");
        assert!(own.is_sorted_by(|a, b| a < b), "a writer's own commits are in order");
        revisions.extend(own);
    }
    assert_eq!(revisions.iter().collect::<HashSet<_>>().len(), WRITERS * EACH, "no revision was given out twice");
    let sum: usize = store
        .recent()
        .scan(KeyRange::all())
        .map(|entry| text(&entry.expect("readable").version).parse::<usize>().expect("a number"))
        .sum();
    assert_eq!(sum, WRITERS * EACH);
    let told: HashSet<_> = next(&mut watcher, WRITERS * EACH).await.iter().map(|change| change.revision).collect();
    assert_eq!(told, revisions.into_iter().collect());
}

pub async fn of_concurrent_creators_one_wins(fixture: Fixture) {
    let store = fixture.open().await;
    for round in 0..10 {
        let key = Key::new(format!("k{round}"));
        let creators: Vec<_> = (0..6)
            .map(|nth: u32| {
                let (store, key) = (store.clone(), key.clone());
                tokio::spawn(async move { store.commit(Txn::create(key, nth.to_string())).await })
            })
            .collect();
        let (mut winners, mut found_by_losers) = (Vec::new(), Vec::new());
        for creator in creators {
            match creator.await.expect("a creator") {
                Ok(done) => winners.push(done.revision),
                Err(CommitError::Conflict { found, .. }) => found_by_losers.extend(found),
                Err(other) => panic!("neither done nor refused: {other}"),
            }
        }
        let [winner] = winners[..] else { panic!("{} winners", winners.len()) };
        assert_eq!(found_by_losers, [winner; 5], "losers are told of the winner");
    }
}

pub async fn a_writer_that_stops_waiting_leaves_all_or_nothing(fixture: Fixture) {
    let store = fixture.open().await;
    for nth in 0..20 {
        let txn = Txn::new().put(format!("a{nth:02}"), "1").put(format!("b{nth:02}"), "1");
        let commit = store.commit(txn);
        // Polled once and dropped: it may have been accepted.
        let _ = tokio::time::timeout(std::time::Duration::ZERO, commit).await;
    }
    let last = put(&store, "z", "1").await;
    let seen = store.snapshot_at(last).expect("readable");
    let before: Vec<bool> = (0..20).map(|nth| whole(&seen, nth)).collect();
    let store = fixture.reopen(store).await;
    // One that was on its way may have come after the last; none that was there may be gone.
    let now = store.snapshot().await.expect("readable");
    for (nth, was) in before.into_iter().enumerate() {
        assert!(whole(&now, nth) || !was, "{nth}");
    }
    assert!(now.get("z").expect("readable").is_some());
}

/// Whether both keys of a transaction are there; one without the other is a failure.
fn whole(seen: &crate::Snapshot, nth: usize) -> bool {
    let modified = |key: String| seen.get(key).expect("readable").map(|version| version.modified);
    let (a, b) = (modified(format!("a{nth:02}")), modified(format!("b{nth:02}")));
    assert_eq!(a, b, "{nth}");
    a.is_some()
}
