//! Where objects can go: the cells, how they are reached, whether they answer, and what of ours is in them.
//!
//! A [`Session`] is a cell that is dealt with, the [`Fleet`] all of them, the [`Ledger`] what is in them. Start with
//! [`start`].

pub mod api;
mod capacity;
mod cell;
mod definitions;
mod discovery;
mod health;
pub mod kube;
pub mod kubeconfig;
mod ledger;
mod line;
mod passage;
mod registry;
mod remote;
mod served;
mod session;
mod stream;
mod transport;
mod trust;

pub use cell::{CellId, IDENTITY, KUBECONFIG_KEY, LOST, kubeconfig as kubeconfig_of};
pub use health::Pace;
pub use ledger::{CopyFacts, CopyId, CopyKind, Ledger};
pub use line::Line;
pub use passage::Doors;
pub use served::Served;
pub use session::{Access, Connect, Connector, Fleet, Session, remote};

use apiserver::client::Client;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Starts to keep the cells that the objects of all workspaces describe. Ends when `stop` is cancelled.
pub fn start(
    client: &Client,
    connect: Arc<dyn Connect>,
    (ledger, pace): (&Arc<Ledger>, Pace),
    tasks: &TaskTracker,
    stop: &CancellationToken,
) -> Fleet {
    let fleet = Fleet::default();
    tasks.spawn(registry::controller(client, connect, &fleet, ledger, pace).run(stop.clone()));
    fleet
}
