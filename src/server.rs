//! The hallway: the only place that constructs subsystems and introduces them to each other.

use crate::config::Config;
use storage::{OpenError, Stats, Store};

/// A running server. It has a store and, as yet, nobody who speaks for it.
#[derive(Debug)]
pub struct Server {
    store: Store,
}

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("the server cannot start")]
    Storage(#[from] OpenError),
    #[error("opening the store was interrupted")]
    Interrupted(#[from] tokio::task::JoinError),
}

impl Server {
    pub async fn start(config: Config) -> Result<Self, StartError> {
        // Reads and checks everything that is stored: too long to do on the runtime's own threads.
        let opening = tokio::task::spawn_blocking(move || Store::open(&config.place, config.storage));
        let store = opening.await??;
        Ok(Self { store })
    }

    pub fn stats(&self) -> Stats {
        self.store.stats()
    }

    /// Finishes what was accepted and lets go of the data.
    pub async fn stop(self) {
        self.store.close().await;
    }
}
