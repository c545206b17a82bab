//! Point reads and full scans of a store that fits in memory.

use crate::Plan;
use crate::bulk::fill;
use crate::peers::Peer;
use crate::workload::key;
use bench::hammer::hammer;
use bench::table::Row;
use std::time::Instant;

pub const NAME: &str = "reads";

const OBJECTS: u64 = 100_000;
/// Reads between two looks at the clock: one read of ours takes less time than the look.
const READS_PER_STEP: u64 = 64;

pub async fn measure(plan: &Plan, peer: Peer) -> Vec<Row> {
    let fixture = peer.fresh(plan).await;
    fill(&fixture.open, OBJECTS).await;
    let mut rows = Vec::new();
    for readers in [1, 64] {
        let store = fixture.open.clone();
        let timings = hammer(readers, plan.seconds, move |worker, round| {
            let store = store.clone();
            async move {
                for read in 0..READS_PER_STEP {
                    let number = (worker * 7919 + (round * READS_PER_STEP + read) * 104_729) % OBJECTS;
                    store.get(key(number)).await;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        let rate = timings.per_second() * READS_PER_STEP as f64;
        rows.push(Row::more(format!("point reads, {readers} readers"), rate, "/s"));
    }
    let start = Instant::now();
    let mut bytes = 0;
    while start.elapsed().as_secs_f64() < plan.seconds {
        bytes += fixture.open.scan().await;
    }
    rows.push(Row::more("range scan", bytes as f64 / 1e6 / start.elapsed().as_secs_f64(), "MB/s"));
    fixture.open.close().await;
    rows
}
