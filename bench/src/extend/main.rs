//! `make bench-extend`: what extensions cost, in Hanse and in a real kube-apiserver on a real etcd, in the same run.
//!
//! Definitions of custom resources, objects of them that are held to a schema and to rules, and server-side apply. Both
//! servers run throughout; each measure takes one after the other.

mod apply;
mod definitions;
mod objects;

use bench::disk;
use bench::peers::{Peer, Server};
use bench::table::Report;
use http::Method;
use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much to measure, and of what.
#[derive(Clone, Debug)]
pub struct Plan {
    seconds: f64,
    warm_up_seconds: f64,
    /// So many definitions that differ, and so many that do not.
    definitions: u64,
    scratch: PathBuf,
    hanse: PathBuf,
}

impl Plan {
    fn from_args() -> Self {
        let value = |name: &str| std::env::args().find_map(|given| given.strip_prefix(name).map(str::to_owned));
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let scratch = std::env::current_dir().unwrap_or_default().join("target/bench");
        let hanse = value("--hanse=").map_or(beside, PathBuf::from);
        let full = Self { seconds: 5.0, warm_up_seconds: 1.0, definitions: 500, scratch, hanse };
        let quick = std::env::args().any(|argument| argument == "--quick");
        let plan = if quick { Self { seconds: 1.0, warm_up_seconds: 0.3, definitions: 50, ..full } } else { full };
        let definitions = value("--definitions=").and_then(|count| count.parse().ok()).unwrap_or(plan.definitions);
        Self { definitions, ..plan }
    }
}

fn main() {
    let plan = Plan::from_args();
    std::fs::create_dir_all(&plan.scratch).expect("target/bench can be made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(run(&plan));
}

async fn run(plan: &Plan) {
    let mut report = Report::new(Peer::ALL.map(Peer::name).to_vec());
    report.note(format!(
        "{} cores, shared by client and servers; {} s for each throughput figure; raw disk: {}",
        disk::cores(),
        plan.seconds,
        disk::raw_syncs(&plan.scratch, plan.seconds.min(2.0), objects::object(0).as_bytes())
    ));
    let mut servers = Vec::new();
    for peer in Peer::ALL {
        eprintln!("starting {} ...", peer.name());
        let server = Server::start(peer, &plan.scratch, &plan.hanse).await;
        let namespace = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"bench"}}"#.to_owned();
        server.client(1).await.body(0, Method::POST, "/api/v1/namespaces", namespace).await;
        servers.push(server);
    }
    for measure in ["objects", "apply", "distinct", "identical"] {
        eprintln!("{measure} ...");
        for server in &servers {
            let rows = match measure {
                "objects" => objects::creates(plan, server).await,
                "apply" => apply::applies(plan, server).await,
                "distinct" => definitions::install(plan, server, definitions::Kind::Distinct).await,
                _ => definitions::install(plan, server, definitions::Kind::Identical).await,
            };
            report.add(server.peer.name(), rows);
        }
    }
    drop(servers);
    report.tell();
}
