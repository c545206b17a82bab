//! `make bench-isolation`: what it costs one workspace that another one floods the server. It fails if that is too much.
//!
//! In each round somebody creates and gets objects in a quiet workspace, first alone, and then while 500 connections do
//! what they can in another. What counts is the ratio of the best round of each: a machine that does something else at the
//! same time makes either slower, never faster. Clients come from other machines, and floods do: so the server has half
//! of the processors, and those who ask have the others. With `--shared` all of them share all, and the kernel decides.
//! Whoever is quiet pauses between two requests; with `--busy` nobody pauses, and the quiet ones wait for each other, too.

mod flood;
mod tenants;

use bench::client::Client;
use bench::disk;
use bench::hammer::{Timings, paced};
use bench::peers::{Peer, Server};
use bench::processors::{self, Halves};
use bench::table::{Aim, Report, Row};
use flood::Flood;
use http::Method;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use tenants::{COLLECTION, Tenant, object};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// How much longer the 99th percentile may be because of somebody else.
const RATIO_MAX: f64 = 3.0;

/// Clients in the quiet workspace, each with a connection of its own.
const CLIENTS: u64 = 4;

/// How long each of them pauses after an answer.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Debug)]
struct Plan {
    rounds: u64,
    seconds: f64,
    pause: Duration,
    /// Clients and server have processors of their own.
    halves: Option<Halves>,
    hanse: PathBuf,
    scratch: PathBuf,
}

impl Plan {
    fn from_args() -> Self {
        let given = |flag: &str| std::env::args().any(|argument| argument == flag);
        let quick = given("--quick");
        let halves = if given("--shared") { None } else { Halves::of(disk::cores()) };
        let beside = std::env::current_exe().unwrap_or_default().with_file_name("hanse");
        let named = std::env::args().find_map(|argument| argument.strip_prefix("--hanse=").map(PathBuf::from));
        let scratch = std::env::current_dir().unwrap_or_default().join("target/bench");
        let (rounds, seconds) = if quick { (3, 2.0) } else { (5, 5.0) };
        let pause = if given("--busy") { Duration::ZERO } else { PAUSE };
        Self { rounds, seconds, pause, halves, hanse: named.unwrap_or(beside), scratch }
    }
}

fn main() -> ExitCode {
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    if let Some(kubeconfig) = flood::asked() {
        runtime().block_on(flood::run(&kubeconfig));
        return ExitCode::SUCCESS;
    }
    let plan = Plan::from_args();
    if let Some(halves) = &plan.halves {
        // Before there are threads: they, and the flood, are where this one is.
        processors::keep_to(&halves.clients);
    }
    let runtime = runtime();
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
    let processors = plan.halves.as_ref().map(|halves| halves.server.as_str());
    let server = Server::start_on(processors, Peer::Hanse, &plan.scratch, &plan.hanse).await;
    let admin = server.client(1).await;
    let quiet = Tenant::make(&admin, &server, &plan.hanse, "quiet").await;
    let loud = Tenant::make(&admin, &server, &plan.hanse, "loud").await;
    let client = Client::open(&quiet.access, CLIENTS).await.expect("a connection");
    measure(&client, (plan.seconds / 4.0, plan.pause), 0).await;
    let mut rounds = Vec::new();
    for round in 1..=plan.rounds {
        let alone = measure(&client, (plan.seconds, plan.pause), round * 2).await;
        let mut flood = Flood::start(&loud.kubeconfig);
        let beside = measure(&client, (plan.seconds, plan.pause), round * 2 + 1).await;
        let answers = flood.end();
        eprintln!(
            "  round {round}: p99 of creates and gets, alone {:.2?} ms, beside {answers} answers to others {:.2?} ms",
            alone.p99(),
            beside.p99(),
        );
        assert!(answers > flood::CONNECTIONS, "others asked for something as well: {answers} answers");
        rounds.push(Round { alone, beside, answers });
    }
    drop(server);
    tell(plan, &rounds)
}

struct Round {
    alone: Seen,
    beside: Seen,
    answers: u64,
}

/// Whether the ratios are good enough.
fn tell(plan: &Plan, rounds: &[Round]) -> bool {
    let mut report = Report::new(vec!["hanse"]);
    report.note(format!(
        "{}; {} rounds of {} s alone and as long beside {} connections of another workspace; the best round of each; \
         {} clients in the quiet one, each with a pause of {:?} after an answer",
        match &plan.halves {
            Some(Halves { server, clients }) => format!("the server on processor {server}, clients on {clients}"),
            None => format!("{} cores, shared by clients and server", disk::cores()),
        },
        plan.rounds,
        plan.seconds,
        flood::CONNECTIONS,
        CLIENTS,
        plan.pause
    ));
    let best = |p99: &dyn Fn(&Round) -> f64| rounds.iter().map(p99).fold(f64::INFINITY, f64::min);
    let answers: u64 = rounds.iter().map(|round| round.answers).sum();
    let mut is_good = true;
    for (at, what) in ["creates", "gets"].into_iter().enumerate() {
        let (alone, beside) = (best(&|round| round.alone.p99()[at]), best(&|round| round.beside.p99()[at]));
        is_good &= beside / alone <= RATIO_MAX;
        let ratio = Row::less(format!("{what}: p99 beside a flood, for each alone"), beside / alone, "x");
        report.add(
            "hanse",
            vec![
                ratio.aim(Aim::Below(RATIO_MAX)),
                Row::less(format!("{what}: p99 alone"), alone, "ms"),
                Row::less(format!("{what}: p99 beside a flood"), beside, "ms"),
            ],
        );
    }
    let rate = answers as f64 / plan.seconds / plan.rounds as f64;
    report.add("hanse", vec![Row::more("answers to the flood meanwhile", rate, "/s")]);
    report.tell();
    is_good
}

/// Half of the clients create, the others get, each one after the other, for so many seconds and with such pauses.
async fn measure(client: &Client, (seconds, pause): (f64, Duration), run: u64) -> Seen {
    let name = move |worker: u64, round: u64| format!("quiet-{run}-{worker}-{round}");
    let first = name(CLIENTS, 0);
    client.body(0, Method::POST, COLLECTION, object(&first)).await;
    let creates = {
        let client = client.clone();
        paced(CLIENTS / 2, seconds, pause, move |worker, round| {
            let (client, object) = (client.clone(), object(&name(worker, round)));
            async move {
                client.body(worker, Method::POST, COLLECTION, object).await;
            }
        })
    };
    let gets = {
        let (client, path) = (client.clone(), format!("{COLLECTION}/{first}"));
        paced(CLIENTS / 2, seconds, pause, move |worker, _| {
            let (client, path) = (client.clone(), path.clone());
            async move {
                client.body(CLIENTS / 2 + worker, Method::GET, &path, String::new()).await;
            }
        })
    };
    let (creates, gets) = tokio::join!(creates, gets);
    Seen { creates, gets }
}
