//! What a workspace serves: read from its definitions, and read anew when one of them changes.
//!
//! Every write of a definition also writes the workspace's mark. Whoever asks what is served compares one revision; a
//! workspace that defines nothing has no mark, and costs nothing.

use super::{Resources, parse};
use crate::catalog::{self, Catalog, Defined, Origin, ResourceDef};
use crate::custom::Interned;
use crate::error::ApiError;
use crate::keyspace::{self, Mark};
use crate::object::{Object, Peek};
use crate::place::{Collection, Workspace};
use crate::strategy::definitions::NamesInUse;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use storage::{Entry, Revision, Snapshot};

/// Workspaces whose catalogs are kept ready. Others are read when they are asked for.
const KEPT_MAX: usize = 10_000;

/// The catalogs of all workspaces that somebody asked for.
#[derive(Debug)]
pub(super) struct Catalogs {
    base: Arc<Catalog>,
    interned: Interned,
    /// Nothing else is locked, and nothing is read, while this is held.
    kept: Mutex<HashMap<Workspace, Served>>,
}

/// What a workspace serves, as of its mark.
#[derive(Clone, Debug)]
pub(super) struct Served {
    /// Zero where nothing was ever defined.
    pub(super) marked: Revision,
    pub(super) catalog: Arc<Catalog>,
    /// By name, so that one that did not change is not read again.
    definitions: Arc<HashMap<String, Known>>,
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
        Self { base, interned: Interned::default(), kept: Mutex::default() }
    }

    fn keep(&self, workspace: &Workspace, served: &Served) {
        let mut kept = self.kept.lock();
        if kept.len() >= KEPT_MAX && !kept.contains_key(workspace) {
            // Any will do: it is read again when it is asked for.
            if let Some(other) = kept.keys().next().cloned() {
                kept.remove(&other);
            }
        }
        let newer = kept.get(workspace).is_some_and(|known| known.marked > served.marked);
        if !newer {
            kept.insert(workspace.clone(), served.clone());
        }
    }
}

impl Resources {
    /// What every workspace serves.
    pub fn builtin(&self) -> &Arc<Catalog> {
        &self.inner.catalogs.base
    }

    /// What a workspace serves.
    pub fn catalog(&self, workspace: &Workspace) -> Result<Arc<Catalog>, ApiError> {
        Ok(self.served(workspace)?.catalog)
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
        let changed = now.custom().is_some_and(|now| now.revision != custom.revision);
        Ok(changed.then(|| now.clone()))
    }

    pub(super) fn served(&self, workspace: &Workspace) -> Result<Served, ApiError> {
        let (catalogs, snapshot) = (&self.inner.catalogs, self.inner.store.recent());
        let mark = keyspace::mark(workspace, Mark::Definitions)?;
        let Some(marked) = snapshot.get(mark.as_bytes())?.map(|version| version.modified) else {
            let catalog = catalogs.base.clone();
            return Ok(Served { marked: Revision::ZERO, catalog, definitions: Arc::default() });
        };
        let known = catalogs.kept.lock().get(workspace).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.marked == marked) {
            return Ok(known.clone());
        }
        let before = known.map(|known| known.definitions).unwrap_or_default();
        let served = self.read(workspace, &snapshot, marked, &before)?;
        catalogs.keep(workspace, &served);
        Ok(served)
    }

    fn read(
        &self,
        workspace: &Workspace,
        snapshot: &Snapshot,
        marked: Revision,
        before: &HashMap<String, Known>,
    ) -> Result<Served, ApiError> {
        let catalogs = &self.inner.catalogs;
        let mut definitions = HashMap::new();
        for entry in snapshot.scan(keyspace::range(&self.definitions(workspace)?)?) {
            let (name, known) = self.known(&entry?, before)?;
            definitions.insert(name, known);
        }
        let resources = definitions.values().flat_map(|known| known.resources.iter().cloned());
        let catalog = Arc::new(Catalog::with(&catalogs.base, resources));
        Ok(Served { marked, catalog, definitions: Arc::new(definitions) })
    }

    pub(super) fn definitions(&self, workspace: &Workspace) -> Result<Collection, ApiError> {
        let resource = self.builtin().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        let resource = resource.ok_or_else(ApiError::no_such_path)?.clone();
        Ok(Collection { resource, workspace: workspace.clone(), namespace: None })
    }

    fn known(&self, entry: &Entry, before: &HashMap<String, Known>) -> Result<(String, Known), ApiError> {
        let (peek, revision) = (Peek::new(&entry.version), entry.version.modified);
        let name = peek.text(&["metadata", "name"]).unwrap_or_default().into_owned();
        let old = before.get(&name);
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

    /// A definition as it is stored: what is served keeps only what it needs of it.
    pub(crate) fn definition(&self, workspace: &Workspace, name: &str) -> Result<Option<Object>, ApiError> {
        Ok(self.find(&self.definitions(workspace)?.object(name))?.map(|found| found.object))
    }
}

impl Served {
    /// The names that other definitions of a group have.
    pub(super) fn names_in(&self, group: &str, except: &str) -> NamesInUse {
        let others = self.definitions.iter().filter(|(name, _)| *name != except);
        let resources = others.flat_map(|(_, known)| known.resources.iter()).filter(|found| found.group == group);
        let mut used = NamesInUse::default();
        for ResourceDef { plural, singular, short_names, kind, list_kind, .. } in resources.map(AsRef::as_ref) {
            used.resources.extend([plural, singular].into_iter().chain(short_names).cloned());
            used.kinds.extend([kind, list_kind].into_iter().cloned());
        }
        used
    }
}
