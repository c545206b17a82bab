//! What one transaction may carry, each limit by name, and what keys and values may be made of.

use super::Fixture;
use super::words::{all, keys, next, put, watch};
use crate::{CommitError, Draft, Invalid, Key, KeyRange, Limits, Options, Store, Txn};
use bytes::Bytes;

async fn small(fixture: &Fixture) -> Store {
    let limits = Limits { key_bytes_max: 4, value_bytes_max: 3, operations_max: 2 };
    fixture.open_with(Options { limits, ..Options::default() }).await
}

/// What the store says to `txn`; nothing of it may be there afterwards.
async fn refused(store: &Store, txn: Txn) -> Invalid {
    let before = (store.recent().revision(), all(store));
    let Err(CommitError::Invalid(why)) = store.commit(txn).await else { panic!("it was not refused") };
    assert_eq!((store.recent().revision(), all(store)), before, "a refused transaction leaves nothing");
    why
}

pub async fn keys_must_not_be_empty(fixture: Fixture) {
    let store = small(&fixture).await;
    assert_eq!(refused(&store, Txn::new().put("", "1")).await, Invalid::EmptyKey);
    assert_eq!(refused(&store, Txn::new().put("a", "1").delete("")).await, Invalid::EmptyKey);
    assert_eq!(refused(&store, Txn::new().put("a", "1").expect("", crate::Expect::Absent)).await, Invalid::EmptyKey);
}

pub async fn keys_have_a_longest_length(fixture: Fixture) {
    let store = small(&fixture).await;
    let too_long = Invalid::KeyTooLong { bytes: 5, max: 4 };
    assert_eq!(refused(&store, Txn::new().put("abcde", "1")).await, too_long);
    assert_eq!(refused(&store, Txn::create("abcde", "1")).await, too_long);
    put(&store, "abcd", "1").await;
    assert_eq!(all(&store), "abcd=1");

    let store = fixture.reopen(store).await;
    let longest = Key::new(vec![b'k'; Limits::default().key_bytes_max]);
    store.commit(Txn::create(longest.clone(), "1")).await.expect("a key of exactly the limit");
    let store = fixture.reopen(store).await;
    assert_eq!(keys(&store.recent(), KeyRange::prefix("k")), [longest]);
}

pub async fn values_have_a_largest_size(fixture: Fixture) {
    let store = small(&fixture).await;
    let too_large = Invalid::ValueTooLarge { key: Key::new("a"), bytes: 4, max: 3 };
    assert_eq!(refused(&store, Txn::new().put("a", "1234")).await, too_large);
    assert_eq!(refused(&store, Txn::new().put("b", "1").put("a", Draft::with_gap("1234", 2))).await, too_large);
    put(&store, "a", "123").await;
    assert_eq!(all(&store), "a=123");
}

pub async fn transactions_have_a_most_of_operations(fixture: Fixture) {
    let store = small(&fixture).await;
    let three = Txn::new().put("a", "1").put("b", "1").put("c", "1");
    assert_eq!(refused(&store, three).await, Invalid::TooManyOperations { operations: 3, max: 2 });
    let absent = |txn: Txn, key: &str| txn.expect(key, crate::Expect::Absent);
    let three = ["a", "b", "c"].into_iter().fold(Txn::new(), absent);
    assert_eq!(refused(&store, three).await, Invalid::TooManyOperations { operations: 3, max: 2 });
    let two_of_each = ["c", "d"].into_iter().fold(Txn::new().put("a", "1").put("b", "1"), absent);
    store.commit(two_of_each).await.expect("two conditions and two writes");

    let store = fixture.reopen(store).await;
    let most = Limits::default().operations_max;
    let many = |count: usize| (0..count).fold(Txn::new(), |txn, nth| txn.put(format!("k{nth:03}"), "1"));
    let too_many = Invalid::TooManyOperations { operations: most + 1, max: most };
    assert_eq!(refused(&store, many(most + 1)).await, too_many);
    let done = store.commit(many(most)).await.expect("exactly the limit");
    assert_eq!(done.changes.len(), most);
    let store = fixture.reopen(store).await;
    assert_eq!(store.recent().count(KeyRange::prefix("k")), Ok(most));
}

pub async fn a_key_is_written_once_in_a_transaction(fixture: Fixture) {
    let store = fixture.open().await;
    let twice = Invalid::WrittenTwice { key: Key::new("a") };
    assert_eq!(refused(&store, Txn::new().put("a", "1").put("b", "1").put("a", "2")).await, twice);
    assert_eq!(refused(&store, Txn::new().delete("a").put("a", "2")).await, twice);
    assert_eq!(refused(&store, Txn::new().delete("a").delete("a")).await, twice);
}

pub async fn the_largest_value_comes_back_whole(fixture: Fixture) {
    let store = fixture.open().await;
    let largest: Bytes = (0..Limits::default().value_bytes_max).map(|nth| (nth * 31 % 251) as u8).collect();
    let mut watcher = watch(&store, KeyRange::key("big"));
    let one_more: Bytes = [&largest[..], b"!"].concat().into();
    let too_large =
        Invalid::ValueTooLarge { key: Key::new("big"), bytes: one_more.len(), max: Limits::default().value_bytes_max };
    assert_eq!(refused(&store, Txn::new().put("big", one_more)).await, too_large);
    let first = store.commit(Txn::create("big", largest.clone())).await.expect("a value of exactly the limit");
    let reversed: Bytes = largest.iter().rev().copied().collect();
    store.commit(Txn::replace("big", first.revision, reversed.clone())).await.expect("another of the same size");
    let told = next(&mut watcher, 2).await;
    let value = |version: &Option<crate::Version>| version.as_ref().expect("a version").value.clone();
    assert!(value(&told[1].previous) == largest && value(&told[1].current) == reversed, "told whole");

    let store = fixture.reopen(store).await;
    let stored = |store: &Store| store.recent().get("big").expect("readable").expect("there").value;
    assert!(stored(&store) == reversed, "read back whole");
    if fixture.keeps_history {
        let before = store.snapshot_at(first.revision).expect("the past").get("big").expect("readable");
        assert!(value(&before) == largest, "the value before it too");
    }
    store.commit(Txn::new().put("big", "small")).await.expect("a small value in its place");
    store.compact(store.recent().revision()).await.expect("compaction");
    let store = fixture.reopen(store).await;
    assert_eq!(all(&store), "big=small");
}

pub async fn any_bytes_make_a_key(fixture: Fixture) {
    let store = fixture.open().await;
    let mut odd: Vec<Key> = vec![
        Key::new([0]),
        Key::new([0, 0]),
        Key::new([0, 0xff]),
        Key::new([1]),
        Key::new("a"),
        Key::new("a\0"),
        Key::new("a\0\0"),
        Key::new("a\0b"),
        Key::new("a/b"),
        Key::new("ab"),
        Key::new([b'a', 0xff]),
        Key::new([b'a', 0xff, 0xff]),
        Key::new("é"),
        Key::new([0xff]),
        Key::new([0xff, 0]),
        Key::new([0xff, 0xff]),
        Key::new([0xff, 0xff, 0xff]),
    ];
    for key in odd.iter().rev() {
        store.commit(Txn::create(key.clone(), Bytes::copy_from_slice(key.as_bytes()))).await.expect("a creation");
    }
    odd.sort();
    let check = |store: &Store| {
        let recent = store.recent();
        assert_eq!(keys(&recent, KeyRange::all()), odd, "in the order of bytes");
        for key in &odd {
            let own = recent.get(key.as_bytes()).expect("readable").expect("there");
            assert_eq!(own.value, key.as_bytes(), "{key} has its own value");
            assert_eq!(keys(&recent, KeyRange::key(key.clone())), std::slice::from_ref(key));
            let begin_with: Vec<_> =
                odd.iter().filter(|other| other.as_bytes().starts_with(key.as_bytes())).cloned().collect();
            assert_eq!(keys(&recent, KeyRange::prefix(key.as_bytes())), begin_with, "what begins with {key}");
        }
    };
    check(&store);
    let store = fixture.reopen(store).await;
    check(&store);
    store.commit(Txn::new().delete("a").delete([0xff, 0xff])).await.expect("a deletion");
    odd.retain(|key| *key != Key::new("a") && *key != Key::new([0xff, 0xff]));
    let store = fixture.reopen(store).await;
    assert_eq!(keys(&store.recent(), KeyRange::all()), odd, "neighbours stay");
}

pub async fn an_empty_value_is_not_an_absent_one(fixture: Fixture) {
    let store = fixture.open().await;
    let empty = put(&store, "empty", "").await;
    put(&store, "gone", "").await;
    super::words::delete(&store, "gone").await;
    let check = |store: &Store| {
        let found = store.recent().get("empty").expect("readable").expect("there");
        assert_eq!((found.modified, found.value.len()), (empty, 0));
        assert_eq!(store.recent().get("gone"), Ok(None));
        assert_eq!(store.stats().size, crate::Size { keys: 1, bytes: 5 });
    };
    check(&store);
    let store = fixture.reopen(store).await;
    check(&store);
    assert!(matches!(store.commit(Txn::create("empty", "")).await, Err(CommitError::Conflict { .. })));
    store.commit(Txn::create("gone", "")).await.expect("a creation");
}
