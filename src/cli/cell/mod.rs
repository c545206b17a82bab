//! `hanse cell`: cells join, leave, and are listed, through the public API of a running server.

pub(super) mod everywhere;
pub(super) mod hub;
mod join;
mod leave;
mod list;

use crate::fleet::api::CellError;
use crate::fleet::kubeconfig::KubeconfigError;
use clap::{Args, Subcommand};
use std::io;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Add a Kubernetes cluster, or a workspace of the server, as a cell
    ///
    /// Joining a cell again under its own name replaces the kubeconfig by which it is reached.
    Join(join::Flags),
    /// Remove everything the server placed in a cell, then the cell
    Leave(leave::Flags),
    /// List the cells of all workspaces
    List(list::Flags),
}

/// Which server is meant.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(super) struct ServerFlags {
    /// The kubeconfig of the server [default: $KUBECONFIG, or ~/.kube/config]
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context to use [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,
}

/// Which workspace of which server is meant.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(super) struct HubFlags {
    #[command(flatten)]
    pub(super) server: ServerFlags,
    /// The workspace, a path such as root:team [default: the one the context points at]
    #[arg(long, value_name = "PATH")]
    pub(super) workspace: Option<String>,
}

pub(super) fn run(command: Command) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
    runtime.block_on(async {
        match command {
            Command::Join(flags) => join::run(&flags).await,
            Command::Leave(flags) => leave::run(&flags).await,
            Command::List(flags) => list::run(&flags).await,
        }
    })
}

/// Why one of these commands did not do its work.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("cannot start the runtime")]
    Runtime(#[source] io::Error),
    #[error("cannot read {}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "no kubeconfig: set KUBECONFIG or pass --kubeconfig FILE. `hanse dev` writes hanse-data/dev.kubeconfig, \
         `hanse serve` writes DIR/admin.kubeconfig"
    )]
    NoKubeconfig,
    #[error(
        "{}: no such file. `hanse dev` writes hanse-data/dev.kubeconfig, `hanse serve` writes DIR/admin.kubeconfig",
        .0.display()
    )]
    NoSuchKubeconfig(PathBuf),
    #[error("{}", .path.display())]
    Kubeconfig {
        path: PathBuf,
        #[source]
        source: KubeconfigError,
    },
    #[error(transparent)]
    Workspace(#[from] KubeconfigError),
    #[error("{}", said_by_server(.0))]
    Hub(CellError),
    #[error("cannot join cell {name}: {}. To check: kubectl {} get --raw /readyz", said_by_cell(.why), .way)]
    Cell {
        name: String,
        /// The flags by which kubectl reaches it.
        way: String,
        why: CellError,
    },
    #[error("no cell {0:?} in this workspace; `hanse cell list` shows the cells of all workspaces")]
    Unknown(String),
    #[error(
        "cell {0} is already another cluster; choose another name, or remove that cell first: `hanse cell leave {0}`"
    )]
    Taken(String),
    #[error(
        "cannot join cell {name}: this cluster is already cell {as_cell}. Join it as {as_cell} to replace its kubeconfig, \
         or remove that cell first: `hanse cell leave {as_cell}`"
    )]
    Joined { name: String, as_cell: String },
    #[error("invalid label {0:?}: expected KEY=VALUE")]
    Label(String),
    #[error(
        "cell {name} was added but is not ready after {seconds} s: {why}. The server keeps trying: `hanse cell list` shows \
         its state, `hanse cell leave {name} --force` removes it"
    )]
    NotReady { name: String, seconds: u64, why: String },
    #[error(
        "cell {name} is leaving; {left} objects are still to be removed from it{why}. The server keeps trying; \
         `hanse cell leave {name} --force` forgets the cell and leaves them in it"
    )]
    Leaving { name: String, left: usize, why: String },
    #[error(transparent)]
    Answer(#[from] io::Error),
}

/// What somebody can do about what the server that commands talk to said, or did not say.
pub(super) fn said_by_server(error: &CellError) -> String {
    match error {
        CellError::Unreachable(why) if why.contains("peer certificate") => format!(
            "cannot trust the server: {why}. The kubeconfig may belong to another server; DIR/admin.kubeconfig of this one \
             has its CA"
        ),
        CellError::Refused { code: 404, message, .. } if UNSERVED.iter().any(|begin| message.starts_with(begin)) => {
            "this server does not serve Hanse's API; it may be an ordinary Kubernetes cluster. `kubectl config \
             get-contexts` lists others for --context"
                .to_owned()
        }
        CellError::Unreachable(why) => format!(
            "cannot reach the server: {why}. Is it running? `hanse dev` starts one to try; `kubectl config get-contexts` \
             lists others for --context"
        ),
        CellError::Refused { code: 403, message, .. } if message.ends_with(CLOSED) => format!(
            "no such workspace, or you have no access to it ({CLOSED}); `kubectl --context root get workspaces` lists \
             the workspaces"
        ),
        CellError::Refused { code: 401, message, .. } => format!(
            "the server rejected your credentials: {message}. The kubeconfig may be out of date or belong to another \
             server; `hanse kubeconfig create` writes a new one"
        ),
        CellError::Refused { message, .. } => format!("the server refused: {message}"),
        CellError::Unusable(why) => format!("cannot connect to the server: {why}"),
    }
}

/// The same for a cell that is about to join.
fn said_by_cell(error: &CellError) -> String {
    match error {
        CellError::Refused { code: 401, message, .. } => format!(
            "it rejected the credentials: {message}. The token or certificate in the kubeconfig may have expired, or \
             belong to another cluster"
        ),
        other => other.to_string(),
    }
}

/// What a Kubernetes says of kinds that it does not serve.
const UNSERVED: [&str; 2] = ["the server could not find the requested resource", "404"];

/// What a server says of a workspace that somebody may not enter, be it there or not.
const CLOSED: &str = "workspace access not permitted";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_says_is_told_with_what_to_do_next() {
        let check = |error: CellError, expected: &[&str]| {
            let told = Error::Hub(error).to_string();
            assert!(expected.iter().all(|words| told.contains(words)), "{told}");
            assert!(!told.contains("the cell"), "it is no cell that was asked: {told}");
        };
        let refused = |code, message: &str| CellError::Refused { code, reason: String::new(), message: message.into() };
        check(CellError::Unreachable("connection refused".into()), &["connection refused", "hanse dev", "--context"]);
        check(refused(403, &format!("forbidden: {CLOSED}")), &["no such workspace", "get workspaces"]);
        check(CellError::Unreachable("invalid peer certificate: UnknownIssuer".into()), &["cannot trust the server"]);
        check(refused(404, "404 Not Found"), &["ordinary Kubernetes cluster", "--context"]);
        check(refused(404, "namespaces \"x\" not found"), &["the server refused: namespaces"]);
        check(refused(403, "cells is forbidden"), &["the server refused: cells is forbidden"]);
        check(refused(401, "Unauthorized"), &["rejected your credentials", "hanse kubeconfig create"]);
        check(CellError::Unusable("no authority".into()), &["cannot connect to the server: no authority"]);
    }
}
