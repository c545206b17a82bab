//! `make bench-federation`: how long objects take into cells and statuses back out of them, how many go at a time, and what
//! a thousand cells cost.
//!
//! Cells are workspaces of a second Hanse, reached over TLS like any other cell, and real kube-apiservers. What is measured
//! is seen by watches of the cells and of the hub, on the same machine and clock.

mod bulk;
mod latency;
mod many;
mod sight;
mod stage;

use bench::disk;
use bench::table::Report;
use stage::Stage;
use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HANSE: &str = "hanse";
const KARMADA: &str = "karmada";

#[derive(Clone, Debug)]
struct Plan {
    /// Objects whose way is timed, one after the other.
    timed: u64,
    /// Objects that are sent at once.
    maps: u64,
    deployments: u64,
    /// Placements, cells, and cells of each placement.
    placements: u64,
    cells: u64,
    each: u64,
    /// Only measures whose name begins like this.
    only: String,
    /// Kubeconfigs of a Karmada that runs, and of its members `member1` and `member2`.
    karmada: Vec<PathBuf>,
    hanse: PathBuf,
    scratch: PathBuf,
}

impl Plan {
    fn from_args() -> Self {
        let said = |flag: &str| std::env::args().find_map(|argument| argument.strip_prefix(flag).map(str::to_owned));
        let quick = std::env::args().any(|argument| argument == "--quick");
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let (timed, maps, deployments) = if quick { (50, 100, 40) } else { (500, 1_000, 200) };
        let usual = if quick { [50, 40, 10] } else { [1_000, 1_000, 100] };
        let many: Vec<u64> = said("--many=").iter().flat_map(|text| text.split(',')).flat_map(str::parse).collect();
        let [placements, cells, each] = many.try_into().unwrap_or(usual);
        Self {
            timed,
            maps,
            deployments,
            placements,
            cells,
            each,
            only: said("--only=").unwrap_or_default(),
            karmada: said("--karmada=").iter().flat_map(|paths| paths.split(',')).map(PathBuf::from).collect(),
            hanse: said("--hanse=").map_or(beside, PathBuf::from),
            scratch: std::env::current_dir().unwrap_or_default().join("target/bench"),
        }
    }

    fn measures(&self, what: &str) -> bool {
        what.starts_with(&self.only)
    }
}

#[tokio::main]
async fn main() {
    let plan = Plan::from_args();
    std::fs::create_dir_all(&plan.scratch).expect("target/bench can be made");
    let peers = if plan.karmada.is_empty() { vec![HANSE] } else { vec![HANSE, KARMADA] };
    let mut report = Report::new(peers);
    report.note(format!("{} cores, shared by the hub, the cells and whoever measures", disk::cores()));
    report.note(format!("raw disk: {}", disk::raw_syncs(&plan.scratch, 1.0, &[b'x'; 1024])));
    if plan.measures("two workspaces") {
        measure(&mut report, HANSE, &Stage::of_workspaces(&plan, 2).await, &plan).await;
    }
    if plan.measures("two kube-apiservers") {
        measure(&mut report, HANSE, &Stage::of_kubes(&plan, 2).await, &plan).await;
        if !plan.karmada.is_empty() {
            measure(&mut report, KARMADA, &Stage::of_karmada(&plan).await, &plan).await;
        }
    }
    if plan.measures("twenty workspaces") {
        let stage = Stage::of_workspaces(&plan, 20).await;
        report.add(HANSE, bulk::maps(&stage, plan.maps).await);
        report.add(HANSE, stage.memory());
    }
    if plan.measures("many") {
        report.add(HANSE, many::measure(&plan).await);
    }
    report.print();
}

/// Everything that two cells are enough for.
async fn measure(report: &mut Report, peer: &'static str, stage: &Stage, plan: &Plan) {
    report.add(peer, latency::maps(stage, plan.timed).await);
    report.add(peer, latency::statuses(stage, plan.timed).await);
    report.add(peer, bulk::maps(stage, plan.maps).await);
    report.add(peer, bulk::deployments(stage, plan.deployments).await);
    report.add(peer, stage.memory());
}
