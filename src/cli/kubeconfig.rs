//! `hanse kubeconfig`: files by which others reach a server, as somebody.

use super::answer;
use crate::credentials::{self, Client, CredentialsError};
use apiserver::ambient::Ambient;
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Issue a client certificate and write a kubeconfig that uses it
    ///
    /// The certificate is signed with the key in DIR, so only whoever runs the server can do this. What the user may do
    /// is up to the roles and bindings of each workspace.
    Create(Create),
}

#[derive(Args, Debug)]
pub(super) struct Create {
    /// The data directory of the server
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
    /// The name of the user
    #[arg(long, value_name = "NAME")]
    user: String,
    /// A group the user belongs to; can be repeated
    #[arg(long = "group", value_name = "NAME")]
    groups: Vec<String>,
    /// The workspace the kubeconfig points at: a path such as root:team [default: root:default]
    #[arg(long, value_name = "PATH")]
    workspace: Option<String>,
    /// The URL of the server [default: the one in DIR/admin.kubeconfig]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// How long the certificate is valid
    #[arg(long, value_name = "DAYS", default_value_t = 365)]
    days: u32,
    /// The file to write, readable by its owner only [default: standard output]
    #[arg(long, value_name = "FILE")]
    to: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum KubeconfigError {
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    #[error(transparent)]
    Certs(#[from] certs::Error),
    #[error("cannot write the output")]
    Answer(#[from] std::io::Error),
}

pub(super) fn run(command: Command) -> Result<(), KubeconfigError> {
    let Command::Create(Create { data_dir, user, groups, workspace, server, days, to }) = command;
    let lasts = Duration::from_secs(u64::from(days) * 24 * 3600);
    let client = Client { user, groups, workspace, server, lasts };
    let kubeconfig = credentials::kubeconfig_for(&data_dir, &client, &Ambient::real())?;
    let Some(path) = to else { return Ok(answer(&kubeconfig.to_yaml())?) };
    kubeconfig.write(&path)?;
    Ok(answer(&format!("{}: kubeconfig for user {}, valid for {days} days\n", path.display(), client.user))?)
}
