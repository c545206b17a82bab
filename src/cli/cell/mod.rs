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
    #[error("--kubeconfig says which server is meant")]
    NoKubeconfig,
    #[error(transparent)]
    Kubeconfig(#[from] KubeconfigError),
    #[error("the server")]
    Hub(#[source] CellError),
    #[error("cell {name}")]
    Cell {
        name: String,
        #[source]
        source: CellError,
    },
    #[error("there is no cell {0}")]
    Unknown(String),
    #[error("{0:?} is no label: KEY=VALUE")]
    Label(String),
    #[error("cell {name} joined, and is not ready after {seconds} seconds: {why}")]
    NotReady { name: String, seconds: u64, why: String },
    #[error(
        "cell {name} is leaving; {left} objects of it are still to be taken back{why}. \
         It is gone when they are; `hanse cell leave {name} --force` forgets them and leaves them where they are"
    )]
    Leaving { name: String, left: usize, why: String },
    #[error(transparent)]
    Answer(#[from] io::Error),
}
