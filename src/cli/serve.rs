//! `hanse serve`: from a configuration to a server that runs until it is told to stop.

use super::answer;
use crate::config::Config;
use crate::server::Server;
use std::error::Error;
use std::io;
use storage::Place;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(super) fn run(config: Config) -> Result<(), Box<dyn Error>> {
    runtime()?.block_on(serve(config))
}

/// Connections take turns by themselves: the runtime knows of few at a time, and each may run for long. So it looks after
/// every one of them whether a socket has something to say, or the store an answer.
pub(super) fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().event_interval(1).global_queue_interval(1).build()
}

async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    let signals = Signals::new()?;
    let place = describe(&config.place);
    let server = Server::start(config).await?;
    let stats = server.stats();
    let (address, kubeconfig) = (server.address(), server.kubeconfig().display().to_string());
    let (revision, keys) = (stats.revision, stats.size.keys);
    answer(&format!("ready: https://{address}, kubeconfig {kubeconfig}; {place}, revision {revision}, {keys} keys\n"))?;
    signals.any().await;
    server.stop().await;
    Ok(())
}

/// What ends a server.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// To be had before anything is opened: a signal that comes while the store is being read ends it properly afterwards.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    pub(super) async fn any(mut self) {
        tokio::select! {
            _ = self.terminate.recv() => tracing::info!("stopping on SIGTERM"),
            _ = self.interrupt.recv() => tracing::info!("stopping on SIGINT"),
        }
    }
}

fn describe(place: &Place) -> String {
    match place {
        Place::Memory => "a store in memory".to_owned(),
        Place::Dir { dir, engine } => format!("{} store in {}", engine.name(), dir.display()),
        #[cfg(feature = "etcd")]
        Place::Etcd { endpoints, prefix, .. } => format!("etcd store under {prefix} at {}", endpoints.join(",")),
    }
}
