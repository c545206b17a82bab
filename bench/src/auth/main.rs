//! `make bench-auth`: what it costs that every request is looked at, with a thousand roles in the workspace.
//!
//! First the decision alone, for users who hold one role and for one who holds them all; then a request from one end of
//! the pipeline to the other, by somebody who may do everything anyway and by somebody whom rules permit it.

mod rules;
mod server;

use bench::disk;
use bench::table::{Aim, Report, Row};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Roles in the workspace, each with a binding of its own.
pub const ROLES: usize = 1_000;

/// What a request may cost more because it is looked at.
const ADDED_US_MAX: f64 = 20.0;

/// How often something is measured that takes microseconds.
fn rounds() -> usize {
    if std::env::args().any(|argument| argument == "--quick") { 20_000 } else { 500_000 }
}

fn main() {
    let mut report = Report::new(vec!["hanse"]);
    report.note(format!("{} cores; {} rounds of each; {ROLES} roles and as many bindings", disk::cores(), rounds()));
    let rules = rules::compiled();
    for (who, user) in
        [("one role", rules::holder(7)), ("every role", rules::everybody()), ("nothing", rules::nobody())]
    {
        let times = measure(rounds(), |round| rules::asks(&rules, &user, round));
        report.add("hanse", rows(&format!("decision: the user holds {who}"), &times, Some(ADDED_US_MAX)));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let server = server::Server::new().await;
        let (rounds, mut all) = (rounds() / 10, Vec::new());
        for (who, user) in [("a master", server::master()), ("the holder of one role", rules::holder(7))] {
            server.get(&user).await;
            let mut times = Vec::with_capacity(rounds);
            for _ in 0..rounds {
                let began = Instant::now();
                server.get(&user).await;
                times.push(began.elapsed());
            }
            times.sort_unstable();
            report.add("hanse", rows(&format!("get, whole pipeline: by {who}"), &times, None));
            all.push(times);
        }
        let (without, with) = (percentile_us(&all[0], 50.0), percentile_us(&all[1], 50.0));
        let added =
            Row::less("get: added by rules, of the medians", with - without, "us").aim(Aim::Below(ADDED_US_MAX));
        report.add("hanse", vec![added, Row::less("get: with rules, for each without", with / without, "x")]);
    });
    report.tell();
}

fn measure(rounds: usize, mut step: impl FnMut(usize) -> bool) -> Vec<Duration> {
    let mut times: Vec<Duration> = (0..rounds)
        .map(|round| {
            let began = Instant::now();
            std::hint::black_box(step(round));
            began.elapsed()
        })
        .collect();
    times.sort_unstable();
    times
}

fn rows(what: &str, sorted: &[Duration], below: Option<f64>) -> Vec<Row> {
    let row = |percent: f64| Row::less(format!("{what}: p{percent}"), percentile_us(sorted, percent), "us");
    let last = row(99.0);
    vec![row(50.0), if let Some(below) = below { last.aim(Aim::Below(below)) } else { last }]
}

fn percentile_us(sorted: &[Duration], percent: f64) -> f64 {
    let at = (sorted.len() as f64 * percent / 100.0) as usize;
    sorted[at.min(sorted.len() - 1)].as_secs_f64() * 1e6
}
