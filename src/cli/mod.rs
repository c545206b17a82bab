//! What a person types: the commands, and what they answer.
//!
//! Answers go to standard output, everything else to standard error. Exit codes: 0 it worked, 1 it did not (one line
//! says why), 2 it was not asked properly.

mod cell;
mod columns;
mod credentials;
mod dev;
mod explain;
mod fsck;
mod help;
mod install;
mod kubeconfig;
mod output;
mod progress;
mod serve;
mod status;
mod storage;
mod workspace;

use crate::config::{self, Config, DevFlags, LOG_VARIABLE, ServeFlags};
use crate::demonstration::Scale;
use clap::{CommandFactory, Parser, Subcommand, error::ErrorKind};
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// The Kubernetes whose API is served.
const KUBERNETES: &str = "1.37";

/// A federation API server.
///
/// It serves the Kubernetes API, a workspace for every project, on a store of its own, and places objects in cells:
/// other Kubernetes APIs.
#[derive(Debug, Parser)]
#[command(name = "hanse", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the Kubernetes API until SIGTERM or SIGINT
    ///
    /// DIR/admin.kubeconfig is written before it says that it is ready. While it runs, the store can be inspected,
    /// verified and backed up with `hanse storage`.
    /// HANSE_LOG says what is logged, for example HANSE_LOG=storage=debug,fjall=info.
    Serve(Box<ServeFlags>),
    /// Serve as `hanse serve` does, with cells in the same process to try things on, and say what to try
    ///
    /// The cells are workspaces of the server, in cities; what is placed in them seems to run.
    Dev(Box<DevFlags>),
    /// Let cells join and leave, and show how they are
    #[command(subcommand)]
    Cell(cell::Command),
    /// Change the keys that a server signs tokens of service accounts with
    #[command(subcommand)]
    Credentials(credentials::Command),
    /// Show where an object is, why it is there, and why it is not elsewhere
    Explain(explain::Flags),
    /// Compare what is recorded with what is in the cells; exit code 1 if anything is not as it should be
    Fsck(fsck::Flags),
    /// Print what other API servers need to work with this one
    #[command(subcommand)]
    Install(install::Command),
    /// Write kubeconfig files for users of a server
    #[command(subcommand)]
    Kubeconfig(kubeconfig::Command),
    /// Show the cells and how far each of them is, on one screen
    Status(status::Flags),
    /// Print what lets a shell complete these commands: source <(hanse completion bash)
    Completion(help::Flags),
    /// Print a manual page: hanse man | man -l -
    Man,
    /// Print what this is
    Version,
    /// Look into a store, copy it, check it; running or stopped
    #[command(subcommand)]
    Storage(storage::Command),
    /// Take workspaces elsewhere, in a file
    #[command(subcommand)]
    Workspace(workspace::Command),
}

/// Runs what was typed.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Err(error) = start_log() {
        refuse(ErrorKind::InvalidValue, &format!("{LOG_VARIABLE}: {error}"));
    }
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hanse: {}", in_one_line(&*error));
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Serve(flags) => serve::run(configuration(*flags)),
        Command::Dev(flags) => {
            let DevFlags { cells, projects, serve } = *flags;
            dev::run(configuration(serve), Scale { cells, projects })
        }
        Command::Cell(command) => Ok(cell::run(command)?),
        Command::Credentials(command) => Ok(credentials::run(command)?),
        Command::Explain(flags) => Ok(explain::run(&flags)?),
        Command::Fsck(flags) => Ok(fsck::run(&flags)?),
        Command::Install(command) => install::run(command),
        Command::Kubeconfig(command) => Ok(kubeconfig::run(command)?),
        Command::Completion(flags) => Ok(help::completion(&flags)?),
        Command::Man => Ok(help::man()?),
        Command::Version => Ok(answer(&format!("hanse {}, Kubernetes {}\n", env!("CARGO_PKG_VERSION"), KUBERNETES))?),
        Command::Status(flags) => Ok(status::run(&flags)?),
        Command::Storage(command) => Ok(storage::run(command)?),
        Command::Workspace(command) => Ok(workspace::run(command)?),
    }
}

fn configuration(flags: ServeFlags) -> Config {
    let config: Result<Config, config::FlagError> = flags.try_into();
    config.unwrap_or_else(|error| refuse(ErrorKind::MissingRequiredArgument, &error.to_string()))
}

/// Ends the process as the parser does when flags are wrong.
fn refuse(kind: ErrorKind, what: &str) -> ! {
    Cli::command().error(kind, what).exit()
}

fn start_log() -> Result<(), Box<dyn Error>> {
    use tracing_subscriber::prelude::*;
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(false);
    tracing_subscriber::registry().with(lines).with(config::log_filter()?).try_init()?;
    Ok(())
}

/// An error and everything that caused it.
fn in_one_line(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        line = format!("{line}: {error}");
        cause = error.source();
    }
    line.replace('\n', " ")
}

/// Writes an answer. A reader that has seen enough (`| head`) is not an error.
fn answer(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn an_error_is_told_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot\nstart")]
        struct Outer(#[source] io::Error);
        assert_eq!(in_one_line(&Outer(io::Error::other("disk on fire"))), "cannot start: disk on fire");
    }
}
