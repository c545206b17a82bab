//! What a store that is overwritten without end takes on the disk, in terms of what it holds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::time::Duration;
use storage::{Engine, HistoryBounds, KeyRange, Options, Place, Store, Txn};

const VALUE_BYTES: u64 = 4096;
const PER_TXN: u64 = 64;
/// What the log may have beside four times what is live, in a store as small as these: segments of a megabyte.
const CONSTANT_BYTES: u64 = 4 << 20;

/// A segment and one more batch, with all that may be carried on beside it.
const SEGMENT_BYTES_MAX: u64 = (1 << 20) + 4 * PER_TXN * VALUE_BYTES;

/// Which key the nth write goes to; whether it deletes it.
type Pattern = fn(u64) -> (u64, bool);

fn options() -> Options {
    let history = HistoryBounds::exactly(Duration::from_secs(3600), 256 << 10);
    Options { history, ..Options::default() }
}

fn bytes_under(dir: &Path) -> u64 {
    lengths_under(dir).into_iter().sum()
}

fn lengths_under(dir: &Path) -> Vec<u64> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    let lengths = entries.flat_map(|entry| match entry.file_type().unwrap().is_dir() {
        true => lengths_under(&entry.path()),
        false => vec![entry.metadata().map_or(0, |metadata| metadata.len())],
    });
    lengths.collect()
}

async fn write(store: &Store, writes: std::ops::Range<u64>, pattern: Pattern) {
    for first in writes.clone().step_by(PER_TXN as usize) {
        let mut txn = Txn::new();
        let mut seen = std::collections::BTreeSet::new();
        for nth in first..(first + PER_TXN).min(writes.end) {
            let (key, deletes) = pattern(nth);
            if !seen.insert(key) {
                continue;
            }
            let key = format!("key/{key:06}");
            let value = (nth.to_string() + " ").into_bytes().repeat(VALUE_BYTES as usize / 8);
            txn = if deletes { txn.delete(key) } else { txn.put(key, value) };
        }
        store.commit(txn).await.unwrap();
    }
}

/// Writes 64 times what a store of 512 keys holds, and looks at the disk all along.
async fn check(pattern: Pattern) {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::Dir { dir: dir.path().to_owned(), engine: Engine::Log };
    let store = Store::open(&place, options()).unwrap();
    for round in 0..64 {
        write(&store, round * 512..(round + 1) * 512, pattern).await;
        let (taken, stats) = (bytes_under(dir.path()), store.stats());
        let bound = 4 * stats.size.bytes + CONSTANT_BYTES;
        assert!(taken <= bound, "round {round}: {taken} bytes for {} live ones", stats.size.bytes);
        let largest = lengths_under(dir.path()).into_iter().max();
        assert!(largest < Some(SEGMENT_BYTES_MAX), "round {round}: a segment of {largest:?} bytes");
    }
    let (revision, live) = (store.stats().revision, store.stats().size);
    store.close().await;
    let store = Store::open(&place, options()).unwrap();
    assert_eq!((store.stats().revision, store.stats().size), (revision, live));
    assert_eq!(store.recent().count(KeyRange::all()).unwrap() as u64, live.keys);
}

fn scrambled(nth: u64) -> u64 {
    nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}

#[tokio::test]
async fn overwriting_in_turn_takes_four_times_what_is_live_at_most() {
    check(|nth| (nth % 512, false)).await;
}

#[tokio::test]
async fn overwriting_at_random_takes_four_times_what_is_live_at_most() {
    check(|nth| (scrambled(nth) % 512, false)).await;
}

/// The old ones stand in the way of what is garbage, and must be carried on again and again.
#[tokio::test]
async fn a_few_hot_keys_among_cold_ones_take_four_times_what_is_live_at_most() {
    check(|nth| (if nth < 512 { nth } else { scrambled(nth) % 20 }, false)).await;
}

#[tokio::test]
async fn creating_and_deleting_takes_four_times_what_is_live_at_most() {
    check(|nth| (scrambled(nth) % 512, scrambled(nth).is_multiple_of(3))).await;
}

#[tokio::test]
async fn what_is_written_once_is_not_written_again() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::Dir { dir: dir.path().to_owned(), engine: Engine::Log };
    let store = Store::open(&place, options()).unwrap();
    write(&store, 0..4096, |nth| (nth, false)).await;
    let (taken, live) = (bytes_under(dir.path()), store.stats().size.bytes);
    assert!(taken < live * 11 / 10, "{taken} bytes for {live} live ones");
    let segments = std::fs::read_dir(dir.path().join("log")).unwrap().count();
    assert!((2..20).contains(&segments), "{segments} segments");
    let oldest = dir.path().join("log/00000000000000000001.log");
    assert!(oldest.exists(), "nothing was worth cleaning");
}

#[tokio::test]
async fn what_history_forgets_leaves_the_disk() {
    let dir = tempfile::tempdir().unwrap();
    let place = Place::Dir { dir: dir.path().to_owned(), engine: Engine::Log };
    let history = HistoryBounds::exactly(Duration::from_secs(3600), 256 << 20);
    let store = Store::open(&place, Options { history, ..Options::default() }).unwrap();
    write(&store, 0..512 * 16, |nth| (nth % 512, false)).await;
    let live = store.stats().size.bytes;
    assert!(bytes_under(dir.path()) > 15 * live, "history is kept");
    store.compact(store.stats().revision).await.unwrap();
    store.commit(Txn::new().put("the last one", "")).await.unwrap();
    let taken = bytes_under(dir.path());
    assert!(taken < 2 * live + CONSTANT_BYTES, "{taken} bytes for {live} live ones");
}
