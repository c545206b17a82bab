//! `hanse credentials`: the keys that sign tokens of service accounts change without anybody being shut out.

use super::answer;
use crate::credentials;
use apiserver::ambient::Ambient;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Sign tokens of service accounts with a new key from now on
    ///
    /// A running server notices within seconds. Tokens of former keys are accepted, and the keys published, until
    /// `hanse credentials retire`. Certificates need no command: they are renewed before they end.
    Rotate(Dir),
    /// Accept tokens of former keys no more
    ///
    /// Wait after `rotate` until everybody has a new token: an hour, if nobody asks for longer ones.
    Retire(Dir),
}

#[derive(Args, Debug)]
pub(super) struct Dir {
    /// The directory of the server
    #[arg(long, value_name = "DIR")]
    data_dir: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error(transparent)]
    Certs(#[from] certs::Error),
    #[error("the answer could not be written")]
    Answer(#[from] std::io::Error),
}

pub(super) fn run(command: Command) -> Result<(), Error> {
    match command {
        Command::Rotate(Dir { data_dir }) => {
            credentials::rotate_token_key(&data_dir, &Ambient::real())?;
            Ok(answer("tokens are signed with a new key\n")?)
        }
        Command::Retire(Dir { data_dir }) => {
            let retired = credentials::retire_token_keys(&data_dir)?;
            Ok(answer(&format!("accepted no more: {retired} former key{}\n", if retired == 1 { "" } else { "s" }))?)
        }
    }
}
