//! What a workspace serves: what is built in, and what is added by its definitions and by those that are shared with it.

use super::derived::Derived;
use super::shared::Sharing;
use super::{Resources, parse};
use crate::attend::{Added, By};
use crate::auth::Authorized;
use crate::catalog::{self, Catalog, Defined, Origin, ResourceDef};
use crate::custom::{Custom, Elsewhere, Interned};
use crate::error::ApiError;
use crate::keyspace::{self, Mark};
use crate::object::Object;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::strategy::definitions::NamesInUse;
use std::collections::HashMap;
use std::sync::Arc;
use storage::{Entry, Revision, Snapshot};

/// Catalogs that are kept: what they describe is shared, and they are slow to make.
const CATALOGS_MAX: usize = 10_000;

/// The catalogs of all workspaces that somebody asked for.
#[derive(Debug)]
pub(super) struct Catalogs {
    base: Arc<Catalog>,
    interned: Interned,
    sharing: Sharing,
    derived: Derived<Served>,
}

/// What a workspace serves because of its definitions.
#[derive(Debug)]
struct Served {
    catalog: Arc<Catalog>,
    /// By name, so that one that did not change is not read again.
    definitions: HashMap<String, Known>,
    /// What is shared with it, and by which object.
    shared: Vec<(String, Defined)>,
}

impl Served {
    fn added(&self) -> impl Iterator<Item = Added> {
        let of = |by: By, resources: &Defined| -> Vec<Added> {
            resources.iter().map(|resource| Added { by: by.clone(), resource: resource.clone() }).collect()
        };
        let own =
            self.definitions.iter().flat_map(move |(name, known)| of(By::Definition(name.clone()), &known.resources));
        own.chain(self.shared.iter().flat_map(move |(name, resources)| of(By::Sharing(name.clone()), resources)))
    }
}

#[derive(Clone, Debug)]
struct Known {
    origin: Origin,
    uid: String,
    generation: i64,
    resources: Defined,
}

impl Catalogs {
    pub(super) fn new(base: Arc<Catalog>) -> Self {
        let derived = Derived::new(Mark::Definitions, CATALOGS_MAX);
        Self { base, interned: Interned::default(), sharing: Sharing::default(), derived }
    }
}

impl Resources {
    /// What every workspace serves.
    pub fn builtin(&self) -> &Arc<Catalog> {
        &self.inner.catalogs.base
    }

    /// What a workspace serves.
    pub fn catalog(&self, workspace: &Workspace) -> Result<Arc<Catalog>, ApiError> {
        let made = self.served(workspace)?.1;
        Ok(made.map_or_else(|| self.builtin().clone(), |served| served.catalog.clone()))
    }

    /// The resource that a workspace keeps under this group and plural.
    pub(crate) fn stored_as(&self, workspace: &Workspace, (group, plural): (&str, &str)) -> Option<Arc<ResourceDef>> {
        let builtin = self.builtin().stored_as(group, plural).cloned();
        builtin.or_else(|| self.catalog(workspace).ok()?.stored_as(group, plural).cloned())
    }

    /// The resource as it is defined now, if that is not how it was when the request came in.
    pub(super) fn redefined(&self, at: &Collection) -> Result<Option<Arc<ResourceDef>>, ApiError> {
        let ResourceDef { group, version, plural, .. } = &*at.resource;
        let Some(custom) = at.resource.custom() else { return Ok(None) };
        let catalog = self.catalog(&at.workspace)?;
        let now = catalog.find(group, version, plural).ok_or_else(ApiError::no_such_path)?;
        let changed = now.custom().is_some_and(|now| !now.definition.is_same(&custom.definition));
        Ok(changed.then(|| now.clone()))
    }

    /// The same for whoever was told that others were faster: where to try again, if it was the definition that moved.
    pub(super) fn redefined_since<T>(
        &self,
        at: &Authorized<ObjectRef>,
        tried: &Result<T, ApiError>,
    ) -> Result<Option<Authorized<ObjectRef>>, ApiError> {
        if tried.as_ref().err().is_none_or(|error| error.reason() != "Conflict") {
            return Ok(None);
        }
        let now = self.redefined(&at.get().within)?;
        Ok(now.map(|resource| at.clone().narrow(|at| Collection { resource, ..at.within }.object(&at.name))))
    }

    fn served(&self, workspace: &Workspace) -> Result<(Revision, Option<Arc<Served>>), ApiError> {
        let made = self.inner.catalogs.derived.get(self, workspace, |snapshot, before| {
            self.read(workspace, snapshot, before.map(|before| &before.definitions))
        })?;
        Ok((made.marked, made.made))
    }

    fn read(
        &self,
        workspace: &Workspace,
        snapshot: &Snapshot,
        before: Option<&HashMap<String, Known>>,
    ) -> Result<Served, ApiError> {
        let mut definitions = HashMap::new();
        for entry in snapshot.scan(keyspace::range(&self.definitions(workspace)?)?) {
            let (name, known) = self.known(&entry?, before)?;
            definitions.insert(name, known);
        }
        let shared = self.inner.attendant.shared(workspace, &self.sight_at(workspace, snapshot.clone()))?;
        let Catalogs { base, interned, sharing, .. } = &self.inner.catalogs;
        let read = |from: &Elsewhere| self.definition(&Workspace::new(&from.kept_in), &from.name);
        let shared = sharing.resources(shared, read, interned)?;
        let own = definitions.values().flat_map(|known| known.resources.iter().cloned());
        let catalog = sharing.catalog(base, own.collect(), &shared);
        let shared = shared.into_iter().map(|shared| (shared.by, shared.resources)).collect();
        Ok(Served { catalog, definitions, shared })
    }

    /// What a workspace serves besides what every workspace does, and as of which mark.
    pub(super) fn added(&self, workspace: &Workspace) -> Result<(Revision, Vec<Added>), ApiError> {
        let (marked, served) = self.served(workspace)?;
        Ok((marked, served.iter().flat_map(|served| served.added()).collect()))
    }

    pub(crate) fn served_since(&self, workspace: &Workspace) -> Result<Revision, ApiError> {
        Ok(self.served(workspace)?.0)
    }

    /// The resources of a definition that is kept elsewhere.
    pub(crate) fn described(&self, from: &Elsewhere, definition: &Object) -> Defined {
        let Catalogs { interned, sharing, .. } = &self.inner.catalogs;
        sharing.described(from, interned, definition)
    }

    /// The mark as of which a resource is shared with a workspace as it was when the request came in.
    pub(super) fn still_shared(&self, at: &Collection) -> Result<Revision, ApiError> {
        let ResourceDef { group, version, plural, .. } = &*at.resource;
        let (marked, served) = self.served(&at.workspace)?;
        let now = served.as_ref().and_then(|served| served.catalog.find(group, version, plural)?.custom());
        let same = |now: &Arc<Custom>| at.resource.custom().is_some_and(|was| now.definition.is_same(&was.definition));
        match now {
            None => Err(ApiError::no_such_path()),
            Some(now) if same(now) => Ok(marked),
            Some(_) => Err(ApiError::redefined()),
        }
    }

    fn known(&self, entry: &Entry, before: Option<&HashMap<String, Known>>) -> Result<(String, Known), ApiError> {
        let revision = entry.version.modified;
        // The key has it, too, and need not be searched for it.
        let name = keyspace::parse(&entry.key).map(|parts| parts.name.to_owned()).unwrap_or_default();
        let old = before.and_then(|before| before.get(&name));
        if let Some(old) = old.filter(|old| old.origin.revision == revision) {
            return Ok((name, old.clone()));
        }
        let definition = parse(&entry.version.value)?;
        let (uid, generation) = (definition.uid().to_owned(), definition.generation());
        let same = old.filter(|old| old.uid == uid && old.generation == generation);
        let origin = Origin { revision, since: same.map_or(revision, |old| old.origin.since) };
        let resources = catalog::defined(&definition, origin, &self.inner.catalogs.interned);
        Ok((name, Known { origin, uid, generation, resources }))
    }

    pub(super) fn definitions(&self, workspace: &Workspace) -> Result<Collection, ApiError> {
        let resource = self.builtin().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let resource = resource.ok_or_else(ApiError::no_such_path)?.clone();
        Ok(Collection { resource, workspace: workspace.clone(), namespace: None })
    }

    /// A definition as it is stored: what is served keeps only what it needs of it.
    pub(crate) fn definition(&self, workspace: &Workspace, name: &str) -> Result<Option<Object>, ApiError> {
        Ok(self.find(&self.definitions(workspace)?.object(name))?.map(|found| found.object))
    }

    /// The names that the definitions of a group have, but for one; and as of which mark.
    pub(super) fn names_in(
        &self,
        workspace: &Workspace,
        group: &str,
        except: &str,
    ) -> Result<(Revision, NamesInUse), ApiError> {
        let (marked, added) = self.added(workspace)?;
        let mut used = NamesInUse::default();
        let others = added.iter().filter(|added| added.by != By::Definition(except.to_owned()));
        let resources = others.map(|added| &*added.resource).filter(|found| found.group == group);
        for ResourceDef { plural, singular, short_names, kind, list_kind, .. } in resources {
            used.resources.extend([plural, singular].into_iter().chain(short_names).cloned());
            used.kinds.extend([kind, list_kind].into_iter().cloned());
        }
        Ok((marked, used))
    }
}
