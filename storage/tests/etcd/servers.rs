//! Real etcd servers on loopback, in temporary directories: started, killed, stopped, continued, started again.

use etcd_client::{Certificate, Client, ConnectOptions, Identity, TlsOptions};
use parking_lot::Mutex;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{interval, timeout};

/// More than a server needs to start on a busy machine; one that takes longer does not start.
const START_MAX: Duration = Duration::from_secs(30);

/// How often to look for what nobody announces.
const POLL: Duration = Duration::from_millis(20);

/// Another process may take a port between our looking and the server's binding.
const START_ATTEMPTS: usize = 5;

/// Servers that form one etcd. They die with this value, and with the test's process whatever becomes of it.
pub(crate) struct Servers {
    nodes: Vec<Node>,
    _dir: TempDir,
}

struct Node {
    name: String,
    dir: PathBuf,
    client: u16,
    peer: u16,
    flags: Vec<String>,
    tls: Option<Tls>,
    running: Option<Running>,
}

/// Files in PEM: the authority of both sides, and a certificate that is good for either.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) ca: PathBuf,
    pub(crate) cert: PathBuf,
    pub(crate) key: PathBuf,
}

/// A server and the shell that watches over it: when the shell's input ends, it kills the server.
struct Running {
    shell: Child,
    pid: u32,
}

impl Servers {
    pub(crate) async fn start(count: usize) -> Self {
        Self::start_with(count, &[], None).await
    }

    pub(crate) async fn start_with(count: usize, flags: &[&str], tls: Option<&Tls>) -> Self {
        assert!(on_path("etcd"), "etcd is not installed: it is in the Debian package etcd-server");
        for _ in 0..START_ATTEMPTS {
            if let Some(servers) = Self::try_start(count, flags, tls).await {
                return servers;
            }
        }
        panic!("etcd did not start, {START_ATTEMPTS} times in a row");
    }

    async fn try_start(count: usize, flags: &[&str], tls: Option<&Tls>) -> Option<Self> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut nodes: Vec<_> = (0..count).map(|nth| Node::new(dir.path(), nth, flags, tls)).collect();
        let peers: Vec<_> = nodes.iter().map(|node| format!("{}=http://127.0.0.1:{}", node.name, node.peer)).collect();
        for node in &mut nodes {
            node.flags.push(format!("--initial-cluster={}", peers.join(",")));
            node.start();
        }
        let servers = Self { nodes, _dir: dir };
        for nth in 0..count {
            servers.answers(nth).await?;
        }
        Some(servers)
    }

    pub(crate) fn endpoints(&self) -> Vec<String> {
        self.nodes.iter().map(Node::url).collect()
    }

    /// A client of one server.
    pub(crate) async fn client(&self, nth: usize) -> Client {
        self.nodes[nth].client().await
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, nth: usize) {
        self.nodes[nth].kill();
    }

    /// Starts a server that was killed, on what it had written.
    pub(crate) fn restart(&mut self, nth: usize) {
        self.nodes[nth].kill();
        self.nodes[nth].start();
    }

    /// Starts a server that was killed, on nothing.
    pub(crate) fn restart_empty(&mut self, nth: usize) {
        self.nodes[nth].kill();
        std::fs::remove_dir_all(&self.nodes[nth].dir).expect("a data directory");
        self.nodes[nth].start();
    }

    /// SIGSTOP: it holds its connections and answers nothing.
    pub(crate) fn stop(&self, nth: usize) {
        self.nodes[nth].signal("STOP");
    }

    pub(crate) fn resume(&self, nth: usize) {
        self.nodes[nth].signal("CONT");
    }

    /// Waits until the server answers, which it does when it has a leader. `None` if it ended.
    pub(crate) async fn answers(&self, nth: usize) -> Option<()> {
        let mut client = self.client(nth).await;
        let mut tick = interval(POLL);
        let answer = async {
            while self.nodes[nth].alive() {
                if matches!(timeout(Duration::from_secs(1), client.get("health", None)).await, Ok(Ok(_))) {
                    return Some(());
                }
                tick.tick().await;
            }
            None
        };
        let late = |_| panic!("{} does not answer; it says:\n{}", self.nodes[nth].name, self.nodes[nth].said());
        timeout(START_MAX, answer).await.unwrap_or_else(late)
    }

    /// Which server leads.
    pub(crate) async fn leader(&self) -> usize {
        let mut tick = interval(POLL);
        let found = async {
            loop {
                for nth in 0..self.nodes.len() {
                    let mut client = self.client(nth).await;
                    let Ok(Ok(status)) = timeout(Duration::from_secs(1), client.status()).await else { continue };
                    if status.header().map(|header| header.member_id()) == Some(status.leader()) {
                        return nth;
                    }
                }
                tick.tick().await;
            }
        };
        timeout(START_MAX, found).await.expect("etcd has no leader")
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.nodes.iter_mut().for_each(Node::kill);
    }
}

impl Node {
    fn new(under: &Path, nth: usize, flags: &[&str], tls: Option<&Tls>) -> Self {
        let name = format!("node{nth}");
        let dir = under.join(&name);
        let mut flags: Vec<_> = flags.iter().map(|flag| (*flag).to_owned()).collect();
        if let Some(Tls { ca, cert, key }) = tls {
            let file = |flag: &str, path: &Path| format!("--{flag}={}", path.display());
            flags.extend([file("trusted-ca-file", ca), file("cert-file", cert), file("key-file", key)]);
            flags.push("--client-cert-auth".to_owned());
        }
        Self { name, dir, client: free_port(), peer: free_port(), flags, tls: tls.cloned(), running: None }
    }

    fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", if self.tls.is_some() { "https" } else { "http" }, self.client)
    }

    async fn client(&self) -> Client {
        let mut options = ConnectOptions::new().with_connect_timeout(Duration::from_secs(1));
        if let Some(Tls { ca, cert, key }) = &self.tls {
            let read = |path: &Path| std::fs::read(path).expect("a PEM file");
            let identity = Identity::from_pem(read(cert), read(key));
            let tls = TlsOptions::new().ca_certificate(Certificate::from_pem(read(ca))).identity(identity);
            options = options.with_tls(tls);
        }
        Client::connect([self.url()], Some(options)).await.expect("a client")
    }

    fn start(&mut self) {
        let (client, peer) = (self.url(), format!("http://127.0.0.1:{}", self.peer));
        // The shell gives away the server's process id, and outlives neither the test nor its own input.
        let watch = r#"log=$1; shift; "$@" >>"$log" 2>&1 & echo $!; read -r _; kill -KILL $!; wait"#;
        let mut shell = Command::new("sh")
            .args(["-c", watch, "sh"])
            .arg(self.log())
            .arg("etcd")
            .arg(format!("--name={}", self.name))
            .arg(format!("--data-dir={}", self.dir.display()))
            .args([format!("--listen-client-urls={client}"), format!("--advertise-client-urls={client}")])
            .args([format!("--listen-peer-urls={peer}"), format!("--initial-advertise-peer-urls={peer}")])
            // Enough for our largest value and what goes with it: etcd's default leaves no room for the latter.
            .args(["--max-request-bytes=4194304", "--logger=zap", "--log-level=error"])
            .args(&self.flags)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let output = shell.stdout.take().expect("the shell's output");
        BufReader::new(output).read_line(&mut line).expect("a process id");
        let pid = line.trim().parse().expect("a process id");
        self.running = Some(Running { shell, pid });
    }

    fn kill(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        drop(running.shell.stdin.take());
        running.shell.wait().expect("the shell ends, and the server before it");
    }

    fn signal(&self, name: &str) {
        let running = self.running.as_ref().expect("a running server");
        let done = Command::new("sh").args(["-c", &format!("kill -{name} {}", running.pid)]).status();
        assert!(done.is_ok_and(|status| status.success()), "SIG{name} to {}", self.name);
    }

    fn alive(&self) -> bool {
        self.running.as_ref().is_some_and(|running| state(running.pid).is_some_and(|state| state != 'Z'))
    }

    fn log(&self) -> PathBuf {
        self.dir.with_extension("log")
    }

    fn said(&self) -> String {
        std::fs::read_to_string(self.log()).unwrap_or_default()
    }
}

/// The state letter of a process.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// A port that nobody listens on, below those the system gives to outgoing connections: a server that is down for a
/// while must find its port free again.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = std::process::id() as u16;
    for _ in 0..1000 {
        let port = 20_000 + start.wrapping_mul(61).wrapping_add(NEXT.fetch_add(1, Ordering::Relaxed)) % 12_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
    panic!("no port is free");
}

/// A server that nobody else uses while this is held: revisions count the holder's commits and no others. Servers
/// wait for the next holder while there is any, because starting one takes the better part of a second.
pub(crate) struct Lease {
    server: Option<Servers>,
    idle: Arc<Idle>,
}

type Idle = Mutex<Vec<Servers>>;

impl Lease {
    pub(crate) async fn take() -> Self {
        static IDLE: Mutex<Weak<Idle>> = Mutex::new(Weak::new());
        let idle = {
            let mut shared = IDLE.lock();
            let idle = shared.upgrade().unwrap_or_default();
            *shared = Arc::downgrade(&idle);
            idle
        };
        let waiting = idle.lock().pop();
        let server = match waiting {
            Some(server) => server,
            None => Servers::start(1).await,
        };
        Self { server: Some(server), idle }
    }

    /// A prefix that was never used on this server.
    pub(crate) fn prefix() -> String {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        format!("/stores/{}", NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl std::ops::Deref for Lease {
    type Target = Servers;

    fn deref(&self) -> &Servers {
        self.server.as_ref().expect("held until dropped")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.idle.lock().extend(self.server.take());
    }
}
