//! The contract of every store, on etcd.

use crate::open_with;
use crate::servers::Lease;
use storage::conformance::Fixture;

async fn leased() -> Fixture {
    let (server, prefix) = (Lease::take().await, Lease::prefix());
    Fixture::new(move |options| open_with(&server.endpoints(), &prefix, options))
}

storage::conformance!(on_etcd, leased().await);
