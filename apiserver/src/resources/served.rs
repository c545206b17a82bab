//! What a workspace serves: what is built in, and what is added by its definitions and by those that are shared with it or
//! lent to it.

use super::derived::Derived;
use super::lent::Lent;
use super::shared::Sharing;
use super::{Resources, parse};
use crate::allocate::Beside;
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
use std::sync::{Arc, OnceLock};
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
    /// The definitions as others have them to whom it lends them, once one of those was asked for.
    lent: OnceLock<Arc<Lent>>,
}

impl Served {
    fn added(&self) -> impl Iterator<Item = Added> {
        let own = self.definitions.iter().flat_map(|(name, known)| by(By::Definition(name.clone()), &known.resources));
        own.chain(self.shared.iter().flat_map(|(name, resources)| by(By::Sharing(name.clone()), resources)))
    }
}

fn by(by: By, resources: &Defined) -> Vec<Added> {
    resources.iter().map(|resource| Added { by: by.clone(), resource: resource.clone() }).collect()
}

/// What a workspace serves that not every workspace does.
struct Offer {
    /// Zero where it never had anything of its own.
    marked: Revision,
    own: Option<Arc<Served>>,
    /// Who lends it what it defines, and what that is.
    lender: Option<Workspace>,
    lent: Option<Arc<Lent>>,
}

impl Offer {
    fn catalog(&self) -> Option<&Arc<Catalog>> {
        let own = self.own.as_ref().map(|own| &own.catalog);
        own.or_else(|| self.lent.as_ref().map(|lent| &lent.catalog))
    }

    /// The mark of whoever lends something; zero where nobody ever did.
    fn lent_since(&self) -> Revision {
        self.lent.as_ref().map_or(Revision::ZERO, |lent| lent.marked)
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
        Ok(self.served(workspace)?.catalog().unwrap_or_else(|| self.builtin()).clone())
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

    fn served(&self, workspace: &Workspace) -> Result<Offer, ApiError> {
        // First: what is lent has to give way to what the workspace had before, and never the other way around.
        let lender = self.lender(workspace)?;
        let lent = lender.as_ref().map(|lender| self.lent(lender)).transpose()?.flatten();
        let mut offer = Offer { marked: Revision::ZERO, own: None, lender, lent };
        let made = self.inner.catalogs.derived.get_with(self, workspace, offer.lent_since(), |snapshot, before| {
            self.read((workspace, snapshot), before.map(|before| &before.definitions), offer.lent.as_deref())
        })?;
        (offer.marked, offer.own) = (made.marked, made.made);
        Ok(offer)
    }

    /// The workspace whose definitions a workspace serves like its own, if there is one.
    pub(crate) fn lender(&self, workspace: &Workspace) -> Result<Option<Workspace>, ApiError> {
        if workspace.is_everywhere() || workspace.is_nowhere() {
            return Ok(None);
        }
        self.inner.attendant.lender(workspace, &self.sight(workspace))
    }

    /// What a workspace serves that lends what it defines, as those have it to whom it does.
    pub(crate) fn lent_catalog(&self, by: &Workspace) -> Result<Arc<Catalog>, ApiError> {
        Ok(self.lent(by)?.map_or_else(|| self.builtin().clone(), |lent| lent.catalog.clone()))
    }

    /// What a workspace lends to others; nothing where it never defined anything.
    fn lent(&self, by: &Workspace) -> Result<Option<Arc<Lent>>, ApiError> {
        let Offer { marked, own, .. } = self.served(by)?;
        let base = &self.inner.catalogs.base;
        Ok(own.map(|own| {
            let made = || {
                let definitions = own.definitions.iter().map(|(name, known)| (name.clone(), known.resources.clone()));
                Arc::new(Lent::new((by, marked), base, definitions))
            };
            own.lent.get_or_init(made).clone()
        }))
    }

    fn read(
        &self,
        (workspace, snapshot): (&Workspace, &Snapshot),
        before: Option<&HashMap<String, Known>>,
        lent: Option<&Lent>,
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
        let catalog = sharing.catalog(base, own.collect(), &shared, lent);
        let shared = shared.into_iter().map(|shared| (shared.by, shared.resources)).collect();
        Ok(Served { catalog, definitions, shared, lent: OnceLock::new() })
    }

    /// What a workspace serves besides what every workspace does; and what has to be so, and to move, when something is
    /// added to that. So nothing is added whose name is lent already.
    pub(super) fn added(&self, workspace: &Workspace) -> Result<(Vec<Beside>, Vec<Added>), ApiError> {
        let offer = self.served(workspace)?;
        let mut added: Vec<Added> = offer.own.iter().flat_map(|own| own.added()).collect();
        let own: Vec<Arc<ResourceDef>> = added.iter().map(|added| added.resource.clone()).collect();
        let lent = offer.lent.iter().flat_map(|lent| lent.left_by(&own));
        added.extend(lent.flat_map(|(name, lent)| by(By::Lending(name.clone()), lent)));
        let since = offer.lent_since();
        let lender = offer.lender.map(|lender| Beside::UnmovedIn(lender, Mark::Definitions, since));
        Ok(([Beside::Move(Mark::Definitions, offer.marked)].into_iter().chain(lender).collect(), added))
    }

    pub(crate) fn served_since(&self, workspace: &Workspace) -> Result<Revision, ApiError> {
        let offer = self.served(workspace)?;
        Ok(offer.marked.max(offer.lent_since()))
    }

    /// The resources of a definition that is kept elsewhere.
    pub(crate) fn described(&self, from: &Elsewhere, definition: &Object) -> Defined {
        let Catalogs { interned, sharing, .. } = &self.inner.catalogs;
        sharing.described(from, interned, definition)
    }

    /// The mark as of which a resource is shared with a workspace as it was when the request came in.
    pub(super) fn still_shared(&self, at: &Collection) -> Result<Revision, ApiError> {
        let ResourceDef { group, version, plural, .. } = &*at.resource;
        let offer = self.served(&at.workspace)?;
        let now = offer.catalog().and_then(|catalog| catalog.find(group, version, plural)?.custom());
        let same = |now: &Arc<Custom>| at.resource.custom().is_some_and(|was| now.definition.is_same(&was.definition));
        match now {
            None => Err(ApiError::no_such_path()),
            Some(now) if same(now) => Ok(offer.marked),
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

    /// The names that the definitions of a group have, but for one; and what has to be so for another to be added.
    pub(super) fn names_in(
        &self,
        workspace: &Workspace,
        group: &str,
        except: &str,
    ) -> Result<(Vec<Beside>, NamesInUse), ApiError> {
        let (beside, added) = self.added(workspace)?;
        let mut used = NamesInUse::default();
        let others = added.iter().filter(|added| added.by != By::Definition(except.to_owned()));
        let resources = others.map(|added| &*added.resource).filter(|found| found.group == group);
        for ResourceDef { plural, singular, short_names, kind, list_kind, .. } in resources {
            used.resources.extend([plural, singular].into_iter().chain(short_names).cloned());
            used.kinds.extend([kind, list_kind].into_iter().cloned());
        }
        Ok((beside, used))
    }
}
