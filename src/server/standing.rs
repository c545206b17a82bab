//! Standing behind a host: what it is offered, whom it trusts, and how that is followed while the server runs.

use super::StartError;
use crate::config::{Lookup, Standing};
use crate::credentials::{Authorities, Trust};
use crate::host::{self, HostNamespaces, Trusts};
use apiserver::authn::Authentication;
use apiserver::authn::host::Host;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How soon it counts that a host trusts somebody else, or nobody any more.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The host as requests meet it.
pub(super) fn host(standing: &Standing, groups: Vec<String>) -> Host {
    let (at, caller) = (standing.identifies.clone(), standing.caller.clone());
    Host {
        workspace: standing.workspace.clone(),
        groups,
        tokens: Some(standing.tokens()),
        namespaces: Arc::new(HostNamespaces { at, caller }),
    }
}

/// Keeps up with whom a host trusts.
pub(super) struct Follower {
    pub(super) standing: Standing,
    pub(super) authentication: Arc<Authentication>,
    pub(super) trust: Arc<Trust>,
    /// What flags say in PEM about clients and front proxies: that stays as it is.
    pub(super) clients: Option<String>,
    pub(super) proxies: Option<String>,
}

impl Follower {
    /// Asks for the first time, and goes on.
    pub(super) async fn start(self, stop: &CancellationToken) -> Result<(), StartError> {
        let known = self.begin().await?;
        // It ends with the server, and holds nothing that would have to be let go.
        tokio::spawn(self.follow(known, stop.clone()));
        Ok(())
    }

    async fn begin(&self) -> Result<Option<Trusts>, StartError> {
        if self.standing.lookup == Lookup::Never {
            return Ok(None);
        }
        match self.look().await {
            Ok(trusts) => self.take(&trusts).map(|()| Some(trusts)).map_err(StartError::Host),
            Err(error) if self.standing.lookup == Lookup::Tolerated => {
                tracing::warn!(error, "the host does not say whom it trusts");
                Ok(None)
            }
            Err(error) => Err(StartError::Host(error)),
        }
    }

    async fn look(&self) -> Result<Trusts, String> {
        host::trusts(&self.standing.identifies, &self.standing.caller).await
    }

    fn take(&self, trusts: &Trusts) -> Result<(), String> {
        let others = Authorities {
            clients: self.clients.as_deref(),
            proxies: self.proxies.as_deref().or(trusts.proxies.as_deref()),
            host_clients: trusts.clients.as_deref().filter(|_| self.clients.is_none()),
        };
        self.trust.renew(others).map_err(|error| format!("what the host trusts cannot be used: {error}"))?;
        if self.proxies.is_none() {
            self.authentication.believe(trusts.front_proxy());
        }
        Ok(())
    }

    /// Asks again and again.
    async fn follow(self, mut known: Option<Trusts>, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(LOOK_AGAIN);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            let taken = match self.look().await {
                Ok(now) if known.as_ref() == Some(&now) => continue,
                Ok(now) => self.take(&now).map(|()| known = Some(now)),
                Err(error) => Err(error),
            };
            if let Err(error) = taken {
                // Better what it said before than nothing.
                tracing::warn!(error, "whom the host trusted before is trusted still");
            }
        }
    }
}
