//! The cells that are within reach, and how to talk to them.

use super::api::{CellApi, CellError, CellResource};
use super::cell::CellId;
use super::discovery::Documents;
use super::kube::Kube;
use super::kubeconfig;
use super::remote::Remote;
use super::served::Served;
use super::transport::Local;
use apiserver::pipeline::Pipeline;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// How a cell is reached.
#[derive(Clone, PartialEq, Eq)]
pub enum Access {
    /// The text of a kubeconfig.
    Kubeconfig(String),
    /// A workspace of this server.
    Workspace(String),
}

impl Access {
    fn fingerprint(&self) -> [u8; 32] {
        let (sort, text) = match self {
            Self::Kubeconfig(text) => ("kubeconfig", text),
            Self::Workspace(workspace) => ("workspace", workspace),
        };
        Sha256::new().chain_update(sort).chain_update([0]).chain_update(text).finalize().into()
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kubeconfig(_) => f.write_str("Kubeconfig(..)"),
            Self::Workspace(workspace) => write!(f, "Workspace({workspace})"),
        }
    }
}

/// Gets hold of cells.
pub trait Connect: Send + Sync + 'static {
    /// Nothing is sent yet: an error says what is wrong with the access.
    fn connect(&self, access: &Access) -> Result<Arc<dyn CellApi>, CellError>;
}

/// Connects to real cells.
#[derive(Clone, Debug)]
pub struct Connector {
    /// Where requests to workspaces of this server go.
    pub pipeline: Pipeline,
    /// What cells say they serve.
    pub documents: Arc<Documents>,
}

impl Connect for Connector {
    fn connect(&self, access: &Access) -> Result<Arc<dyn CellApi>, CellError> {
        match access {
            Access::Workspace(workspace) => {
                Ok(Arc::new(Kube::new(Local::new(self.pipeline.clone(), workspace), &self.documents)))
            }
            Access::Kubeconfig(text) => among(text, &self.documents),
        }
    }
}

/// The API that the current context of a kubeconfig names.
pub fn remote(kubeconfig: &str) -> Result<Arc<dyn CellApi>, CellError> {
    among(kubeconfig, &Arc::default())
}

fn among(kubeconfig: &str, documents: &Arc<Documents>) -> Result<Arc<dyn CellApi>, CellError> {
    let access = kubeconfig::read(kubeconfig).map_err(|error| CellError::Unusable(error.to_string()))?;
    Ok(Arc::new(Kube::new(Remote::new(&access)?, documents)))
}

/// A cell that is dealt with.
#[derive(Debug)]
pub struct Session {
    pub cell: CellId,
    /// The UID of its object: a cell that left and joined again is another one.
    pub uid: String,
    pub api: Arc<dyn CellApi>,
    /// Of what it was made from: the text may be long, and there are many.
    access: [u8; 32],
    up: AtomicBool,
    /// What it serves may not be what it served.
    doubted: AtomicBool,
    /// What it serves. Replaced whole.
    resources: Mutex<Arc<Served>>,
    /// Told when it gets up or down, or serves something else: whoever waits for one cell is not woken for others.
    settled: Arc<Notify>,
    /// Ends with the session, and with it whoever works for it.
    ended: CancellationToken,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.ended.cancel();
    }
}

impl Session {
    pub(super) fn new(cell: CellId, uid: String, api: Arc<dyn CellApi>, access: &Access) -> Self {
        let (up, doubted, resources) = (AtomicBool::new(false), AtomicBool::new(false), Mutex::new(Arc::default()));
        let (access, settled, ended) = (access.fingerprint(), Arc::default(), CancellationToken::new());
        Self { cell, uid, api, access, up, doubted, resources, settled, ended }
    }

    /// Whether it is reached in this way.
    pub(super) fn is_by(&self, access: &Access) -> bool {
        self.access == access.fingerprint()
    }

    pub(super) fn ended(&self) -> CancellationToken {
        self.ended.clone()
    }

    /// Has something for one who waits for it whenever it is not as it was.
    pub(super) fn settled(&self) -> Arc<Notify> {
        self.settled.clone()
    }

    /// Whether it answers.
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Acquire)
    }

    pub fn resources(&self) -> Arc<Served> {
        self.resources.lock().clone()
    }

    /// A kind as the cell serves it, the preferred version first; nothing if it does not.
    pub fn versions_of(&self, group: &str, kind: &str) -> Vec<CellResource> {
        self.resources().of_kind(group, kind).cloned().collect()
    }

    /// A resource in a version that the cell serves; as it was, if it serves none.
    pub fn served(&self, resource: CellResource) -> CellResource {
        let all = self.resources();
        let mut same = all.of_plural(&resource.group, &resource.plural);
        let exact = same.clone().find(|found| found.version == resource.version);
        exact.or_else(|| same.next()).cloned().unwrap_or(resource)
    }

    /// Has it looked at anew what the cell serves.
    pub fn doubt(&self) {
        self.doubted.store(true, Ordering::Release);
    }

    pub(super) fn take_doubt(&self) -> bool {
        self.doubted.swap(false, Ordering::AcqRel)
    }
}

/// All cells that are dealt with. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Fleet {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Guards nothing but itself, and is held for one operation.
    sessions: Mutex<BTreeMap<CellId, Arc<Session>>>,
    changes: watch::Sender<u64>,
}

impl Default for Fleet {
    fn default() -> Self {
        let shared = Shared { sessions: Mutex::default(), changes: watch::Sender::new(0) };
        Self { shared: Arc::new(shared) }
    }
}

impl Fleet {
    pub fn session(&self, cell: &CellId) -> Option<Arc<Session>> {
        self.shared.sessions.lock().get(cell).cloned()
    }

    pub fn sessions(&self) -> Vec<Arc<Session>> {
        self.shared.sessions.lock().values().cloned().collect()
    }

    /// Tells that cells came, went, or got up or down.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.shared.changes.subscribe()
    }

    pub(super) fn enter(&self, session: Arc<Session>) {
        self.shared.sessions.lock().insert(session.cell.clone(), session);
        self.changed();
    }

    pub(super) fn leave(&self, cell: &CellId) {
        if self.shared.sessions.lock().remove(cell).is_some() {
            self.changed();
        }
    }

    pub(super) fn settle(&self, session: &Session, up: bool, resources: Option<Arc<Served>>) {
        let others = resources.is_some_and(|resources| {
            let before = std::mem::replace(&mut *session.resources.lock(), resources.clone());
            before != resources
        });
        if session.up.swap(up, Ordering::AcqRel) != up || others {
            session.settled.notify_one();
            self.changed();
        }
    }

    /// Lets those who follow the fleet look again.
    pub fn nudge(&self) {
        self.changed();
    }

    fn changed(&self) {
        self.shared.changes.send_modify(|count| *count = count.wrapping_add(1));
    }
}
