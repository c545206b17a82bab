//! A store kept in a real etcd: the contract, several replicas, and everything that happens to etcd meanwhile.

mod away;
mod compaction;
mod conformance;
mod contract;
mod faults;
mod proxy;
mod replicas;
mod sealed;
mod servers;
mod traffic;

use std::time::Duration;
use storage::{Options, Place, Store};

/// Far more than anything here takes on a busy machine: what takes longer hangs.
const DEADLINE: Duration = Duration::from_secs(40);

/// Opens a store under a prefix of its own choice. It may be called on a runtime's thread: the store has its own.
pub(crate) fn open(endpoints: &[String], prefix: &str) -> Store {
    open_with(endpoints, prefix, Options::default())
}

pub(crate) fn open_with(endpoints: &[String], prefix: &str, options: Options) -> Store {
    let place = Place::Etcd { endpoints: endpoints.to_vec(), prefix: prefix.to_owned(), tls: None };
    Store::open(&place, options).expect("a store in etcd")
}

/// Fails by name instead of hanging.
pub(crate) async fn in_time<T>(what: &str, doing: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, doing).await {
        Ok(done) => done,
        Err(_) => panic!("{what}: not there after {DEADLINE:?}"),
    }
}

/// Waits for something that nobody announces.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    let so = async {
        while !condition() {
            tick.tick().await;
        }
    };
    in_time(what, so).await;
}
