//! Records: objects in which parts of the server write down what they did. There are very many of them, nobody else writes
//! them, and whoever does knows their form: nobody is asked, and nothing is completed or checked.

use super::Resources;
use super::create::stamp;
use super::write::mark_of;
use crate::auth::Authorized;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::{Object, stored};
use crate::place::ObjectRef;
use storage::{CommitError, Expect, Revision, Txn};

impl Resources {
    /// Makes a record. `None` if there is one of that name.
    pub(crate) async fn enter(&self, at: &Authorized<ObjectRef>, record: Object) -> Result<Option<Object>, ApiError> {
        self.entered(Txn::new(), at.get(), record).await
    }

    /// The same, and in one with it an object that is held from now on, as it was read in all else. `None` also if that is
    /// another by now. The object must be of a kind that [is plain](Self::is_plain).
    pub(crate) async fn enter_holding(
        &self,
        at: &Authorized<ObjectRef>,
        record: Object,
        (held_at, mut held): (&Authorized<ObjectRef>, Object),
    ) -> Result<Option<Object>, ApiError> {
        let read = held.resource_version().parse().map(Revision).unwrap_or_default();
        let txn = Txn::replace(keyspace::key(held_at.get())?, read, stored::draft_of(&mut held));
        self.entered(txn, at.get(), record).await
    }

    /// Whether its objects are stored as they are read, and nothing is made of them that depends on when they were written.
    pub fn is_plain(resource: &ResourceDef) -> bool {
        resource.custom().is_none() && mark_of(resource).is_none()
    }

    async fn entered(&self, with: Txn, at: &ObjectRef, mut record: Object) -> Result<Option<Object>, ApiError> {
        let key = keyspace::key(at)?;
        record.map_mut().insert("apiVersion".to_owned(), at.resource().api_version().into());
        record.map_mut().insert("kind".to_owned(), at.resource().kind.as_str().into());
        record.set_metadata("name", at.name.as_str());
        stamp(&mut record, &at.within, self.ambient());
        let txn = with.expect(key.clone(), Expect::Absent).put(key, stored::draft_of(&mut record));
        match self.store().commit(txn).await {
            Err(CommitError::Conflict { .. }) => Ok(None),
            committed => Ok(Some(as_of(record, committed?.revision))),
        }
    }

    /// Writes a record in place of the one that it was read from.
    pub(crate) async fn rewrite(&self, at: &Authorized<ObjectRef>, mut record: Object) -> Result<Object, ApiError> {
        let (at, key) = (at.get(), keyspace::key(at.get())?);
        let read = record.resource_version().parse().map(Revision).unwrap_or_default();
        let txn = Txn::replace(key, read, stored::draft_of(&mut record));
        match self.store().commit(txn).await {
            Err(CommitError::Conflict { .. }) => Err(ApiError::modified(at)),
            committed => Ok(as_of(record, committed?.revision)),
        }
    }
}

fn as_of(mut record: Object, revision: Revision) -> Object {
    record.set_metadata("resourceVersion", revision.to_string());
    record
}
