//! `hanse kubeconfig`: files by which others reach a server, as somebody.

use super::answer;
use crate::credentials::{self, Client, CredentialsError};
use apiserver::ambient::Ambient;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Issue a certificate, and write the kubeconfig to use it with
    ///
    /// It is signed with the key in DIR, so this is for whoever runs the server. What the user may do is for the roles and
    /// bindings of each workspace to say.
    Create(Create),
}

#[derive(Args, Debug)]
pub(super) struct Create {
    /// The directory of the server
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// Who it is for
    #[arg(long, value_name = "NAME")]
    user: String,
    /// A group that they are in; may be given several times
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// The workspace that they are in unless they say otherwise: a path such as root:team
    #[arg(long, value_name = "PATH")]
    workspace: Option<String>,
    /// Where the server is found; where DIR/admin.kubeconfig says, if not given
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// For how long it is good
    #[arg(long, value_name = "DAYS", default_value_t = 365)]
    days: u32,
    /// Where it is written, for its owner alone; to standard output, if not given
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum KubeconfigError {
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Certs(#[from] certs::Error),
    #[error("the answer could not be written")]
    Answer(#[from] std::io::Error),
}

pub(super) fn run(command: Command) -> Result<(), KubeconfigError> {
    let Command::Create(Create { data_dir, user, groups, workspace, server, days, to }) = command;
    let lasts = Duration::from_secs(u64::from(days) * 24 * 3600);
    let client = Client { user, groups, workspace, server, lasts };
    let kubeconfig = credentials::kubeconfig_for(&data_dir, &client, &Ambient::real())?;
    match to {
        Some(path) => Ok(kubeconfig.write(&path)?),
        None => Ok(answer(&kubeconfig.to_yaml())?),
    }
}
