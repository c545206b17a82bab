//! Connections to backends, kept for the next request, and what is shown at their other end.

use crate::backends::{Address, Backend};
use crate::hooks::connect::{Connector, Line};
use crate::place::Workspace;
use crate::trust::{Certificate, Trusted, client_config};
use axum::body::Body;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::time::Duration;

/// Ways that connections are kept on; of others they are made anew.
const WAYS_MAX: usize = 1000;
const IDLE_FOR: Duration = Duration::from_secs(90);
/// How soon a connection is given up that nothing comes out of any more.
const ALIVE_EVERY: Duration = Duration::from_secs(30);
const ALIVE_WITHIN: Duration = Duration::from_secs(15);

/// Says what to show. Each workspace has a certificate of its own, so that a backend that trusts one workspace to say
/// who asks is not thereby at the mercy of others.
pub trait Present: Send + Sync {
    fn certificate(&self, workspace: &Workspace) -> Result<Certificate, String>;
}

pub(super) type Sender = Client<Connector, Body>;

#[derive(Clone, PartialEq)]
struct Way {
    line: Line,
    insecure: bool,
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
        certificate: Option<Certificate>,
        http2: bool,
    ) -> Result<Sender, String> {
        let server_name = backend.service.server_name();
        let (host, port, ca) = (at.host.clone(), at.port, backend.ca.clone());
        let way = Way { line: Line { host, port, server_name, ca, certificate, http2 }, insecure: backend.insecure };
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
    let Line { ca, certificate, http2, .. } = &way.line;
    let trusted = if way.insecure { Trusted::Anybody } else { Trusted::Only(ca.as_deref()) };
    let tls = client_config(&trusted, certificate.as_ref(), *http2)?;
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_idle_timeout(IDLE_FOR)
        .pool_timer(TokioTimer::new())
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(ALIVE_EVERY)
        .http2_keep_alive_timeout(ALIVE_WITHIN);
    Ok(builder.build(Connector::new(way.line.clone(), tls)?))
}
