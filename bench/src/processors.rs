//! Processors for a server and others for its clients, as if each had a machine of its own.

use std::path::Path;
use std::process::Command;

/// Which processors, as `taskset` names them.
#[derive(Clone, Debug)]
pub struct Halves {
    pub server: String,
    pub clients: String,
}

impl Halves {
    /// Nothing, if there is one processor only.
    pub fn of(cores: usize) -> Option<Self> {
        let half = cores / 2;
        (half > 0).then(|| Self { server: format!("0-{}", half - 1), clients: format!("{half}-{}", cores - 1) })
    }
}

/// A program that runs on these processors alone.
pub fn command(processors: &str, program: &Path) -> Command {
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", processors]).arg(program);
    command
}

/// From now on the calling thread, and whatever it starts, runs on these processors alone.
pub fn keep_to(processors: &str) {
    let me = std::process::id().to_string();
    let kept = Command::new("taskset").args(["--pid", "--cpu-list", processors, &me]).output().expect("taskset runs");
    assert!(kept.status.success(), "{}", String::from_utf8_lossy(&kept.stderr));
}
