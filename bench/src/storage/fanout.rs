//! One change to many watchers of the same range.

use crate::Plan;
use crate::peers::{Fixture, Open, Peer};
use crate::workload::{key, value};
use bench::table::Row;
use etcd_client::WatchOptions;
use std::time::Instant;
use storage::{KeyRange, Revision};
use tokio::task::JoinHandle;

pub const NAME: &str = "watch fan-out";

/// etcd's watchers share streams, as those of one client process do.
const WATCHERS_PER_STREAM: usize = 100;
/// Events delivered in each measurement, roughly: few watchers get many changes, many get few.
const DELIVERIES: usize = 400_000;
const CHANGES_MAX: usize = 20_000;
const CHANGES_MIN: usize = 200;
const WRITERS: usize = 16;

pub async fn measure(plan: &Plan, peer: Peer) -> Vec<Row> {
    let mut rows = Vec::new();
    for &watchers in &plan.watchers {
        let changes = (DELIVERIES / watchers).clamp(CHANGES_MIN, CHANGES_MAX);
        let fixture = peer.fresh(plan).await;
        let tasks = watch(&fixture, watchers, changes).await;
        let start = Instant::now();
        write(&fixture.open, changes).await;
        for task in tasks {
            task.await.expect("a watcher does not panic");
        }
        let delivered = (changes * watchers) as f64;
        let rate = delivered / start.elapsed().as_secs_f64();
        let row = Row::more(format!("watch fan-out, {watchers} watchers"), rate, "events/s");
        rows.push(row.point("store-watchers", "", watchers as f64));
        fixture.open.close().await;
    }
    rows
}

async fn write(store: &Open, changes: usize) {
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                for change in (writer..changes).step_by(WRITERS) {
                    store.create(key(change as u64), value(change as u64)).await;
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer does not panic");
    }
}

/// Tasks that each end when all their watchers have seen `changes` changes.
async fn watch(fixture: &Fixture, watchers: usize, changes: usize) -> Vec<JoinHandle<()>> {
    let mut tasks = Vec::new();
    match &fixture.open {
        Open::Ours(store) => {
            for _ in 0..watchers {
                let mut watcher = store.watch(KeyRange::prefix("group/"), Revision::ZERO).expect("a watch");
                tasks.push(tokio::spawn(async move {
                    for _ in 0..changes {
                        let _ = std::hint::black_box(watcher.next().await.expect("a change"));
                    }
                }));
            }
        }
        Open::Etcd(etcd) => {
            for first in (0..watchers).step_by(WATCHERS_PER_STREAM) {
                let count = WATCHERS_PER_STREAM.min(watchers - first);
                let prefix = || Some(WatchOptions::new().with_prefix().with_prev_key());
                let mut stream = etcd.client().watch("group/", prefix()).await.expect("a watch");
                for _ in 1..count {
                    stream.watch("group/", prefix()).await.expect("a watch");
                }
                let mut created = 1;
                while created < count {
                    let message = stream.message().await.expect("a message").expect("an open stream");
                    created += usize::from(message.created());
                }
                tasks.push(tokio::spawn(async move {
                    let mut seen = 0;
                    while seen < changes * count {
                        let message = stream.message().await.expect("a message").expect("an open stream");
                        seen += message.events().len();
                    }
                }));
            }
        }
    }
    tasks
}
