//! The one loop that reads an object, decides what it should become, and commits that if nobody was faster.

use super::versions::{check_readable, is_kept_in_another};
use super::write::How;
use super::{Found, Resources, parse};
use crate::allocate::Beside;
use crate::auth::Authorized;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::Object;
use crate::object::{draft, with_revision};
use crate::place::{Collection, ObjectRef};
use bytes::Bytes;
use storage::{CommitError, Revision, Txn, Version};

/// Tries before a writer is told that others are faster: far more than honest contention needs.
const ATTEMPTS: usize = 64;

/// What should become of an object.
#[derive(Debug)]
pub(super) enum Next {
    Same,
    Write(Object),
    /// It is written, and the rest with it.
    With(Object, Vec<Beside>),
    /// It goes, and this is the last anybody sees of it.
    Remove(Object),
}

/// What became of an object.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It is as it was.
    Same(Version),
    Written(Bytes),
    /// It is gone: what was left of it, at the revision it went, and as it was asked to be before that.
    Removed {
        last: Bytes,
        asked: Bytes,
    },
}

/// Something that should happen to an object, whatever it is like when it happens.
pub(super) trait Change: Sync {
    /// May be asked several times, and must depend on nothing but what the object is like.
    fn next(&self, old: &Object) -> impl Future<Output = Result<Next, ApiError>> + Send;
}

impl Resources {
    /// Applies `change` to the stored object until it commits or `change` refuses.
    pub(super) async fn mutate(
        &self,
        at: &ObjectRef,
        dry_run: bool,
        change: &impl Change,
    ) -> Result<Outcome, ApiError> {
        for _ in 0..ATTEMPTS {
            let found = self.find(at)?.ok_or_else(|| ApiError::not_found(at.resource(), &at.name))?;
            let found = self.lifted(&at.within, found).await?;
            let next = change.next(&found.object).await?;
            match self.settle(at, &found, next, dry_run).await {
                Err(Unsettled::Overtaken) => {}
                Err(Unsettled::Refused(error)) => return Err(error),
                Ok(outcome) => return Ok(outcome),
            }
        }
        Err(ApiError::modified(at))
    }

    async fn settle(&self, at: &ObjectRef, found: &Found, next: Next, dry_run: bool) -> Result<Outcome, Unsettled> {
        let key = keyspace::key(at)?;
        let expected = found.version.modified;
        let (object, beside) = match next {
            // Nothing changes for anybody; but it is kept in a version that may go.
            Next::Same if is_kept_in_another(at.resource(), &found.version.value) => {
                (found.object.clone(), self.moved(at.resource(), at.workspace())?)
            }
            Next::Same => return Ok(Outcome::Same(found.version.clone())),
            Next::Remove(object) => return self.remove(at, object, expected, dry_run).await,
            Next::Write(object) => (object, self.moved(at.resource(), at.workspace())?),
            Next::With(object, beside) => (object, beside),
        };
        let object = self.lowered(&at.within, object).await?;
        check_readable(at.resource(), &object, || parse(&found.version.value).ok())?;
        let draft = draft(object);
        if dry_run {
            return Ok(Outcome::Written(draft.stamped(expected)));
        }
        let txn = self.sight(at.workspace()).join(Txn::replace(key, expected, draft.clone()), beside)?;
        let txn = self.under_definition(txn, &at.within)?;
        let committed = self.inner.store.commit(txn).await?;
        Ok(Outcome::Written(draft.stamped(committed.revision)))
    }

    async fn remove(
        &self,
        at: &ObjectRef,
        object: Object,
        expected: Revision,
        dry_run: bool,
    ) -> Result<Outcome, Unsettled> {
        let given = self.given_up(at, &object)?;
        let last = draft(self.lowered(&at.within, object).await?).stamped(expected);
        if dry_run {
            return Ok(Outcome::Removed { asked: last.clone(), last });
        }
        let txn = self.sight(at.workspace()).join(Txn::remove(keyspace::key(at)?, expected), given)?;
        let committed = self.inner.store.commit(txn).await?;
        Ok(Outcome::Removed { last: with_revision(&last, committed.revision), asked: last })
    }

    /// Makes an object that does not exist yet, in a namespace that exists and stays.
    pub(super) async fn insert(
        &self,
        at: &Authorized<Collection>,
        object: &Object,
        how: How<'_>,
    ) -> Result<Bytes, ApiError> {
        for _ in 0..ATTEMPTS {
            match self.try_insert(at, object, how).await {
                Err(Unsettled::Overtaken) => {}
                Err(Unsettled::Refused(error)) => return Err(error),
                Ok(bytes) => return Ok(bytes),
            }
        }
        Err(ApiError::modified(&at.get().object(object.name())))
    }

    async fn try_insert(&self, by: &Authorized<Collection>, object: &Object, how: How<'_>) -> Result<Bytes, Unsettled> {
        let place = by.get();
        let sight = self.sight(&place.workspace);
        let namespace = self.namespace_of(place, object.name())?;
        let (object, beside) = self.prepared(by, object.clone(), how, &sight).await?;
        let at = place.object(object.name());
        let key = keyspace::key(&at)?;
        if let Some(there) = self.inner.store.recent().get(key.as_bytes()).map_err(ApiError::from)? {
            return Err(refuse_another(&at, &there.value)?.into());
        }
        let object = self.lowered(place, object).await?;
        check_readable(&place.resource, &object, || None)?;
        let draft = draft(object);
        let mut txn = sight.join(Txn::create(key, draft.clone()), beside)?;
        txn = self.under_definition(txn, place)?;
        if let Some((namespace, revision)) = namespace {
            // The namespace is part of the condition: nothing can be made in one that is being emptied.
            txn = txn.expect(namespace, storage::Expect::At(revision));
        }
        if how.dry_run {
            return Ok(without_revision(draft.stamped(Revision::ZERO))?);
        }
        let committed = self.inner.store.commit(txn).await?;
        Ok(draft.stamped(committed.revision))
    }

    /// The key and revision of the namespace that an object is made in.
    pub(super) fn namespace_of(
        &self,
        at: &Collection,
        name: &str,
    ) -> Result<Option<(storage::Key, Revision)>, ApiError> {
        let Some(namespace) = at.namespace.as_deref() else { return Ok(None) };
        let namespaces = self.builtin().find("", "v1", "namespaces");
        let Some(resource) = namespaces else { return Ok(None) };
        let place = Collection { resource: resource.clone(), workspace: at.workspace.clone(), namespace: None };
        let key = keyspace::key(&place.object(namespace))?;
        let found = self.inner.store.recent().get(key.as_bytes())?;
        let version = found.ok_or_else(|| ApiError::not_found(resource, namespace))?;
        if parse(&version.value)?.is_deleting() {
            return Err(ApiError::namespace_terminating(&at.resource, name, namespace));
        }
        Ok(Some((key, version.modified)))
    }
}

/// There is one of this name; it may be on its way out.
fn refuse_another(at: &ObjectRef, there: &[u8]) -> Result<ApiError, ApiError> {
    let refusal = ApiError::already_exists(at.resource(), &at.name);
    Ok(if parse(there)?.is_deleting() { refusal.while_deleted() } else { refusal })
}

/// An object that was not stored has no revision.
fn without_revision(bytes: Bytes) -> Result<Bytes, ApiError> {
    let mut object = parse(&bytes)?;
    object.remove_metadata("resourceVersion");
    Ok(serde_json::Value::from(object).to_string().into())
}

/// Why a try did not succeed.
enum Unsettled {
    /// Somebody else was faster; look again.
    Overtaken,
    Refused(ApiError),
}

impl From<ApiError> for Unsettled {
    fn from(error: ApiError) -> Self {
        Self::Refused(error)
    }
}

impl From<keyspace::Unnameable> for Unsettled {
    fn from(error: keyspace::Unnameable) -> Self {
        Self::Refused(error.into())
    }
}

impl From<CommitError> for Unsettled {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Conflict { .. } => Self::Overtaken,
            other => Self::Refused(other.into()),
        }
    }
}
