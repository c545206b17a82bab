//! The servers that are compared, each started on an empty directory.

use crate::client::Client;
use crate::disk::{cpu_seconds, rss_bytes};
use crate::kubeconfig::Access;
use crate::processors;
use http::StatusCode;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Hanse,
    Kube,
}

/// How often a server that starts is asked whether it is ready.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// A machine that builds something else at the same time is slow.
const READY_MAX: Duration = Duration::from_secs(120);

impl Peer {
    pub const ALL: [Self; 2] = [Self::Hanse, Self::Kube];

    pub fn name(self) -> &'static str {
        match self {
            Self::Hanse => "hanse",
            Self::Kube => "kube-apiserver",
        }
    }

    fn command(self, processors: Option<&str>, hanse: &Path, dir: &Path) -> Command {
        let program = match self {
            Self::Hanse => hanse,
            Self::Kube => Path::new("tests/peers/kube.sh"),
        };
        let mut command = match processors {
            Some(processors) => processors::command(processors, program),
            None => Command::new(program),
        };
        if self == Self::Hanse {
            command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]);
        }
        command.arg(dir);
        command
    }
}

/// A server that runs until this is dropped.
pub struct Server {
    pub peer: Peer,
    pub access: Access,
    /// Where it keeps what it has.
    pub data: PathBuf,
    /// From starting it to the first 200 of /readyz.
    pub ready: Duration,
    scratch: PathBuf,
    hanse: PathBuf,
    processors: Option<String>,
    child: Child,
    _dir: tempfile::TempDir,
}

impl Server {
    /// Starts one in a directory of its own below `scratch`; `hanse` is the binary to measure.
    pub async fn start(peer: Peer, scratch: &Path, hanse: &Path) -> Self {
        Self::start_on(None, peer, scratch, hanse).await
    }

    /// On these processors alone, if some are named.
    pub async fn start_on(processors: Option<&str>, peer: Peer, scratch: &Path, hanse: &Path) -> Self {
        let dir = tempfile::tempdir_in(scratch).expect("a directory");
        let data = dir.path().join("data");
        let (child, access, ready) = launch(peer.command(processors, hanse, &data), peer, scratch, &data).await;
        let (scratch, hanse, processors) = (scratch.to_owned(), hanse.to_owned(), processors.map(str::to_owned));
        Self { peer, access, data, ready, scratch, hanse, processors, child, _dir: dir }
    }

    /// Ends it, and starts it again on what it has.
    pub async fn restart(&mut self) {
        self.end();
        let command = self.peer.command(self.processors.as_deref(), &self.hanse, &self.data);
        (self.child, self.access, self.ready) = launch(command, self.peer, &self.scratch, &self.data).await;
    }

    fn end(&mut self) {
        // Not SIGKILL: what the script has started ends with it only if it is asked.
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }

    pub async fn client(&self, clients: u64) -> Client {
        Client::connect(&self.access, clients).await.expect("a connection")
    }

    /// Resident memory of the server, and of the etcd behind it if there is one.
    pub fn rss_bytes(&self) -> (f64, f64) {
        match self.peer {
            Peer::Hanse => (rss_bytes(self.child.id()), 0.0),
            Peer::Kube => (self.rss_of_child("kube-apiserver"), self.rss_of_child("etcd")),
        }
    }

    /// Processor time of the server so far, in seconds; that of the etcd behind it included.
    pub fn cpu_seconds(&self) -> f64 {
        match self.peer {
            Peer::Hanse => cpu_seconds(self.child.id()),
            Peer::Kube => cpu_seconds(self.child_named("kube-apiserver")) + cpu_seconds(self.child_named("etcd")),
        }
    }

    fn rss_of_child(&self, name: &str) -> f64 {
        rss_bytes(self.child_named(name))
    }

    fn child_named(&self, name: &str) -> u32 {
        let id = self.child.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).expect("its children");
        let named =
            |id: &u32| std::fs::read_to_string(format!("/proc/{id}/comm")).is_ok_and(|comm| comm.trim() == name);
        let child = children.split_whitespace().filter_map(|id| id.parse().ok()).find(named);
        child.unwrap_or_else(|| panic!("{name} runs"))
    }
}

/// The access is that of its administrator; the time is that until it was ready.
async fn launch(mut command: Command, peer: Peer, scratch: &Path, data: &Path) -> (Child, Access, Duration) {
    let log = File::create(scratch.join(format!("{}.log", peer.name()))).expect("a log");
    command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
    let start = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{}: {error}", peer.name()));
    loop {
        if let Some(access) = is_ready(data).await {
            return (child, access, start.elapsed());
        }
        let ended = child.try_wait().expect("a state");
        assert!(ended.is_none() && start.elapsed() < READY_MAX, "{} did not become ready", peer.name());
        tokio::time::sleep(ASK_EVERY).await;
    }
}

async fn is_ready(data: &Path) -> Option<Access> {
    let access = Access::read(&data.join("admin.kubeconfig"))?;
    let client = Client::connect(&access, 1).await.ok()?;
    (client.status("/readyz").await.ok()? == StatusCode::OK).then_some(access)
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
