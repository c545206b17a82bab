//! `hanse serve`: from a configuration to a server that runs until it is told to stop.

use super::answer;
use crate::config::Config;
use crate::server::Server;
use std::error::Error;
use storage::Place;
use tokio::signal::unix::{SignalKind, signal};

pub(super) fn run(config: Config) -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(serve(config))
}

async fn serve(config: Config) -> Result<(), Box<dyn Error>> {
    // Before anything is opened: a signal that comes while the store is being read ends it properly afterwards.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let place = describe(&config.place);
    let server = Server::start(config).await?;
    let stats = server.stats();
    let (address, kubeconfig) = (server.address(), server.kubeconfig().display().to_string());
    let (revision, keys) = (stats.revision, stats.size.keys);
    answer(&format!("ready: https://{address}, kubeconfig {kubeconfig}; {place}, revision {revision}, {keys} keys\n"))?;
    tokio::select! {
        _ = terminate.recv() => tracing::info!("asked to stop"),
        _ = interrupt.recv() => tracing::info!("interrupted"),
    }
    server.stop().await;
    Ok(())
}

fn describe(place: &Place) -> String {
    match place {
        Place::Memory => "a store in memory".to_owned(),
        Place::Dir { dir, engine } => format!("{} store in {}", engine.name(), dir.display()),
        #[cfg(feature = "etcd")]
        Place::Etcd { endpoints, prefix, .. } => format!("etcd store under {prefix} at {}", endpoints.join(",")),
    }
}
