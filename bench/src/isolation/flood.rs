//! A flood: connections of one user of one workspace that create, list and watch as much as they can.

use crate::tenants::{COLLECTION, object};
use bench::client::Client;
use bench::kubeconfig::Access;
use http::Method;
use http_body_util::BodyExt;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub const CONNECTIONS: u64 = 500;

const FLAG: &str = "--flood=";

/// What somebody does who is refused, in place of what the answer asks them to do: they come back at once, nearly.
const AGAIN: Duration = Duration::from_millis(10);

/// The flood as whoever measures sees it: a process.
pub struct Flood {
    child: Child,
    told: BufReader<ChildStdout>,
}

impl Flood {
    /// Returns when all connections are there.
    pub fn start(kubeconfig: &Path) -> Self {
        let me = std::env::current_exe().expect("a program");
        let mut child = Command::new("nice")
            .args(["-n", "19"])
            .arg(me)
            .arg(format!("{FLAG}{}", kubeconfig.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a flood");
        let mut told = BufReader::new(child.stdout.take().expect("its words"));
        told.read_line(&mut String::new()).expect("it is ready");
        Self { child, told }
    }

    /// How many answers it got.
    pub fn end(&mut self) -> u64 {
        drop(self.child.stdin.take());
        let mut line = String::new();
        self.told.read_line(&mut line).expect("a number");
        let _ = self.child.wait();
        line.trim().parse().expect("a number")
    }
}

/// Whose flood this process is, if it is one.
pub fn asked() -> Option<PathBuf> {
    std::env::args().find_map(|argument| argument.strip_prefix(FLAG).map(PathBuf::from))
}

/// Until nobody listens any more.
pub async fn run(kubeconfig: &Path) {
    let access = Access::read(kubeconfig).expect("a kubeconfig");
    let answers = Arc::new(AtomicU64::new(0));
    for number in 0..CONNECTIONS {
        let client = Client::open(&access, 1).await.expect("a connection");
        let answers = answers.clone();
        tokio::spawn(async move {
            for round in 0.. {
                if !step(&client, number, round).await {
                    tokio::time::sleep(AGAIN).await;
                }
                answers.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    println!("ready");
    let before = answers.load(Ordering::Relaxed);
    let closed = tokio::task::spawn_blocking(|| std::io::stdin().read_to_end(&mut Vec::new()));
    let _ = closed.await;
    println!("{}", answers.load(Ordering::Relaxed) - before);
    std::process::exit(0);
}

/// One thing after another: of five connections two create and delete, two list, and one watches. False: it was refused.
async fn step(client: &Client, number: u64, round: u64) -> bool {
    let name = format!("loud-{number}");
    let (method, path, body) = match number % 5 {
        0 | 1 if round.is_multiple_of(2) => (Method::POST, COLLECTION.to_owned(), object(&name)),
        0 | 1 => (Method::DELETE, format!("{COLLECTION}/{name}"), String::new()),
        2 | 3 => (Method::GET, COLLECTION.to_owned(), String::new()),
        _ => (Method::GET, format!("{COLLECTION}?watch=true"), String::new()),
    };
    let Ok(mut answer) = client.send(0, method, &path, body).await else { return false };
    let is_good = answer.status().is_success();
    while let Some(Ok(_)) = answer.frame().await {}
    is_good
}
