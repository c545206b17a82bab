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
    many: Vec<Many>,
    /// Only measures whose name begins like this.
    only: String,
    /// Kubeconfigs of a Karmada that runs, and of its members `member1` and `member2`.
    karmada: Vec<PathBuf>,
    /// The processes of its hub, whose memory is added up.
    karmada_processes: Vec<u32>,
    hanse: PathBuf,
    scratch: PathBuf,
}

/// So many objects, each in some of so many cells.
#[derive(Clone, Copy, Debug)]
struct Many {
    objects: u64,
    cells: u64,
    each: u64,
}

/// As many copies in each of them: what differs is the number of cells.
const FIRST_LOOK: [Many; 3] = [
    Many { objects: 50, cells: 10, each: 10 },
    Many { objects: 50, cells: 40, each: 10 },
    Many { objects: 50, cells: 160, each: 10 },
];
const FULL: [Many; 1] = [Many { objects: 1_000, cells: 1_000, each: 100 }];

impl Plan {
    fn from_args() -> Self {
        let said = |flag: &str| std::env::args().find_map(|argument| argument.strip_prefix(flag).map(str::to_owned));
        let quick = std::env::args().any(|argument| argument == "--quick");
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let (timed, maps, deployments) = if quick { (50, 100, 40) } else { (500, 1_000, 200) };
        let number = |flag: &str, usual: u64| said(flag).map_or(usual, |text| text.parse().expect("a number"));
        let usual = if quick { FIRST_LOOK.to_vec() } else { FULL.to_vec() };
        let named: Vec<u64> = said("--many=").iter().flat_map(|text| text.split(',')).flat_map(str::parse).collect();
        let many = match named[..] {
            [objects, cells, each] => vec![Many { objects, cells, each }],
            _ => usual,
        };
        Self {
            timed: number("--timed=", timed),
            maps: number("--maps=", maps),
            deployments,
            many,
            only: said("--only=").unwrap_or_default(),
            karmada: said("--karmada=").iter().flat_map(|paths| paths.split(',')).map(PathBuf::from).collect(),
            karmada_processes: said("--karmada-processes=")
                .iter()
                .flat_map(|ids| ids.split(','))
                .map(|id| id.parse().expect("the number of a process"))
                .collect(),
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
        for many in plan.many.iter().copied() {
            report.add(HANSE, many::measure(&plan, many).await);
        }
    }
    report.tell();
}

/// Everything that two cells are enough for.
async fn measure(report: &mut Report, peer: &'static str, stage: &Stage, plan: &Plan) {
    report.add(peer, latency::maps(stage, plan.timed).await);
    report.add(peer, latency::statuses(stage, plan.timed).await);
    report.add(peer, bulk::maps(stage, plan.maps).await);
    report.add(peer, bulk::deployments(stage, plan.deployments).await);
    report.add(peer, stage.memory());
}
