//! What keeps a Kubernetes API tidy: namespaces that go take their content along, those that stay have what everybody
//! expects in them, objects do not outlive their owners nor their definitions, storage is not let go while it is in use,
//! quotas say what is used of them, policies what seems wrong with them, flow schemas whether there is the level they
//! speak of, roles gather rules from others, events are forgotten, and who was approved gets a certificate.
//!
//! Each controller observes, decides by a pure function, and acts, in all workspaces at once: a workspace in which
//! nothing happens costs nothing here. Start with [`start`].

mod aggregation;
mod collector;
mod defaults;
pub(crate) mod definitions;
mod expiry;
mod flows;
mod key;
mod namespaces;
mod policies;
mod protection;
mod quota;
mod requests;
mod signers;
mod signing;

pub use signing::Signing;

use crate::controller::{Controller, Reconciler};
use apiserver::client::Client;
use apiserver::place::Workspace;
use apiserver::relay::Relay;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long things last here.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Everything is looked at again this often, in case that something went unnoticed.
    pub resync: Duration,
    /// Events older than this are deleted.
    pub event_age: Duration,
    /// How often old events are looked for.
    pub event_sweep: Duration,
    /// How often old requests for certificates are looked for.
    pub request_sweep: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        let (resync, hour, minute) = (Duration::from_mins(30), Duration::from_hours(1), Duration::from_mins(1));
        Self { resync, event_age: hour, event_sweep: minute, request_sweep: hour }
    }
}

/// The running controllers.
#[derive(Debug)]
pub struct Upkeep {
    tasks: TaskTracker,
}

/// Namespaces that are emptied at once; each deletes many objects at once.
const EMPTIED_AT_ONCE: usize = 8;

/// Objects whose owners are looked for at once: enough to fill a commit.
const COLLECTED_AT_ONCE: usize = 64;

/// Namespaces that are furnished at once: enough to fill a commit when many are made.
const FURNISHED_AT_ONCE: usize = 32;

/// Quotas whose status is put right at once: enough to fill a commit when many namespaces change.
const QUOTAS_AT_ONCE: usize = 32;

/// Starts all controllers. They end when `stop` is cancelled. `relay` is the way to API servers behind this one, `ca_pem`
/// what clients trust it by, `whole` are the workspaces in which everything that a Kubernetes begins with is an object.
pub fn start(
    client: &Client,
    relay: Option<&Relay>,
    (ca_pem, whole): (&str, &[Workspace]),
    pace: Pace,
    stop: &CancellationToken,
) -> Upkeep {
    let tasks = TaskTracker::new();
    run(&tasks, pace, stop, namespaces::controller(client, relay).workers(EMPTIED_AT_ONCE));
    run(&tasks, pace, stop, defaults::controller(client, ca_pem).workers(FURNISHED_AT_ONCE));
    run(&tasks, pace, stop, collector::controller(client).workers(COLLECTED_AT_ONCE));
    run(&tasks, pace, stop, expiry::controller(client, pace.event_age, pace.event_sweep));
    run(&tasks, pace, stop, protection::controller(client));
    run(&tasks, pace, stop, definitions::controller(client).workers(EMPTIED_AT_ONCE));
    run(&tasks, pace, stop, quota::controller(client).workers(QUOTAS_AT_ONCE));
    run(&tasks, pace, stop, policies::controller(client));
    run(&tasks, pace, stop, aggregation::controller(client));
    run(&tasks, pace, stop, flows::controller(client, whole));
    run(&tasks, pace, stop, requests::controller(client, pace.request_sweep));
    tasks.close();
    Upkeep { tasks }
}

fn run<R: Reconciler>(tasks: &TaskTracker, pace: Pace, stop: &CancellationToken, controller: Controller<R>) {
    tasks.spawn(controller.resync(pace.resync).run(stop.clone()));
}

impl Upkeep {
    /// Lets requests for certificates be signed as well, once they are approved.
    pub fn sign(&self, client: &Client, signing: Signing, stop: &CancellationToken) {
        run(&self.tasks, Pace::default(), stop, signing::controller(client, signing));
    }

    /// Waits until all controllers have stopped.
    pub async fn stopped(self) {
        self.tasks.wait().await;
    }
}

#[cfg(test)]
mod tests;
