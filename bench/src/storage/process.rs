//! Opens a store in a process of its own, so that its memory is its own too.

use crate::peers::{Open, Peer, open_ours};
use bench::disk::rss_bytes;
use std::path::Path;
use std::process::Command;
use std::time::Instant;
use storage::Engine;

const PROBE: &str = "--probe";

#[derive(Debug)]
pub struct Opened {
    pub seconds: f64,
    pub rss_bytes: f64,
}

pub fn is_probe() -> bool {
    std::env::args().nth(1).as_deref() == Some(PROBE)
}

/// The other side of `open_elsewhere`: opens a store of ours and prints what it took.
pub fn probe() {
    let arguments: Vec<_> = std::env::args().skip(2).collect();
    let engine = Engine::named(&arguments[0]).expect("an engine");
    let start = Instant::now();
    let store = open_ours(Path::new(&arguments[1]), engine);
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(store.stats().size.keys.to_string(), arguments[2], "every object is there");
    println!("{seconds} {}", rss_bytes(std::process::id()));
}

pub async fn open_elsewhere(peer: Peer, dir: &Path, objects: u64) -> Opened {
    if let Some(engine) = peer.engine() {
        let itself = std::env::current_exe().expect("this program");
        let output = Command::new(itself).args([PROBE, engine.name()]).arg(dir).arg(objects.to_string()).output();
        let said = String::from_utf8(output.expect("the probe runs").stdout).expect("text");
        let numbers: Vec<f64> = said.split_whitespace().map(|number| number.parse().expect("a number")).collect();
        return Opened { seconds: numbers[0], rss_bytes: numbers[1] };
    }
    let start = Instant::now();
    let open = peer.open(dir).await;
    let seconds = start.elapsed().as_secs_f64();
    let Open::Etcd(etcd) = &open else { unreachable!("only etcd has no engine of ours") };
    // etcd maps its file and counts what it has touched: let it touch everything once, as a server with watchers does.
    open.scan().await;
    Opened { seconds, rss_bytes: rss_bytes(etcd.pid()) }
}
