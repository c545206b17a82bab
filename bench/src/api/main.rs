//! `make bench-api`: Hanse and a real kube-apiserver on a real etcd, driven in the same run by the same client over TLS.
//!
//! Ratios come first, because these machines are noisy and a ratio within one run is worth more than a number across
//! two. Both servers run throughout; each measure takes one after the other.

mod fanout;
mod objects;
mod requests;
mod standing;

use bench::peers::{Peer, Server};
use bench::table::Report;
use bench::{client, disk};
use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much to measure, and of what.
#[derive(Clone, Debug)]
pub struct Plan {
    seconds: f64,
    warm_up_seconds: f64,
    objects: u64,
    fanout_divisor: u64,
    scratch: PathBuf,
    hanse: PathBuf,
    /// Names of measures; all, if there is none. Objects to measure with are made in any case.
    only: Vec<String>,
    peers: Vec<Peer>,
}

impl Plan {
    fn from_args() -> Self {
        let quick = std::env::args().any(|argument| argument == "--quick");
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let named = std::env::args().find_map(|argument| argument.strip_prefix("--hanse=").map(PathBuf::from));
        let scratch = std::env::current_dir().unwrap_or_default().join("target/bench");
        let hanse = named.unwrap_or(beside);
        let listed = |flag: &str| {
            let given = std::env::args().find_map(|argument| argument.strip_prefix(flag).map(str::to_owned));
            given.map(|list| list.split(',').map(str::to_owned).collect::<Vec<_>>()).unwrap_or_default()
        };
        let (only, peers) = (listed("--only="), listed("--peers="));
        let is_named = |peer: &Peer| peers.is_empty() || peers.iter().any(|name| name == peer.name());
        let full = Self {
            seconds: 5.0,
            warm_up_seconds: 1.0,
            objects: 100_000,
            fanout_divisor: 1,
            scratch,
            hanse,
            only,
            peers: Peer::ALL.into_iter().filter(is_named).collect(),
        };
        if quick {
            return Self { seconds: 1.0, warm_up_seconds: 0.3, objects: 10_000, fanout_divisor: 5, ..full };
        }
        full
    }
}

fn main() {
    let plan = Plan::from_args();
    std::fs::create_dir_all(&plan.scratch).expect("target/bench can be made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(run(&plan));
}

async fn run(plan: &Plan) {
    let mut report = Report::new(plan.peers.iter().map(|peer| peer.name()).collect());
    for note in notes(plan) {
        report.note(note);
    }
    let mut servers = Vec::new();
    for peer in plan.peers.iter().copied() {
        eprintln!("starting {} ...", peer.name());
        let server = Server::start(peer, &plan.scratch, &plan.hanse).await;
        let names = [requests::CREATED, requests::UPDATED].map(str::to_owned).into_iter();
        let names = names.chain(standing::namespaces(plan)).chain(fanout::namespaces());
        objects::make_namespaces(&server.client(1).await, names).await;
        servers.push(server);
    }
    for measure in ["idle", "fill", "creates", "updates", "gets", "lists", "pages", "fan-out"] {
        if measure != "fill" && !plan.only.is_empty() && !plan.only.iter().any(|name| name == measure) {
            continue;
        }
        eprintln!("{measure} ...");
        for server in &servers {
            let rows = match measure {
                "idle" => standing::idle(server).await,
                "fill" => standing::fill(plan, server).await,
                "creates" => requests::creates(plan, server).await,
                "updates" => requests::updates(plan, server).await,
                "gets" => requests::gets(plan, server).await,
                "lists" => standing::lists(plan, server).await,
                "pages" => standing::pages(plan, server).await,
                _ => fanout::measure(plan, server).await,
            };
            report.add(server.peer.name(), rows);
        }
    }
    drop(servers);
    report.tell();
}

fn notes(plan: &Plan) -> [String; 4] {
    let value = objects::object(0, 0, "");
    [
        format!(
            "{} cores, shared by client and servers; ConfigMaps with {} B of data; {} s for each throughput figure",
            disk::cores(),
            objects::DATA_BYTES,
            plan.seconds
        ),
        format!(
            "JSON over HTTP/2 and TLS on loopback, nothing compressed, a connection for every {} clients",
            client::CLIENTS_PER_CONNECTION
        ),
        "kube-apiserver has its default flow control, which exempts system:masters: nothing is throttled. Its time to \
         ready includes etcd's, and making a key for service accounts"
            .to_owned(),
        format!("raw disk: {}", disk::raw_syncs(&plan.scratch, plan.seconds.min(2.0), value.as_bytes())),
    ]
}
