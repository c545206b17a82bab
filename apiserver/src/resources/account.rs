//! A namespace gets its default account a moment after it was made; whoever makes a pod there first waits for it.

use super::Resources;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::Object;
use crate::place::Collection;
use std::time::Duration;
use storage::{Key, KeyRange};

/// Kubernetes asks ten times, for one or two seconds. The account is made within milliseconds, or by nobody.
const WAIT_MAX: Duration = Duration::from_secs(1);
const DEFAULT: &str = "default";

impl Resources {
    /// Returns when the account is there, or when there is no point in waiting for it any longer.
    pub(super) async fn await_account(&self, at: &Collection, pod: &Object) -> Result<(), ApiError> {
        let Some(key) = self.account_of(at, pod)? else { return Ok(()) };
        let store = &self.inner.store;
        let before = store.recent();
        if before.get(key.as_bytes())?.is_some() {
            return Ok(());
        }
        let mut watcher = store.watch(KeyRange::prefix(key.as_bytes()), before.revision())?;
        let made = async {
            while store.recent().get(key.as_bytes())?.is_none() {
                watcher.next().await?;
            }
            Ok(())
        };
        tokio::time::timeout(WAIT_MAX, made).await.unwrap_or(Ok(()))
    }

    /// The key of the default account, if that is what a new pod uses.
    fn account_of(&self, at: &Collection, pod: &Object) -> Result<Option<Key>, ApiError> {
        let is_pod = at.resource.group.is_empty() && at.resource.plural == "pods";
        if !is_pod || !matches!(pod.text(&["spec", "serviceAccountName"]), "" | DEFAULT) {
            return Ok(None);
        }
        let Some(accounts) = self.builtin().find("", "v1", "serviceaccounts") else { return Ok(None) };
        let place = Collection { resource: accounts.clone(), ..at.clone() };
        if self.namespace_of(at, pod.name())?.is_none() {
            return Ok(None);
        }
        Ok(Some(keyspace::key(&place.object(DEFAULT))?))
    }
}
