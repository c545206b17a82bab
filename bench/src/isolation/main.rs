//! `make bench-isolation`: what it costs one workspace that another one floods the server. It fails if that is too much.
//!
//! In each round somebody creates and gets objects in a quiet workspace, first alone, and then while 500 connections do
//! what they can in another. What counts is the ratio of the two, and of all rounds the best: a machine that does something
//! else at the same time makes ratios worse, never better. The flood is a process of its own that gives way to the others,
//! as floods come from other machines.

mod flood;
mod tenants;

use bench::client::Client;
use bench::disk;
use bench::hammer::{Timings, hammer};
use bench::peers::{Peer, Server};
use bench::table::{Aim, Report, Row};
use flood::Flood;
use http::Method;
use std::path::PathBuf;
use std::process::ExitCode;
use tenants::{COLLECTION, Tenant, object};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much longer the 99th percentile may be because of somebody else.
const RATIO_MAX: f64 = 3.0;

/// Clients in the quiet workspace, each with a connection of its own.
const CLIENTS: u64 = 4;

#[derive(Clone, Debug)]
struct Plan {
    rounds: u64,
    seconds: f64,
    hanse: PathBuf,
    scratch: PathBuf,
}

impl Plan {
    fn from_args() -> Self {
        let quick = std::env::args().any(|argument| argument == "--quick");
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let named = std::env::args().find_map(|argument| argument.strip_prefix("--hanse=").map(PathBuf::from));
        let scratch = std::env::current_dir().unwrap_or_default().join("target/bench");
        let (rounds, seconds) = if quick { (3, 2.0) } else { (5, 5.0) };
        Self { rounds, seconds, hanse: named.unwrap_or(beside), scratch }
    }
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    if let Some(kubeconfig) = flood::asked() {
        runtime.block_on(flood::run(&kubeconfig));
        return ExitCode::SUCCESS;
    }
    let plan = Plan::from_args();
    std::fs::create_dir_all(&plan.scratch).expect("target/bench can be made");
    if runtime.block_on(run(&plan)) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What the quiet workspace sees.
struct Seen {
    creates: Timings,
    gets: Timings,
}

impl Seen {
    fn p99(&self) -> [f64; 2] {
        [self.creates.percentile_ms(99.0), self.gets.percentile_ms(99.0)]
    }
}

async fn run(plan: &Plan) -> bool {
    let server = Server::start(Peer::Hanse, &plan.scratch, &plan.hanse).await;
    let admin = server.client(1).await;
    let quiet = Tenant::make(&admin, &server, &plan.hanse, "quiet").await;
    let loud = Tenant::make(&admin, &server, &plan.hanse, "loud").await;
    let client = Client::open(&quiet.access, CLIENTS).await.expect("a connection");
    measure(&client, plan.seconds / 4.0, 0).await;
    let mut rounds = Vec::new();
    for round in 1..=plan.rounds {
        let alone = measure(&client, plan.seconds, round * 2).await;
        let mut flood = Flood::start(&loud.kubeconfig);
        let beside = measure(&client, plan.seconds, round * 2 + 1).await;
        let answers = flood.end();
        let ratios = [0, 1].map(|at| beside.p99()[at] / alone.p99()[at]);
        eprintln!(
            "  round {round}: p99 of creates and gets, alone {:.2?} ms, beside {} answers to others {:.2?} ms: {:.2?} x",
            alone.p99(),
            answers,
            beside.p99(),
            ratios
        );
        assert!(answers > flood::CONNECTIONS, "others asked for something as well: {answers} answers");
        rounds.push((ratios, alone, beside, answers));
    }
    drop(server);
    tell(plan, &rounds)
}

/// Whether the best ratios are good enough.
fn tell(plan: &Plan, rounds: &[([f64; 2], Seen, Seen, u64)]) -> bool {
    let mut report = Report::new(vec!["hanse"]);
    report.note(format!(
        "{} cores, shared by clients and server; {} rounds of {} s alone and as long beside {} connections of another \
         workspace; the best round of each",
        disk::cores(),
        plan.rounds,
        plan.seconds,
        flood::CONNECTIONS
    ));
    let mut is_good = true;
    for (at, what) in ["creates", "gets"].into_iter().enumerate() {
        let best = rounds.iter().min_by(|one, other| one.0[at].total_cmp(&other.0[at]));
        let Some((ratios, alone, beside, answers)) = best else { return false };
        is_good &= ratios[at] <= RATIO_MAX;
        let ratio = Row::less(format!("{what}: p99 beside a flood, for each alone"), ratios[at], "x");
        report.add(
            "hanse",
            vec![
                ratio.aim(Aim::Below(RATIO_MAX)),
                Row::less(format!("{what}: p99 alone"), alone.p99()[at], "ms"),
                Row::less(format!("{what}: p99 beside a flood"), beside.p99()[at], "ms"),
                Row::more(format!("{what}: answers to the flood meanwhile"), *answers as f64 / plan.seconds, "/s"),
            ],
        );
    }
    report.print();
    is_good
}

/// Half of the clients create, the others get, each one after the other.
async fn measure(client: &Client, seconds: f64, run: u64) -> Seen {
    let name = move |worker: u64, round: u64| format!("quiet-{run}-{worker}-{round}");
    let first = name(CLIENTS, 0);
    client.body(0, Method::POST, COLLECTION, object(&first)).await;
    let creates = {
        let client = client.clone();
        hammer(CLIENTS / 2, seconds, move |worker, round| {
            let (client, object) = (client.clone(), object(&name(worker, round)));
            async move {
                client.body(worker, Method::POST, COLLECTION, object).await;
            }
        })
    };
    let gets = {
        let (client, path) = (client.clone(), format!("{COLLECTION}/{first}"));
        hammer(CLIENTS / 2, seconds, move |worker, _| {
            let (client, path) = (client.clone(), path.clone());
            async move {
                client.body(CLIENTS / 2 + worker, Method::GET, &path, String::new()).await;
            }
        })
    };
    let (creates, gets) = tokio::join!(creates, gets);
    Seen { creates, gets }
}
