//! `make bench-storage`: our store and a real etcd, driven in the same run with the same keys and values.
//!
//! Ratios come first, because these machines are noisy and a ratio within one run is worth more than a number across
//! two. Each measure is a file; `peers` gives all of them the same few verbs for every store.

mod bulk;
mod commits;
mod fanout;
mod peers;
mod process;
mod reads;
mod workload;

use bench::disk;
use bench::table::Report;
use peers::Peer;
use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much to measure.
#[derive(Clone, Debug)]
pub struct Plan {
    seconds: f64,
    objects: u64,
    overwrites: u64,
    watchers: Vec<usize>,
    scratch: PathBuf,
    /// The measures, by the beginnings of their names; all if there are none.
    only: Vec<String>,
    peers: Vec<Peer>,
}

impl Plan {
    fn from_args() -> Self {
        let quick = std::env::args().any(|argument| argument == "--quick");
        let scratch = std::env::current_dir().unwrap_or_default().join("target/bench");
        let full = Self {
            seconds: 5.0,
            objects: 1_000_000,
            overwrites: 5_000_000,
            watchers: vec![1, 100, 10_000],
            scratch,
            only: listed("--only="),
            peers: Peer::named(&listed("--peers=")),
        };
        let planned = if quick { Self { seconds: 1.0, objects: 100_000, overwrites: 250_000, ..full } } else { full };
        let overwrites = std::env::args().find_map(|argument| argument.strip_prefix("--overwrites=")?.parse().ok());
        Self { overwrites: overwrites.unwrap_or(planned.overwrites), ..planned }
    }
}

/// What the argument lists behind `flag`, separated by commas.
fn listed(flag: &str) -> Vec<String> {
    let argument = std::env::args().find_map(|argument| argument.strip_prefix(flag).map(str::to_owned));
    argument.iter().flat_map(|list| list.split(',')).map(str::to_owned).collect()
}

fn chosen(from: &[String], name: &str) -> bool {
    from.is_empty() || from.iter().any(|beginning| name.starts_with(beginning.as_str()))
}

fn main() {
    // The measure of what an open store weighs runs in a process of its own.
    if process::is_probe() {
        return process::probe();
    }
    let plan = Plan::from_args();
    std::fs::create_dir_all(&plan.scratch).expect("target/bench can be made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(run(&plan));
}

async fn run(plan: &Plan) {
    let mut report = Report::new(plan.peers.iter().map(|peer| peer.name()).collect());
    report.note(format!(
        "{} cores; keys of ~70 B, values of 1,536 B; {} objects, {} overwrites; {} s for each throughput figure",
        disk::cores(),
        plan.objects,
        plan.overwrites,
        plan.seconds
    ));
    report.note(format!("raw disk: {}", disk::raw_syncs(&plan.scratch, plan.seconds, &workload::value(0))));
    for measure in [commits::NAME, reads::NAME, fanout::NAME, bulk::NAME, bulk::OVERWRITES] {
        if !chosen(&plan.only, measure) {
            continue;
        }
        eprintln!("{measure} ...");
        for peer in plan.peers.iter().copied() {
            let rows = match measure {
                commits::NAME => commits::measure(plan, peer).await,
                reads::NAME => reads::measure(plan, peer).await,
                fanout::NAME => fanout::measure(plan, peer).await,
                bulk::NAME => bulk::measure(plan, peer).await,
                _ => bulk::overwrite(plan, peer).await,
            };
            report.add(peer.name(), rows);
        }
    }
    report.tell();
}
