//! Connections to backends, kept for the next request, and what is shown at their other end.

use crate::backends::{Address, Backend};
use crate::hooks::connect::{Connector, Line};
use crate::hooks::trust;
use crate::place::Workspace;
use axum::body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Ways that connections are kept on; of others they are made anew.
const WAYS_MAX: usize = 1000;
const IDLE_FOR: Duration = Duration::from_secs(90);
/// How soon a connection is given up that nothing comes out of any more.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
const ALIVE_WITHIN: Duration = Duration::from_secs(15);

/// What this server proves itself with to a backend, in PEM. The key is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    pub chain_pem: String,
    pub key_pem: String,
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate").finish_non_exhaustive()
    }
}

/// Says what to show. Each workspace has a certificate of its own, so that a backend that trusts one workspace to say
/// who asks is not thereby at the mercy of others.
pub trait Present: Send + Sync {
    fn certificate(&self, workspace: &Workspace) -> Result<Arc<ClientCertificate>, String>;
}

pub(super) type Sender = Client<Connector, Body>;

#[derive(Clone, PartialEq)]
struct Way {
    line: Line,
    insecure: bool,
    shown: Option<Arc<ClientCertificate>>,
}

#[derive(Default)]
pub(super) struct Lines {
    /// The one that was used last comes last. Nothing else is locked while this is held.
    ways: Mutex<VecDeque<(Way, Sender)>>,
}

impl Lines {
    /// A way to a backend at an address. `http2`: requests may share a connection.
    pub(super) fn to(
        &self,
        backend: &Backend,
        at: &Address,
        shown: Option<Arc<ClientCertificate>>,
        http2: bool,
    ) -> Result<Sender, String> {
        let server_name = backend.service.server_name();
        let line = Line { host: at.host.clone(), port: at.port, server_name, ca: backend.ca.clone(), http2 };
        let way = Way { line, insecure: backend.insecure, shown };
        if let Some(known) = self.known(&way) {
            return Ok(known);
        }
        let sender = open(&way)?;
        let mut ways = self.ways.lock();
        if ways.len() >= WAYS_MAX {
            ways.pop_front();
        }
        ways.push_back((way, sender.clone()));
        Ok(sender)
    }

    fn known(&self, way: &Way) -> Option<Sender> {
        let mut ways = self.ways.lock();
        let at = ways.iter().position(|(known, _)| known == way)?;
        let found = ways.remove(at)?;
        ways.push_back(found.clone());
        Some(found.1)
    }
}

fn open(way: &Way) -> Result<Sender, String> {
    let shown = way.shown.as_ref().map(|pair| (pair.chain_pem.as_bytes(), pair.key_pem.as_bytes()));
    let trusting = if way.insecure { trust::Trusting::Anybody } else { trust::Trusting::Only(way.line.ca.as_deref()) };
    let tls = trust::config_showing(&trusting, way.line.http2, shown)?;
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_idle_timeout(IDLE_FOR)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(ALIVE_EVERY)
        .http2_keep_alive_timeout(ALIVE_WITHIN);
    Ok(builder.build(Connector::new(way.line.clone(), tls)?))
}
