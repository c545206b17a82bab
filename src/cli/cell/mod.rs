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
    /// Make a Kubernetes API, or a workspace of the server itself, a cell
    Join(join::Flags),
    /// Take everything back from a cell and forget it
    Leave(leave::Flags),
    /// Show the cells, and how they are
    List(list::Flags),
}

/// Which server is meant.
#[derive(Args, Clone, Debug)]
pub(super) struct HubFlags {
    /// The kubeconfig of the server; $KUBECONFIG if it is not given
    #[arg(long, value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; its current one, if it is not given
    #[arg(long, value_name = "NAME")]
    pub(super) context: Option<String>,
    /// The workspace that the cell is in, a path such as root:team; the one of the kubeconfig, if it is not given
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
    #[error("nothing runs here")]
    Runtime(#[source] io::Error),
    #[error("cannot read {}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error(
        "no server is named; `export KUBECONFIG=DIR/admin.kubeconfig` or --kubeconfig FILE names one. A server writes that \
         file into its data directory when it starts, and `hanse dev` writes hanse-data/dev.kubeconfig"
    )]
    NoKubeconfig,
    #[error(
        "there is no file {}. A server writes DIR/admin.kubeconfig when it starts, and `hanse dev` writes \
         hanse-data/dev.kubeconfig", .0.display()
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
    #[error("cell {name}: {}; `kubectl --kubeconfig {} get --raw /readyz` asks the same", said_by_cell(.why), .kubeconfig.display())]
    Cell { name: String, kubeconfig: PathBuf, why: CellError },
    #[error("there is no cell {0} in this workspace; `hanse cell list` shows those that there are")]
    Unknown(String),
    #[error(
        "another cluster has joined as cell {0}; choose another name, or let that one leave first: `hanse cell leave {0}`"
    )]
    Taken(String),
    #[error(
        "cell {name}: that is cell {as_cell} already. Join it as {as_cell} to change how it is reached, or let it leave \
         first: `hanse cell leave {as_cell}`"
    )]
    Joined { name: String, as_cell: String },
    #[error("{0:?} is no label: KEY=VALUE")]
    Label(String),
    #[error(
        "cell {name} joined, and is not ready after {seconds} s: {why}. It is asked again and again; `hanse cell \
         list` shows when it is ready, `hanse cell leave {name} --force` forgets it"
    )]
    NotReady { name: String, seconds: u64, why: String },
    #[error(
        "cell {name} is leaving; {left} objects of it are still to be taken back{why}. \
         It is gone when they are; `hanse cell leave {name} --force` forgets them and leaves them where they are"
    )]
    Leaving { name: String, left: usize, why: String },
    #[error(transparent)]
    Answer(#[from] io::Error),
}

/// What somebody can do about what the server that commands talk to said, or did not say.
pub(super) fn said_by_server(error: &CellError) -> String {
    match error {
        CellError::Unreachable(why) => format!(
            "the server does not answer: {why}. Is it running? `hanse dev` starts one to try; --kubeconfig, or --context \
             and `kubectl config get-contexts`, mean another one"
        ),
        CellError::Refused { code: 403, message, .. } if message.ends_with(CLOSED) => format!(
            "there is no such workspace, or it is closed to you ({CLOSED}); `kubectl --context root get workspaces` \
             shows those that there are"
        ),
        CellError::Refused { code: 401, message, .. } => format!(
            "the server does not know you: {message}. The kubeconfig may be of another server; \
             `hanse kubeconfig create` writes a new one"
        ),
        CellError::Refused { message, .. } => format!("the server refuses: {message}"),
        CellError::Unusable(why) => format!("the server cannot be asked: {why}"),
    }
}

/// The same for a cell that is about to join.
fn said_by_cell(error: &CellError) -> String {
    match error {
        CellError::Refused { code: 401, message, .. } => format!(
            "the cell does not know who asks: {message}. The token or certificate of the kubeconfig may have expired, or be \
             for another cluster"
        ),
        other => other.to_string(),
    }
}

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
        check(refused(403, "cells is forbidden"), &["the server refuses: cells is forbidden"]);
        check(refused(401, "Unauthorized"), &["does not know you", "hanse kubeconfig create"]);
        check(CellError::Unusable("no authority".into()), &["cannot be asked: no authority"]);
    }
}
