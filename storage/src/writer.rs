//! The writing half of a store, wherever it is kept.

use crate::commit::{Answer, Committer};
use crate::error::{BackendError, CommitError, ReadError};
#[cfg(feature = "etcd")]
use crate::etcd::Replica;
use crate::txn::{Revision, Txn};
use std::sync::Arc;

pub(crate) enum Writer {
    Embedded(Committer),
    #[cfg(feature = "etcd")]
    Etcd(Replica),
}

impl Writer {
    pub(crate) async fn commit(&self, txn: Txn) -> Answer {
        match self {
            Self::Embedded(committer) => committer.commit(txn).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(replica) => replica.commit(txn).await,
        }
    }

    /// Waits until every acknowledged commit can be read here. An embedded store acknowledges no other.
    pub(crate) async fn settle(&self) -> Result<(), ReadError> {
        match self {
            Self::Embedded(_) => Ok(()),
            #[cfg(feature = "etcd")]
            Self::Etcd(replica) => replica.newest().await.map(drop),
        }
    }

    /// Forgets history up to `floor`, or as far as the bounds ask; answers with the new floor.
    pub(crate) async fn forget(&self, floor: Option<Revision>) -> Result<Revision, CommitError> {
        match self {
            Self::Embedded(committer) => committer.forget(floor).await,
            #[cfg(feature = "etcd")]
            Self::Etcd(replica) => replica.forget(floor),
        }
    }

    pub(crate) fn failure(&self) -> Option<Arc<BackendError>> {
        match self {
            Self::Embedded(committer) => committer.failure(),
            #[cfg(feature = "etcd")]
            Self::Etcd(replica) => replica.failure(),
        }
    }

    /// Stored values that are not ours.
    pub(crate) fn unreadable(&self) -> u64 {
        match self {
            // A damaged record is not passed over: the store is not opened.
            Self::Embedded(_) => 0,
            #[cfg(feature = "etcd")]
            Self::Etcd(replica) => replica.unreadable(),
        }
    }

    /// What was asked for and is not answered yet.
    pub(crate) fn waiting_kib(&self) -> usize {
        match self {
            Self::Embedded(committer) => committer.waiting_kib(),
            // Its transactions wait in etcd.
            #[cfg(feature = "etcd")]
            Self::Etcd(_) => 0,
        }
    }

    pub(crate) fn close(&self) {
        match self {
            Self::Embedded(committer) => committer.close(),
            #[cfg(feature = "etcd")]
            Self::Etcd(replica) => replica.close(),
        }
    }
}
