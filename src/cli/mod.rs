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
use columns::{width, wrapped};
use output::Form;
use serde_json::json;
use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

/// The Kubernetes whose API is served.
const KUBERNETES: &str = "1.37";

/// What to do first, below the list of commands.
const FIRST: &str = "Start with `hanse dev`: it runs a federation to try, and prints what to type next.";

/// Longer lines are hard to read.
const HELP_WIDTH_MAX: usize = 100;

/// A federation API server: workspaces for projects, and objects placed in cells.
///
/// Hanse serves the Kubernetes API from its own store, gives every project a workspace, and places objects in cells:
/// other Kubernetes clusters.
#[derive(Debug, Parser)]
#[command(name = "hanse", version, after_help = FIRST, max_term_width = HELP_WIDTH_MAX)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a server to try things on, with cells in the same process
    ///
    /// The cells are workspaces of the server, named after cities; workloads placed in them only pretend to run. It takes
    /// all flags of `hanse serve`, of which the most important ones are listed here.
    Dev(Box<DevFlags>),
    /// Run the server until SIGTERM or SIGINT
    ///
    /// DIR/admin.kubeconfig is written before the server reports that it is ready. While it runs, `hanse storage` can
    /// inspect, verify and back up its store. HANSE_LOG sets what is logged, for example
    /// HANSE_LOG=storage=debug,fjall=info.
    Serve(Box<ServeFlags>),
    /// Show the cells, whether they are ready, and how many objects each has applied
    Status(status::Flags),
    /// Show where an object is placed and why, and why not elsewhere
    Explain(explain::Flags),
    /// Join clusters as cells, remove them and list them
    #[command(subcommand)]
    Cell(cell::Command),
    /// Export workspaces to a file, and import them from one
    #[command(subcommand)]
    Workspace(workspace::Command),
    /// Create kubeconfig files for the users of a server
    #[command(subcommand)]
    Kubeconfig(kubeconfig::Command),
    /// Check that the cells hold what the server has recorded
    ///
    /// Exits with 1 if they do not.
    ///
    /// Only what is found twice in a row is reported, since the server keeps working meanwhile. Problems are reported as
    /// orphan (it carries this server's label, but no record mentions it), lost (recorded, but not in the cell), stranger
    /// (recorded, but the object in the cell is somebody else's), doubled (one source twice in a cell), unwanted (recorded,
    /// but no placement asks for it), missing (placed, but not recorded) and silent (the cell does not answer).
    Fsck(fsck::Flags),
    /// Inspect, back up, restore and verify a store, running or stopped
    #[command(subcommand)]
    Storage(storage::Command),
    /// Rotate the keys that sign service account tokens
    #[command(subcommand)]
    Credentials(credentials::Command),
    /// Print manifests that put this server behind a kube-apiserver
    #[command(subcommand)]
    Install(install::Command),
    /// Print a shell completion script: source <(hanse completion bash)
    Completion(help::Flags),
    /// Print the manual page: hanse man | man -l -
    Man,
    /// Print the versions of Hanse and of the Kubernetes API it serves
    Version(Form),
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
            let told = format!("hanse: {}", in_one_line(&*error));
            eprintln!("{}", wrapped(&told, width(&io::stderr())));
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
        Command::Version(form) => Ok(answer(&version(form))?),
        Command::Status(flags) => Ok(status::run(&flags)?),
        Command::Storage(command) => Ok(storage::run(command)?),
        Command::Workspace(command) => Ok(workspace::run(command)?),
    }
}

fn version(form: Form) -> String {
    let ours = env!("CARGO_PKG_VERSION");
    form.write(
        || format!("hanse {ours}, Kubernetes {KUBERNETES}\n"),
        || json!({ "version": ours, "kubernetes": KUBERNETES }),
    )
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
