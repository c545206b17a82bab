//! Durable commits, by writers that each wait for their answer.

use crate::Plan;
use crate::peers::Peer;
use crate::workload::{key, value};
use bench::hammer::hammer;
use bench::table::Row;

pub const NAME: &str = "durable commits";

pub async fn measure(plan: &Plan, peer: Peer) -> Vec<Row> {
    let fixture = peer.fresh(plan).await;
    let mut rows = Vec::new();
    for writers in [1, 16, 64, 256] {
        let store = fixture.open.clone();
        let timings = hammer(writers, plan.seconds, move |worker, round| {
            let store = store.clone();
            let number = (writers << 40) + (worker << 28) + round;
            async move { store.create(key(number), value(number)).await }
        })
        .await;
        rows.extend(timings.rows(&format!("durable commits, {writers} writers")));
    }
    fixture.open.close().await;
    rows
}
