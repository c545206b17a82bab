//! API servers behind this one: requests for the group versions that an `APIService` names are answered by them.
//!
//! [`headers`] says what a backend is told about whoever asks; [`Relay::forward`] sends a permitted request on and its answer back, both as they come, and [`Relay::ask`] asks for
//! the server itself. What a backend said that it serves is [`Known`].

mod ask;
mod body;
mod forward;
pub(crate) mod headers;
mod known;
mod lines;
mod tunnel;

pub use ask::{Answer, Question};
pub use known::{Known, Served};
pub use lines::Present;

pub(crate) use forward::Outgoing;

use crate::backends::{Address, Service, Unreachable};
use crate::error::ApiError;
use crate::place::Workspace;
use crate::resources::Resources;
use known::Library;
use lines::Lines;
use std::fmt;
use std::sync::{Arc, OnceLock};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// Connections that were upgraded and are carried through at a time.
const TUNNELS_MAX: usize = 1000;

/// The way to the API servers behind this one. Cheap to clone.
#[derive(Clone)]
pub struct Relay(Arc<Inner>);

struct Inner {
    resources: Resources,
    lines: Lines,
    known: Library,
    /// What is shown to backends; nothing, until somebody says what.
    present: OnceLock<Arc<dyn Present>>,
    /// What this server is called among those that a request has passed.
    name: String,
    tunnels: Arc<Semaphore>,
    /// Ends what goes on for as long as the client likes.
    stopping: CancellationToken,
}

impl Relay {
    /// `stopping` ends what goes on for as long as clients like.
    pub fn new(resources: Resources, stopping: CancellationToken) -> Self {
        let name = resources.ambient().uid();
        Self(Arc::new(Inner {
            resources,
            lines: Lines::default(),
            known: Library::default(),
            present: OnceLock::new(),
            name,
            tunnels: Arc::new(Semaphore::new(TUNNELS_MAX)),
            stopping,
        }))
    }

    /// From now on backends are shown this. The first to say so is heard.
    pub fn present(&self, present: Arc<dyn Present>) {
        let _ = self.0.present.set(present);
    }

    /// Where a service of a workspace is reached.
    pub fn addresses(
        &self,
        workspace: &Workspace,
        service: &Service,
    ) -> Result<Result<Vec<Address>, Unreachable>, ApiError> {
        self.0.resources.addresses(workspace, service)
    }

    pub(crate) fn library(&self) -> &Library {
        &self.0.known
    }
}

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Relay").field("name", &self.0.name).finish_non_exhaustive()
    }
}
