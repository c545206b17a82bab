//! `hanse credentials`: the keys that sign tokens of service accounts change without anybody being shut out.

use super::answer;
use crate::credentials;
use apiserver::ambient::Ambient;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Sign service account tokens with a new key from now on
    ///
    /// A running server picks up the key within seconds. Tokens signed with older keys stay valid, and those keys stay
    /// published, until `hanse credentials retire`. Certificates need no command: the server renews them before they
    /// expire.
    Rotate(Dir),
    /// Stop accepting tokens signed with older keys
    ///
    /// After `rotate`, wait until every client has a new token: an hour, unless somebody requests longer-lived ones.
    Retire(Dir),
}

#[derive(Args, Debug)]
pub(super) struct Dir {
    /// The data directory of the server
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Certs(#[from] certs::Error),
    #[error("cannot write the output")]
    Answer(#[from] std::io::Error),
}

pub(super) fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Rotate(Dir { data_dir }) => {
            credentials::rotate_token_key(&data_dir, &Ambient::real())?;
            Ok(answer("service account tokens are now signed with a new key\n")?)
        }
        Command::Retire(Dir { data_dir }) => {
            let retired = credentials::retire_token_keys(&data_dir)?;
            Ok(answer(&format!("retired {retired} older key{}\n", if retired == 1 { "" } else { "s" }))?)
        }
    }
}
