//! The stores that are compared, behind the few verbs that the measures need.

use crate::Plan;
use etcd_client::{Client, Compare, CompareOp, GetOptions, Txn as EtcdTxn, TxnOp};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use storage::{Engine, KeyRange, Options, Place, Store, Txn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Log,
    Fjall,
    Sled,
    Etcd,
}

impl Peer {
    const ALL: [Self; 4] = [Self::Log, Self::Fjall, Self::Sled, Self::Etcd];

    /// Those that are asked for; without a word, what people run today and what they would run instead.
    pub fn named(names: &[String]) -> Vec<Self> {
        if names.is_empty() {
            return vec![Self::Log, Self::Etcd];
        }
        Self::ALL.into_iter().filter(|peer| names.iter().any(|name| name == peer.name())).collect()
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Fjall => "fjall",
            Self::Sled => "sled",
            Self::Etcd => "etcd",
        }
    }

    pub fn engine(self) -> Option<Engine> {
        Engine::named(self.name())
    }

    /// A new, empty store in a directory of its own.
    pub async fn fresh(self, plan: &Plan) -> Fixture {
        let dir = tempfile::tempdir_in(&plan.scratch).expect("a directory");
        let open = self.open(dir.path()).await;
        Fixture { open, dir }
    }

    /// Opens what is in `dir`.
    pub async fn open(self, dir: &Path) -> Open {
        match self.engine() {
            Some(engine) => Open::Ours(open_ours(dir, engine)),
            None => Open::Etcd(EtcdServer::start(dir).await),
        }
    }
}

pub fn open_ours(dir: &Path, engine: Engine) -> Store {
    let place = Place::Dir { dir: dir.join("store"), engine };
    Store::open(&place, Options::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// A store and the directory that goes with it.
pub struct Fixture {
    pub open: Open,
    pub dir: tempfile::TempDir,
}

#[derive(Clone)]
pub enum Open {
    Ours(Store),
    Etcd(Arc<EtcdServer>),
}

impl Open {
    /// A durable creation of a key that must not exist, as an API server does it.
    pub async fn create(&self, key: String, value: Vec<u8>) {
        match self {
            Self::Ours(store) => {
                store.commit(Txn::create(key, value)).await.expect("created");
            }
            Self::Etcd(etcd) => {
                let absent = Compare::mod_revision(key.as_str(), CompareOp::Equal, 0);
                let txn = EtcdTxn::new().when([absent]).and_then([TxnOp::put(key.as_str(), value, None)]);
                let answer = etcd.client().txn(txn).await.expect("created");
                assert!(answer.succeeded());
            }
        }
    }

    /// Several keys in one durable transaction.
    pub async fn put_all(&self, pairs: Vec<(String, Vec<u8>)>) {
        match self {
            Self::Ours(store) => {
                let txn = pairs.into_iter().fold(Txn::new(), |txn, (key, value)| txn.put(key, value));
                store.commit(txn).await.expect("written");
            }
            Self::Etcd(etcd) => {
                let puts: Vec<_> = pairs.into_iter().map(|(key, value)| TxnOp::put(key, value, None)).collect();
                etcd.client().txn(EtcdTxn::new().and_then(puts)).await.expect("written");
            }
        }
    }

    pub async fn get(&self, key: String) {
        match self {
            Self::Ours(store) => assert!(store.recent().get(key).expect("readable").is_some()),
            Self::Etcd(etcd) => {
                let serializable = GetOptions::new().with_serializable();
                let answer = etcd.client().get(key, Some(serializable)).await.expect("readable");
                assert_eq!(answer.kvs().len(), 1);
            }
        }
    }

    /// Reads everything, in pages, copying each value once as a server writing a response would. Returns the bytes.
    pub async fn scan(&self) -> usize {
        let mut response = Vec::with_capacity(2 << 20);
        let mut bytes = 0;
        let mut take = |value: &[u8]| {
            if response.len() > 1 << 20 {
                response.clear();
            }
            response.extend_from_slice(value);
            bytes += value.len();
        };
        match self {
            Self::Ours(store) => {
                for entry in store.recent().scan(KeyRange::all()) {
                    take(&entry.expect("readable").version.value);
                }
            }
            Self::Etcd(etcd) => {
                let mut client = etcd.client();
                let mut from = vec![0];
                loop {
                    let page = GetOptions::new().with_from_key().with_limit(1000).with_serializable();
                    let answer = client.get(from, Some(page)).await.expect("readable");
                    answer.kvs().iter().for_each(|pair| take(pair.value()));
                    let Some(last) = answer.kvs().last().filter(|_| answer.more()) else { break };
                    from = [last.key(), &[0]].concat();
                }
            }
        }
        bytes
    }

    pub async fn close(self) {
        match self {
            Self::Ours(store) => store.close().await,
            Self::Etcd(etcd) => drop(etcd),
        }
    }
}

/// A real etcd on loopback, on one node, with its default durability. Ends when dropped.
pub struct EtcdServer {
    child: Child,
    clients: Vec<Client>,
    turn: std::sync::atomic::AtomicUsize,
}

/// Connections to etcd: one is multiplexed, several keep a single stream's flow control from being the limit.
const CONNECTIONS: usize = 8;

impl EtcdServer {
    async fn start(dir: &Path) -> Arc<Self> {
        let client_url = format!("http://127.0.0.1:{}", free_port());
        let peer_url = format!("http://127.0.0.1:{}", free_port());
        let child = Command::new("etcd")
            .arg("--data-dir")
            .arg(data_dir(dir))
            .args(["--listen-client-urls", &client_url, "--advertise-client-urls", &client_url])
            .args(["--listen-peer-urls", &peer_url, "--initial-advertise-peer-urls", &peer_url])
            .args(["--initial-cluster", &format!("default={peer_url}")])
            .args(["--quota-backend-bytes", "17179869184", "--log-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("etcd runs (Debian package etcd-server)");
        let mut server = Self { child, clients: Vec::new(), turn: Default::default() };
        while server.clients.len() < CONNECTIONS {
            let Ok(mut client) = Client::connect([&client_url], None).await else { continue };
            if client.get("is it there", None).await.is_ok() {
                server.clients.push(client);
            }
        }
        Arc::new(server)
    }

    pub fn client(&self) -> Client {
        let turn = self.turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        self.clients[turn % self.clients.len()].clone()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for EtcdServer {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let _ = self.child.wait();
    }
}

fn data_dir(dir: &Path) -> PathBuf {
    dir.join("etcd")
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}
