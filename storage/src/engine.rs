//! The embedded engines by name.

use crate::backend::{Backend, FjallBackend, LogBackend, SledBackend, fjall, sled};
use crate::error::BackendError;
use crate::txn::Revision;
use std::path::Path;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    #[default]
    Log,
    Fjall,
    Sled,
}

impl Engine {
    pub(crate) const ALL: [Self; 3] = [Self::Log, Self::Fjall, Self::Sled];

    pub fn name(self) -> &'static str {
        match self {
            Self::Log => "log",
            Self::Fjall => "fjall",
            Self::Sled => "sled",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == name)
    }

    /// Opens or makes what is in `dir`. Commits up to `acknowledged` must be there.
    pub(crate) fn open(self, dir: &Path, acknowledged: Revision) -> Result<Box<dyn Backend>, BackendError> {
        Ok(match self {
            Self::Log => Box::new(LogBackend::open_after(dir, acknowledged)?),
            Self::Fjall => Box::new(FjallBackend::open_after(dir, acknowledged)?),
            Self::Sled => Box::new(SledBackend::open_after(dir, acknowledged)?),
        })
    }

    /// Finds the file that is to blame for what could not be loaded. Nobody has the engine open any more.
    pub(crate) fn blamed(self, dir: &Path, error: BackendError) -> BackendError {
        match self {
            // It names the file itself.
            Self::Log => error,
            Self::Fjall => fjall::blamed(dir, error),
            Self::Sled => sled::condemned(dir, error),
        }
    }
}
