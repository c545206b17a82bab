//! Standing behind a host, another API server: the flags, and who is asked there.

use super::authorization::seconds;
use super::{FileError, in_pod, kubeconfig};
use apiserver::authn::webhook::TokenWebhook;
use apiserver::hooks::Endpoint;
use apiserver::hooks::call::{HttpCaller, NoServices};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What Kubernetes remembers of a host's answers about tokens, in seconds.
const COUNTS: i64 = 10;

/// The same flags as those of any aggregated API server, and what is special here.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Aggregation")]
pub struct AggregatedFlags {
    /// Run behind a host kube-apiserver, which authenticates and authorizes requests to one workspace
    #[arg(long)]
    pub aggregated: bool,
    /// The path of the workspace served through the host [default: root:default]
    #[arg(long, value_name = "PATH", requires = "aggregated")]
    pub aggregated_workspace: Option<String>,
    /// A kubeconfig of the host, for token reviews [default: the pod's service account]
    #[arg(long, value_name = "FILE", requires = "aggregated")]
    pub authentication_kubeconfig: Option<PathBuf>,
    /// A kubeconfig of the host, for access reviews [default: the pod's service account]
    #[arg(long, value_name = "FILE", requires = "aggregated")]
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Do not look up which front proxies and client CAs the host trusts
    #[arg(long, requires = "aggregated")]
    pub authentication_skip_lookup: bool,
    /// Start even if that lookup fails, and retry it later
    #[arg(long, requires = "aggregated")]
    pub authentication_tolerate_lookup_failure: bool,
    /// How long the host's answers about tokens are cached, such as 10s
    #[arg(long, value_name = "DURATION", requires = "aggregated", value_parser = seconds)]
    pub authentication_token_webhook_cache_ttl: Option<i64>,
    /// Paths that need no authorization by the host; a trailing * matches any suffix
    #[arg(long, value_name = "PATH", value_delimiter = ',', default_value = "/healthz,/readyz,/livez")]
    pub authorization_always_allow_paths: Vec<String>,
}

/// Where the host is.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The path of a workspace.
    pub workspace: Option<String>,
    pub identifies: Endpoint,
    pub decides: Endpoint,
    pub open_paths: Vec<String>,
    pub lookup: Lookup,
    pub caller: HttpCaller,
    token_counts: i64,
}

/// Whether the host is asked whom it trusts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    Never,
    /// Nothing works before it has answered.
    Needed,
    Tolerated,
}

impl AggregatedFlags {
    /// Nothing, where there is no host.
    pub fn read(&self) -> Result<Option<Standing>, FileError> {
        if !self.aggregated {
            return Ok(None);
        }
        let lookup = match (self.authentication_skip_lookup, self.authentication_tolerate_lookup_failure) {
            (true, _) => Lookup::Never,
            (_, true) => Lookup::Tolerated,
            _ => Lookup::Needed,
        };
        let find = |file: Option<&Path>| file.map_or_else(in_pod, kubeconfig::endpoint);
        Ok(Some(Standing {
            workspace: self.aggregated_workspace.clone(),
            identifies: find(self.authentication_kubeconfig.as_deref())?,
            decides: find(self.authorization_kubeconfig.as_deref())?,
            open_paths: self.authorization_always_allow_paths.clone(),
            lookup,
            caller: HttpCaller::new(Arc::new(NoServices), None),
            token_counts: self.authentication_token_webhook_cache_ttl.unwrap_or(COUNTS),
        }))
    }
}

impl Standing {
    /// Asks the host about tokens.
    pub fn tokens(&self) -> TokenWebhook {
        let at = self.identifies.below("/apis/authentication.k8s.io/v1/tokenreviews");
        TokenWebhook::lasting(at, self.caller.clone(), self.token_counts)
    }
}
