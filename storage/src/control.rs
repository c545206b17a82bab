//! A running store hands out copies of itself: whoever may open its socket gets one, taken at the newest revision.
//!
//! This is how a store that another process holds is backed up, inspected and verified.

use crate::backup;
use crate::error::BackupError;
use crate::shared::Shared;
use crate::snapshot::Snapshot;
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// A reader that takes nothing for so long has gone.
const SILENCE_MAX: Duration = Duration::from_secs(60);

/// The listening end. Removed when dropped.
#[derive(Debug)]
pub(crate) struct Control {
    path: PathBuf,
    ended: Arc<AtomicBool>,
}

impl Control {
    pub(crate) fn listen(path: PathBuf, shared: &Arc<Shared>) -> io::Result<Self> {
        // The lock on the directory is ours, so a socket that is there belongs to nobody.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
        let shared = Arc::downgrade(shared);
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        std::thread::Builder::new().name("store-control".into()).spawn(move || serve(&listener, &shared, &end))?;
        Ok(Self { path, ended })
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // Wakes the listener, which then finds that it is over.
        let woken = UnixStream::connect(&self.path);
        let _ = std::fs::remove_file(&self.path);
        drop(woken);
    }
}

/// One copy at a time: copies are rare, and each reads the whole store.
fn serve(listener: &UnixListener, shared: &Weak<Shared>, ended: &AtomicBool) {
    for stream in listener.incoming() {
        let Some(shared) = shared.upgrade().filter(|_| !ended.load(Ordering::Acquire)) else { return };
        match stream.map_err(BackupError::Io).and_then(|stream| hand_out(&stream, shared)) {
            Ok(()) => {}
            Err(error) => tracing::warn!(%error, "a copy of the store could not be handed out"),
        }
    }
}

fn hand_out(stream: &UnixStream, shared: Arc<Shared>) -> Result<(), BackupError> {
    stream.set_write_timeout(Some(SILENCE_MAX)).map_err(BackupError::Io)?;
    backup::write(&Snapshot::newest(shared), BufWriter::with_capacity(1 << 20, stream)).map(drop)
}

/// Asks the process that holds `dir` for a copy of its store; read it with [`backup::read`].
pub fn copy_of_running(dir: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(crate::datadir::control_socket(dir))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::Seal;
    use crate::shared::Clock;
    use crate::timeline::Timeline;
    use std::io::Read;
    use std::time::Instant;

    #[test]
    fn it_hands_out_copies_until_it_is_dropped_and_then_its_thread_ends() {
        let dir = tempfile::tempdir().unwrap();
        let shared = Shared::start(Timeline::default(), Clock::default(), Seal::default(), None);
        let held = Arc::weak_count(&shared);
        let control = Control::listen(crate::datadir::control_socket(dir.path()), &shared).unwrap();
        assert_eq!(Arc::weak_count(&shared), held + 1, "the thread follows the store");
        let copy = backup::read(copy_of_running(dir.path()).unwrap(), |_| Ok(())).unwrap();
        assert_eq!(copy.entries, 0);

        let mut waiting = copy_of_running(dir.path()).unwrap();
        waiting.read_exact(&mut [0; 1]).unwrap();
        drop(control);
        assert_eq!(copy_of_running(dir.path()).unwrap_err().kind(), io::ErrorKind::NotFound);
        let deadline = Instant::now() + Duration::from_secs(20);
        while Arc::weak_count(&shared) > held {
            assert!(Instant::now() < deadline, "the thread is still there");
            std::thread::yield_now();
        }
        shared.close();
    }
}
