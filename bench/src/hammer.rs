//! The clockwork: many workers that each wait for their answer, and how long each took.

use crate::table::Row;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Runs `step(worker, round)` over and over in `workers` tasks for `seconds`; returns each call's time.
pub async fn hammer<F, S>(workers: u64, seconds: f64, step: F) -> Timings
where
    F: Fn(u64, u64) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    paced(workers, seconds, Duration::ZERO, step).await
}

/// The same by workers that pause after each call, as those do who have something to do with the answer.
pub async fn paced<F, S>(workers: u64, seconds: f64, pause: Duration, step: F) -> Timings
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
                    if !pause.is_zero() {
                        tokio::time::sleep(pause).await;
                    }
                }
                times
            })
        })
        .collect();
    gather(start, tasks).await
}

/// Runs `step(worker, number)` once for each number below `count`, in `workers` tasks; returns each call's time.
pub async fn each<F, S>(workers: u64, count: u64, step: F) -> Timings
where
    F: Fn(u64, u64) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    steady(workers, count, None, step).await
}

/// The same at a steady rate, if one is named: each call has a time when it is due, and takes as long as it is from then to
/// its answer, also if its worker was still waiting for the last one.
pub async fn steady<F, S>(workers: u64, count: u64, per_second: Option<f64>, step: F) -> Timings
where
    F: Fn(u64, u64) -> S + Clone + Send + Sync + 'static,
    S: Future<Output = ()> + Send + 'static,
{
    let start = Instant::now();
    let tasks: Vec<_> = (0..workers)
        .map(|worker| {
            let step = step.clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                for number in (worker..count).step_by(workers as usize) {
                    let mut began = Instant::now();
                    if let Some(per_second) = per_second {
                        began = start + Duration::from_secs_f64(number as f64 / per_second);
                        tokio::time::sleep_until(began.into()).await;
                    }
                    step(worker, number).await;
                    times.push(began.elapsed());
                }
                times
            })
        })
        .collect();
    gather(start, tasks).await
}

async fn gather(start: Instant, tasks: Vec<JoinHandle<Vec<Duration>>>) -> Timings {
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("a worker does not panic"));
    }
    Timings::new(start.elapsed(), times)
}

#[derive(Debug)]
pub struct Timings {
    elapsed: Duration,
    times: Vec<Duration>,
}

impl Timings {
    pub fn new(elapsed: Duration, mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { elapsed, times }
    }

    pub fn count(&self) -> usize {
        self.times.len()
    }

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
