//! The same keys and values for everybody, and the clockwork that applies them.

use crate::table::Row;
use std::future::Future;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

pub const VALUE_BYTES: usize = 1536;

/// Spread over the key space as objects of many owners are.
pub fn key(number: u64) -> String {
    let owner = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("group/things/-/{owner:016x}/default/the-name-of-a-thing-{number:08}")
}

/// JSON-like, with about the redundancy of hexadecimal text. Cut out of a text made once: whoever is measured should not
/// have to share the processor with the making of values.
pub fn value(number: u64) -> Vec<u8> {
    static TEXT: LazyLock<Vec<u8>> = LazyLock::new(|| (1..TEXT_BYTES as u64 / 16).flat_map(hexadecimal).collect());
    let mut value = format!(r#"{{"number":{number},"data":""#).into_bytes();
    let length = VALUE_BYTES - 2 - value.len();
    let from = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % (TEXT.len() - length);
    value.extend_from_slice(&TEXT[from..from + length]);
    value.extend_from_slice(br#""}"#);
    value
}

/// Far more than any cache of blocks that an engine compresses together.
const TEXT_BYTES: usize = 4 << 20;

fn hexadecimal(seed: u64) -> [u8; 16] {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    state ^= state >> 29;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^= state >> 32;
    std::array::from_fn(|nth| b"0123456789abcdef"[(state >> (4 * nth)) as usize & 15])
}

/// Runs `step(worker, round)` over and over in `workers` tasks for `seconds`; returns each call's time.
pub async fn hammer<F, S>(workers: u64, seconds: f64, step: F) -> Timings
where
    F: Fn(u64, u64) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let start = Instant::now();
    let end = start + Duration::from_secs_f64(seconds);
    let tasks: Vec<_> = (0..workers)
        .map(|worker| {
            let step = step.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                for round in 0.. {
                    let began = Instant::now();
                    if began >= end {
                        break;
                    }
                    step(worker, round).await;
                    times.push(began.elapsed());
                }
                times
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("a worker does not panic"));
    }
    times.sort_unstable();
    Timings { elapsed: start.elapsed(), times }
}

#[derive(Debug)]
pub struct Timings {
    elapsed: Duration,
    times: Vec<Duration>,
}

impl Timings {
    pub fn per_second(&self) -> f64 {
        self.times.len() as f64 / self.elapsed.as_secs_f64()
    }

    pub fn percentile_ms(&self, percent: f64) -> f64 {
        let at = (self.times.len() as f64 * percent / 100.0) as usize;
        self.times[at.min(self.times.len() - 1)].as_secs_f64() * 1000.0
    }

    pub fn rows(&self, what: &str) -> Vec<Row> {
        vec![
            Row::more(format!("{what}: rate"), self.per_second(), "/s"),
            Row::less(format!("{what}: p50"), self.percentile_ms(50.0), "ms"),
            Row::less(format!("{what}: p99"), self.percentile_ms(99.0), "ms"),
        ]
    }
}
