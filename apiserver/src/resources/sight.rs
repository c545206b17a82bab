//! A workspace at one revision, as those see it who decide on a write; and what is written beside an object.

use super::counts::Count;
use super::create::stamp;
use super::write::mark_of;
use super::{Resources, parse, write};
use crate::admission::{Look, Tally, is_wide};
use crate::allocate::Beside;
use crate::attend::{Added, Around};
use crate::auth::{Attributes, Decision, User};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::keyspace;
use crate::object::{Object, draft};
use crate::place::{Collection, ObjectRef, Workspace};
use bytes::Bytes;
use openapi::FieldError;
use openapi::scalar::time::Instant;
use serde_json::Value;
use std::collections::HashSet;
use std::sync::Arc;
use storage::{Expect, Revision, Snapshot, Txn};

pub(super) struct Sight<'a> {
    resources: &'a Resources,
    snapshot: Snapshot,
    workspace: &'a Workspace,
}

impl Resources {
    pub(super) fn sight<'a>(&'a self, workspace: &'a Workspace) -> Sight<'a> {
        self.sight_at(workspace, self.inner.store.recent())
    }

    /// The same for parts of the server that decide by themselves.
    pub(crate) fn around<'a>(&'a self, workspace: &'a Workspace) -> impl Around + 'a {
        self.sight(workspace)
    }

    pub(super) fn sight_at<'a>(&'a self, workspace: &'a Workspace, snapshot: Snapshot) -> Sight<'a> {
        Sight { resources: self, snapshot, workspace }
    }
}

impl Sight<'_> {
    fn collection(&self, resource: (&str, &str), namespace: &str) -> Option<Collection> {
        let resource = self.resources.stored_as(self.workspace, resource)?;
        let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(str::to_owned);
        Some(Collection { resource, workspace: self.workspace.clone(), namespace })
    }

    fn object(&self, resource: (&str, &str), namespace: &str, name: &str) -> Result<ObjectRef, ApiError> {
        let collection = self.collection(resource, namespace).ok_or_else(ApiError::no_such_path)?;
        Ok(collection.object(name))
    }

    /// An object that is made by nobody in particular.
    fn completed(&self, at: &ObjectRef, mut object: Object) -> Object {
        let resource = at.resource();
        object.map_mut().insert("apiVersion".to_owned(), resource.api_version().into());
        object.map_mut().insert("kind".to_owned(), resource.kind.as_str().into());
        object.set_metadata("name", at.name.as_str());
        stamp(&mut object, &at.within, &self.resources.inner.ambient);
        write::settle(resource, &mut object);
        object
    }

    /// Adds to a transaction what has to be true and happen together with it.
    pub(super) fn join(&self, mut txn: Txn, beside: Vec<Beside>) -> Result<Txn, ApiError> {
        const ADDRESSES: (&str, &str) = ("networking.k8s.io", "ipaddresses");
        let mut touched = HashSet::new();
        for item in beside {
            txn = match item {
                Beside::MakeAddress(object) => {
                    let key = keyspace::key(&self.object(ADDRESSES, "", object.name())?)?;
                    txn.expect(key.clone(), Expect::Absent).put(key, draft(object))
                }
                Beside::DropAddress(name) => txn.delete(keyspace::key(&self.object(ADDRESSES, "", &name)?)?),
                Beside::TakePort(port) => {
                    let key = keyspace::port(self.workspace, port)?;
                    txn.expect(key.clone(), Expect::Absent).put(key, "{}")
                }
                Beside::DropPort(port) => txn.delete(keyspace::port(self.workspace, port)?),
                Beside::Move(mark, seen) => {
                    let key = keyspace::mark(self.workspace, mark)?;
                    txn.expect(key.clone(), unmoved(seen)).put(key, "{}")
                }
                Beside::Make(at, object) => {
                    touched.extend(mark_of(at.resource()).map(|mark| (at.workspace().clone(), mark)));
                    let key = keyspace::key(&at)?;
                    txn.expect(key.clone(), Expect::Absent).put(key, draft(self.completed(&at, object)))
                }
                Beside::Touch(mark) => txn.put(keyspace::mark(self.workspace, mark)?, "{}"),
                Beside::Unmoved(mark, seen) => txn.expect(keyspace::mark(self.workspace, mark)?, unmoved(seen)),
                Beside::UnmovedIn(workspace, mark, seen) => {
                    txn.expect(keyspace::mark(&workspace, mark)?, unmoved(seen))
                }
                Beside::Replace(at, object) => {
                    let key = keyspace::key(&at)?;
                    let seen = Revision(object.resource_version().parse().unwrap_or_default());
                    txn.expect(key.clone(), Expect::At(seen)).put(key, draft(object))
                }
                Beside::Unchanged(at, seen) => txn.expect(keyspace::key(&at)?, unmoved(seen)),
                Beside::Quota(quota) => {
                    let at = self.object(("", "resourcequotas"), quota.namespace(), quota.name())?;
                    let key = keyspace::key(&at)?;
                    let seen = Revision(quota.resource_version().parse().unwrap_or_default());
                    txn.expect(key.clone(), Expect::At(seen)).put(key, draft(quota))
                }
            };
        }
        for (workspace, mark) in touched {
            txn = txn.put(keyspace::mark(&workspace, mark)?, "{}");
        }
        Ok(txn)
    }
}

impl Around for Sight<'_> {
    fn resource(&self, group: &str, plural: &str) -> Option<Arc<ResourceDef>> {
        self.resources.builtin().stored_as(group, plural).cloned()
    }

    fn object(&self, at: &ObjectRef) -> Result<Option<Object>, ApiError> {
        let found = self.snapshot.get(keyspace::key(at)?.as_bytes())?;
        found.map(|version| parse(&version.value)).transpose()
    }

    fn bytes(&self, at: &ObjectRef) -> Result<Option<Bytes>, ApiError> {
        Ok(self.snapshot.get(keyspace::key(at)?.as_bytes())?.map(|version| version.value))
    }

    fn all(&self, at: &Collection) -> Result<Vec<Object>, ApiError> {
        let entries = self.snapshot.scan(keyspace::range(at)?);
        entries.map(|entry| parse(&entry?.version.value)).collect()
    }

    fn each(&self, at: &Collection, look: &mut dyn FnMut(&Workspace, &Bytes) -> bool) -> Result<(), ApiError> {
        for entry in self.snapshot.scan(keyspace::range(at)?) {
            let entry = entry?;
            let Some(parts) = keyspace::parse(&entry.key) else { continue };
            if !look(&Workspace::new(parts.workspace), &entry.version.value) {
                break;
            }
        }
        Ok(())
    }

    fn allows(&self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError> {
        self.resources.authorizer().allows(user, workspace, wanted)
    }

    fn grants(&self, user: &User, workspace: &Workspace, wanted: &Attributes<'_>) -> Result<bool, ApiError> {
        self.resources.authorizer().grants(user, workspace, wanted)
    }

    fn added(&self, workspace: &Workspace) -> Result<(Vec<Beside>, Vec<Added>), ApiError> {
        self.resources.added(workspace)
    }

    fn judged(&self, resource: (&str, &str), object: Value) -> Result<Object, Vec<FieldError>> {
        let refused = |why: String| vec![FieldError::invalid("", Value::Null, &why)];
        let resource =
            Around::resource(self, resource.0, resource.1).ok_or_else(|| refused("not served".to_owned()))?;
        let mut object = Object::try_from(object).map_err(|error| refused(error.to_string()))?;
        write::complete(&resource, &mut object);
        let errors = write::errors_of_new(&resource, &mut object);
        if errors.is_empty() { Ok(object) } else { Err(errors) }
    }
}

fn unmoved(seen: Revision) -> Expect {
    if seen == Revision::ZERO { Expect::Absent } else { Expect::At(seen) }
}

impl Look for Sight<'_> {
    fn one(&self, resource: (&str, &str), namespace: &str, name: &str) -> Result<Option<Object>, ApiError> {
        // A name that cannot be one is nobody's.
        let Ok(key) = keyspace::key(&self.object(resource, namespace, name)?) else { return Ok(None) };
        match self.snapshot.get(key.as_bytes())? {
            Some(version) => parse(&version.value).map(Some),
            None => Ok(None),
        }
    }

    fn all(&self, resource: (&str, &str), namespace: &str) -> Result<Vec<Object>, ApiError> {
        let Some(collection) = self.collection(resource, namespace) else { return Ok(Vec::new()) };
        let entries = self.snapshot.scan(keyspace::range(&collection)?);
        entries.map(|entry| parse(&entry?.version.value)).collect()
    }

    fn used(&self, quota: &Object, resource: &ResourceDef, now: Instant) -> Result<Tally, ApiError> {
        let place = (&*resource.group, &*resource.plural);
        let namespace = if is_wide(quota) { "" } else { quota.namespace() };
        let collection = self.collection(place, namespace).ok_or_else(ApiError::no_such_path)?;
        let count = Count { quota, resource, range: keyspace::range(&collection)?, now };
        self.resources.inner.counts.used(&self.resources.inner.store, &self.snapshot, &count)
    }

    fn resource_of(&self, api_version: &str, kind: &str) -> Option<Arc<ResourceDef>> {
        let builtin = self.resources.builtin().of_kind(api_version, kind).cloned();
        builtin.or_else(|| self.resources.catalog(self.workspace).ok()?.of_kind(api_version, kind).cloned())
    }

    fn decide(&self, user: &User, wanted: &Attributes<'_>) -> Result<Decision, ApiError> {
        self.resources.authorizer().decide(user, self.workspace, wanted)
    }

    fn is_port_taken(&self, port: u16) -> Result<bool, ApiError> {
        Ok(self.snapshot.get(keyspace::port(self.workspace, port)?.as_bytes())?.is_some())
    }
}
