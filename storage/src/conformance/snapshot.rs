//! Views of one revision: ranges, pages, the past, and its end.

use super::Fixture;
use super::words::{all, contents, delete, keys, put};
use crate::{Entry, Key, KeyRange, ReadError, Revision, Snapshot, Store, Txn};

/// Keys `k0000`, `k0001`, … each holding its own number, in few transactions.
async fn fill(store: &Store, count: usize) {
    let numbers: Vec<usize> = (0..count).collect();
    for some in numbers.chunks(128) {
        let txn = some.iter().fold(Txn::new(), |txn, nth| txn.put(format!("k{nth:04}"), nth.to_string()));
        store.commit(txn).await.expect("a transaction");
    }
}

pub async fn ranges_hold_what_they_say(fixture: Fixture) {
    let store = fixture.open().await;
    for key in ["a", "a/1", "a/2", "a0", "b", "b/1", "c"] {
        put(&store, key, "v").await;
    }
    let seen = store.recent();
    let held = |range: KeyRange| keys(&seen, range).iter().map(Key::to_string).collect::<Vec<_>>().join(" ");
    let between = |start: &str, end: &str| held(KeyRange::between(start, end).expect("a range"));
    assert_eq!(held(KeyRange::all()), "a a/1 a/2 a0 b b/1 c");
    assert_eq!(held(KeyRange::prefix("a/")), "a/1 a/2");
    assert_eq!(held(KeyRange::prefix("a")), "a a/1 a/2 a0");
    assert_eq!(held(KeyRange::prefix("")), "a a/1 a/2 a0 b b/1 c");
    assert_eq!(held(KeyRange::prefix("d")), "");
    assert_eq!(held(KeyRange::key("a")), "a");
    assert_eq!(held(KeyRange::key("missing")), "");
    assert_eq!(between("a/2", "b"), "a/2 a0");
    assert_eq!(between("a/1\0", "b\0"), "a/2 a0 b");
    assert_eq!(between("a", "a"), "", "an empty range");
    assert_eq!(between("", "zzz"), "a a/1 a/2 a0 b b/1 c");
    assert_eq!(held(KeyRange::prefix([0xff])), "");
    assert_eq!(held(KeyRange::all().after(&Key::new("b"))), "b/1 c");
    assert_eq!(held(KeyRange::prefix("a/").after(&Key::new("a/2"))), "");
    assert_eq!(seen.count(KeyRange::prefix("a")), Ok(4));
    assert_eq!(seen.get("a/"), Ok(None), "a prefix is not a key");
    assert_eq!(seen.get(""), Ok(None));
}

pub async fn scans_are_whole_at_every_length(fixture: Fixture) {
    let store = fixture.open().await;
    fill(&store, 1100).await;
    let seen = store.recent();
    // Around every power of two up to a thousand: wherever a scan takes breath, nothing is lost or repeated.
    let lengths = (0..=10).flat_map(|power| (1usize << power).saturating_sub(1)..=(1 << power) + 1);
    for length in lengths {
        let range = KeyRange::between("k0000", format!("k{length:04}")).expect("a range");
        let expected: Vec<_> = (0..length).map(|nth| Key::new(format!("k{nth:04}"))).collect();
        assert_eq!(keys(&seen, range.clone()), expected, "a range of {length}");
        assert_eq!(seen.count(range), Ok(length));
        let page = seen.page(&KeyRange::all(), length).expect("a page");
        assert!(page.iter().map(|entry| &entry.key).eq(&expected), "a page of {length}");
    }
    assert_eq!(seen.count(KeyRange::all()), Ok(1100));
}

/// Reads `range` page by page, doing something in between.
async fn paged(seen: &Snapshot, range: &KeyRange, limit: usize, mut between: impl AsyncFnMut(usize)) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut rest = range.clone();
    for turn in 0.. {
        let page = seen.page(&rest, limit).expect("a page");
        let Some(last) = page.last() else { break };
        rest = rest.after(&last.key);
        entries.extend(page);
        between(turn).await;
    }
    entries
}

pub async fn pages_add_up_to_one_scan_while_writes_go_on(fixture: Fixture) {
    let store = fixture.open().await;
    fill(&store, 300).await;
    let old = store.recent();
    let expected: Vec<Entry> = old.scan(KeyRange::all()).collect::<Result<_, _>>().expect("a scan");
    for limit in [1, 7, 100, 299, 300, 301] {
        // Deletes, changes and adds keys on both sides of where the reader stands.
        let disturb = async |turn: usize| {
            if turn > 12 {
                return;
            }
            let (ahead, behind) = (format!("k{:04}", turn * 20), format!("k{:04}", 299 - turn * 20));
            let txn = Txn::new().delete(ahead).put(behind, "changed").put(format!("k0{limit}x{turn}"), "new");
            store.commit(txn).await.expect("a transaction");
        };
        let read = paged(&old, &KeyRange::prefix("k"), limit, disturb).await;
        assert!(read == expected, "pages of {limit} are the same as one scan");
    }
    let again = store.snapshot_at(old.revision()).expect("the past");
    let read = paged(&again, &KeyRange::all(), 64, async |_| ()).await;
    assert!(read == expected, "and so is the same revision asked for again");
    assert!(all(&store) != contents(&old, KeyRange::all()));
}

/// A few keys changing in every way; after each revision, what everything was.
pub(super) async fn eventful(store: &Store) -> Vec<(Revision, String)> {
    let mut past = Vec::new();
    for turn in 0..8 {
        let value = turn.to_string();
        let txns = [
            Txn::new().put("a", value.clone()),
            Txn::new().put("a", value.clone() + "'").put("b", value.clone()).put(format!("t{turn}"), value.clone()),
            Txn::new().delete("b").put("c", value.clone()),
            Txn::new().delete("a"),
        ];
        for txn in txns {
            let done = store.commit(txn).await.expect("a transaction");
            past.push((done.revision, all(store)));
        }
    }
    past
}

pub async fn every_revision_reads_as_it_was(fixture: Fixture) {
    let store = fixture.open().await;
    let start = store.recent().revision();
    let past = eventful(&store).await;
    let reads = |revision| contents(&store.snapshot_at(revision).expect("the past"), KeyRange::all());
    assert_eq!(reads(start), "");
    for (revision, expected) in &past {
        assert_eq!(reads(*revision), *expected, "at revision {revision}");
        let seen = store.snapshot_at(*revision).expect("the past");
        for entry in seen.scan(KeyRange::all()) {
            let entry = entry.expect("readable");
            assert_eq!(seen.get(entry.key.as_bytes()), Ok(Some(entry.version.clone())), "get and scan agree");
            assert!(entry.version.created <= entry.version.modified && entry.version.modified <= *revision);
        }
    }
    let middle = past[past.len() / 2].0;
    assert_eq!(store.compact(middle).await.expect("compaction"), middle);
    for (revision, expected) in past.iter().filter(|(revision, _)| *revision >= middle) {
        assert_eq!(reads(*revision), *expected, "at revision {revision}, after compaction to {middle}");
    }
}

pub async fn what_was_forgotten_is_compacted_and_what_is_to_come_is_future(fixture: Fixture) {
    let store = fixture.open().await;
    let past = eventful(&store).await;
    let (newest, oldest) = (past[past.len() - 1].0, past[20].0);
    let held = store.snapshot_at(past[19].0).expect("the past");
    store.compact(oldest).await.expect("compaction");
    let compacted = |asked| ReadError::Compacted { asked, oldest };
    for (revision, _) in &past[..20] {
        assert_eq!(store.snapshot_at(*revision).expect_err("too old"), compacted(*revision));
    }
    assert_eq!(held.get("a"), Err(compacted(past[19].0)), "a view does not outlive its revision");
    assert_eq!(held.count(KeyRange::all()), Err(compacted(past[19].0)));
    assert_eq!(store.snapshot_at(Revision::ZERO).expect_err("too old"), compacted(Revision::ZERO));
    let future = ReadError::Future { asked: newest.next(), newest };
    assert_eq!(store.snapshot_at(newest.next()).expect_err("too new"), future);
    assert!(store.snapshot_at(Revision(u64::MAX)).is_err());
    assert_eq!((store.stats().oldest, store.stats().revision), (oldest, newest));
}

pub async fn a_held_snapshot_does_not_change(fixture: Fixture) {
    let store = fixture.open().await;
    put(&store, "a", "1").await;
    put(&store, "b", "1").await;
    let held = store.snapshot().await.expect("a snapshot");
    let mut half_read = held.scan(KeyRange::all());
    let first = half_read.next().expect("an entry").expect("readable");
    for turn in 0..20 {
        put(&store, "a", "other").await;
        delete(&store, "b").await;
        put(&store, &format!("n{turn}"), "new").await;
    }
    assert_eq!(contents(&held, KeyRange::all()), "a=1 b=1");
    assert_eq!(first.key, Key::new("a"));
    let rest: Vec<_> = half_read.map(|entry| entry.expect("readable").key).collect();
    assert_eq!(rest, [Key::new("b")]);
}

pub async fn a_scan_overtaken_by_compaction_says_so_and_ends(fixture: Fixture) {
    let store = fixture.open().await;
    fill(&store, 1100).await;
    let mut scan = store.recent().scan(KeyRange::all());
    let asked = store.recent().revision();
    assert!(scan.next().expect("an entry").is_ok());
    let newer = put(&store, "k0000", "changed").await;
    store.compact(newer).await.expect("compaction");
    let rest: Vec<_> = scan.collect();
    let (last, before) = rest.split_last().expect("an error at least");
    assert!(before.iter().all(Result::is_ok) && before.len() < 1099, "what was read already is right");
    assert_eq!(last.clone(), Err(ReadError::Compacted { asked, oldest: newer }));
}

pub async fn a_deleted_prefix_is_passed_over(fixture: Fixture) {
    let store = fixture.open().await;
    fill(&store, 1100).await;
    put(&store, "z", "last").await;
    let before = store.recent();
    for turn in 0..11 {
        let hundred = (turn * 100..turn * 100 + 100).map(|nth| format!("k{nth:04}"));
        store.commit(hundred.fold(Txn::new(), |txn, key| txn.delete(key))).await.expect("a transaction");
    }
    assert_eq!(all(&store), "z=last");
    assert_eq!(store.recent().page(&KeyRange::all(), 1).expect("a page").len(), 1);
    assert_eq!(before.count(KeyRange::all()), Ok(1101));
    let store = fixture.reopen(store).await;
    assert_eq!(all(&store), "z=last");
}
