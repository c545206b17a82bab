//! Reading one object.

use super::Resources;
use crate::auth::Authorized;
use crate::error::ApiError;
use crate::keyspace;
use crate::place::ObjectRef;
use crate::view::View;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;
use storage::{Revision, Snapshot};

/// How long a reader that has seen a newer revision elsewhere is kept waiting for it here.
const CATCH_UP_MAX: Duration = Duration::from_secs(3);

impl Resources {
    /// The object, at least as new as `revision`; without one, as new as any that anybody was told of.
    pub async fn get(&self, at: &Authorized<ObjectRef>, revision: Option<u64>) -> Result<Bytes, ApiError> {
        let at = at.get();
        let snapshot = self.at_least(revision).await?;
        if let Some(computing) = self.computing(at.resource()) {
            return computing.get(at, &snapshot);
        }
        let found = snapshot.get(keyspace::key(at)?.as_bytes())?;
        let version = found.ok_or_else(|| ApiError::not_found(at.resource(), &at.name))?;
        self.shown(&at.within, version).await
    }

    /// Refuses an object that is there, but not to be seen, as if there were none.
    pub(crate) fn must_be_seen(&self, at: &ObjectRef, view: &Arc<dyn View>) -> Result<(), ApiError> {
        let key = keyspace::key(at)?;
        match self.inner.store.recent().get(key.as_bytes())? {
            Some(version) if !view.sees(&key, &version.value) => Err(ApiError::not_found(at.resource(), &at.name)),
            _ => Ok(()),
        }
    }

    pub(super) async fn at_least(&self, revision: Option<u64>) -> Result<Snapshot, ApiError> {
        match revision {
            None => Ok(self.inner.store.snapshot().await?),
            Some(0) => Ok(self.inner.store.recent()),
            Some(revision) => {
                self.reach(Revision(revision)).await?;
                Ok(self.inner.store.recent())
            }
        }
    }

    /// Waits until this server knows of a revision.
    pub(super) async fn reach(&self, revision: Revision) -> Result<(), ApiError> {
        let store = &self.inner.store;
        match tokio::time::timeout(CATCH_UP_MAX, store.reached(revision)).await {
            Ok(reached) => Ok(reached?),
            Err(_) => Err(ApiError::revision_too_large(revision, store.recent().revision())),
        }
    }
}
