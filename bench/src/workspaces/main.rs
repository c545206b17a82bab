//! `make bench-workspaces`: what a workspace costs to make, to have, to look through and to be rid of, and whether many
//! cost more than few. There is no peer to run beside it; the aims are from what others have published.

mod life;
mod load;
mod sight;

use bench::disk;
use bench::peers::{Peer, Server};
use bench::table::Report;
use std::path::PathBuf;
use std::time::Duration;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What has just been written to has things to do that are not for any client.
const SETTLE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
struct Plan {
    /// Workspaces that are made and deleted.
    some: u64,
    /// Workspaces that a server is started with.
    many: u64,
    /// Workspaces in which everything is listed.
    listed: u64,
    /// Objects that are made under one watch.
    changes: u64,
    hanse: PathBuf,
    scratch: PathBuf,
}

impl Plan {
    fn from_args() -> Self {
        let said = |flag: &str| std::env::args().find_map(|argument| argument.strip_prefix(flag).map(str::to_owned));
        let quick = std::env::args().any(|argument| argument == "--quick");
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let scratch = std::env::current_dir().unwrap_or_default().join("target/bench");
        let usual = if quick { [1_000, 5_000, 100, 200] } else { [10_000, 100_000, 1_000, 1_000] };
        let numbers: Vec<u64> =
            said("--numbers=").iter().flat_map(|text| text.split(',')).flat_map(str::parse).collect();
        let [some, many, listed, changes] = numbers.try_into().unwrap_or(usual);
        Self {
            some,
            many,
            listed: listed.min(some),
            changes,
            hanse: said("--hanse=").map_or(beside, PathBuf::from),
            scratch,
        }
    }
}

#[tokio::main]
async fn main() {
    let plan = Plan::from_args();
    std::fs::create_dir_all(&plan.scratch).expect("target/bench can be made");
    let mut report = Report::new(vec!["hanse"]);
    report.note(format!("{} cores, shared by {} clients and the server", disk::cores(), life::CLIENTS));
    for shape in [life::Shape::Flat, life::Shape::Tree] {
        let server = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
        report.add("hanse", life::make(&server, shape, plan.some).await);
        if shape == life::Shape::Flat {
            report.add("hanse", load::list_everything(&server, plan.listed).await);
            report.add("hanse", sight::watch_everywhere(&server, plan.some, plan.changes).await);
            report.add("hanse", life::delete(&server, plan.some).await);
        }
    }
    report.add("hanse", life::restart(&plan).await);
    report.tell();
}
