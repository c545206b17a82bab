//! A large store: how long it takes to open, what it weighs in memory and on disk, and what overwriting leaves behind.

use crate::Plan;
use crate::peers::{Open, Peer};
use crate::process;
use crate::workload::{VALUE_BYTES, key, value};
use bench::disk::bytes_under;
use bench::table::Row;
use std::time::Instant;

pub const NAME: &str = "a large store";
pub const OVERWRITES: &str = "overwrites";

/// Keys in one transaction while filling: under the 128 that a default etcd takes.
const PER_TXN: u64 = 64;
const WRITERS: u64 = 16;
const HOT_KEYS: u64 = 50_000;

/// Writes objects 0 to `objects`.
pub async fn fill(store: &Open, objects: u64) {
    write(store, objects, u64::MAX).await;
}

/// Writes numbers 0 to `writes`, to the key of each number modulo `keys`.
async fn write(store: &Open, writes: u64, keys: u64) {
    let tasks: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for first in (writer * PER_TXN..writes).step_by((WRITERS * PER_TXN) as usize) {
                    let numbers = first..(first + PER_TXN).min(writes);
                    store.put_all(numbers.map(|number| (key(number % keys), value(number))).collect()).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a writer does not panic");
    }
}

pub async fn measure(plan: &Plan, peer: Peer) -> Vec<Row> {
    let objects = plan.objects;
    let fixture = peer.fresh(plan).await;
    let start = Instant::now();
    fill(&fixture.open, objects).await;
    let filled = start.elapsed().as_secs_f64();
    fixture.open.close().await;
    let opened = process::open_elsewhere(peer, fixture.dir.path(), objects).await;
    let encoded = (objects * (key(0).len() + VALUE_BYTES) as u64) as f64;
    let name = |what: &str| format!("{objects} objects: {what}");
    vec![
        Row::more(name("written in bulk"), objects as f64 / filled, "objects/s"),
        Row::less(name("open time"), opened.seconds, "s"),
        Row::less(name("RSS"), opened.rss_bytes / 1e6, "MB"),
        Row::less(name("RSS / encoded bytes"), opened.rss_bytes / encoded, "x"),
        Row::less(name("disk"), bytes_under(fixture.dir.path()) / 1e6, "MB"),
    ]
}

pub async fn overwrite(plan: &Plan, peer: Peer) -> Vec<Row> {
    let fixture = peer.fresh(plan).await;
    let start = Instant::now();
    write(&fixture.open, plan.overwrites, HOT_KEYS).await;
    let elapsed = start.elapsed().as_secs_f64();
    let busy = bytes_under(fixture.dir.path());
    compact(&fixture.open).await;
    fixture.open.close().await;
    // What a background compaction had under way is finished or dropped by opening and closing once.
    peer.open(fixture.dir.path()).await.close().await;
    let live = (HOT_KEYS * (key(0).len() + VALUE_BYTES) as u64) as f64;
    let name = |what: &str| format!("{} overwrites of {HOT_KEYS} keys: {what}", plan.overwrites);
    vec![
        Row::more(name("rate"), plan.overwrites as f64 / elapsed, "writes/s"),
        Row::less(name("disk / live bytes, while writing"), busy / live, "x"),
        Row::less(name("disk / live bytes, compacted"), bytes_under(fixture.dir.path()) / live, "x"),
    ]
}

async fn compact(store: &Open) {
    match store {
        Open::Ours(store) => {
            store.compact(store.stats().revision).await.expect("compacted");
            // What was forgotten leaves the disk with the next commit.
            store.commit(storage::Txn::new().put("the last one", "")).await.expect("written");
        }
        Open::Etcd(etcd) => {
            let mut client = etcd.client();
            let revision =
                client.get("any", None).await.expect("readable").header().map_or(0, |header| header.revision());
            client.compact(revision, None).await.expect("compacted");
        }
    }
}
