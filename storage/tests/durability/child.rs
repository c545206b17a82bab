//! This test program, run once more as another process that can be stopped, killed and listened to.

use crate::load::{Job, run};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const ROLE: &str = "DURABILITY_CHILD";

/// Nothing these tests wait for takes nearly as long; past it something hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What this process is: `None` if it is the test itself.
pub(crate) fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// Whether this process was started to write. If so, it has done so until it was killed.
pub(crate) fn wrote() -> bool {
    let child = role().is_some_and(|role| role == "load");
    if child {
        run(&Job::from_env());
    }
    child
}

/// The command that runs the test `name` of this program as `role`.
pub(crate) fn command(name: &str, role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]).env(ROLE, role);
    command
}

/// A running child and what it says.
#[derive(Debug)]
pub(crate) struct Speaker {
    process: Child,
    lines: Receiver<String>,
    said: Vec<String>,
}

impl Speaker {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap());
        let (heard, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if heard.send(line.unwrap()).is_err() {
                    return;
                }
            }
        });
        Self { process, lines, said: Vec::new() }
    }

    pub(crate) fn id(&self) -> i32 {
        self.process.id() as i32
    }

    /// Listens until `count` more lines that `counts` have come.
    pub(crate) fn listen(&mut self, count: u64, counts: impl Fn(&str) -> bool) -> Result<(), String> {
        let mut left = count;
        while left > 0 {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    left -= u64::from(counts(&line));
                    self.said.push(line);
                }
                Err(RecvTimeoutError::Timeout) => return Err(format!("the child said nothing for {PATIENCE:?}")),
                Err(RecvTimeoutError::Disconnected) => return Err("the child ended by itself".to_owned()),
            }
        }
        Ok(())
    }

    /// Listens for a while, whatever comes.
    pub(crate) fn listen_for(&mut self, time: Duration) {
        let end = Instant::now() + time;
        while let Some(left) = end.checked_duration_since(Instant::now())
            && let Ok(line) = self.lines.recv_timeout(left)
        {
            self.said.push(line);
        }
    }

    /// SIGKILL. Returns everything it ever said.
    pub(crate) fn kill(mut self) -> Vec<String> {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.said.extend(self.lines.iter());
        std::mem::take(&mut self.said)
    }
}

impl Drop for Speaker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
