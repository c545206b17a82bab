//! What is served: every resource, described.

mod builtin;
mod custom;
mod def;
mod order;

pub use custom::{COMPUTED, DEFINES, Origin, PASSAGE, WRITTEN_AS};
pub(crate) use def::ANY_IDENTITY;
pub use def::{Collecting, ResourceDef, Schema, Stored, SubresourceDef, Traits};
pub(crate) use order::{group_priority, versions as version_order};

use crate::custom::{Converter, Elsewhere, Interned};
use crate::object::Object;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every resource that is served, as one immutable value: what every API server has, and what a workspace adds to it.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// In the order of discovery.
    groups: Vec<Arc<Group>>,
    by_name: BTreeMap<(String, String, String), Arc<ResourceDef>>,
    below: Option<Arc<Catalog>>,
}

/// An API group with its versions, the preferred one first.
#[derive(Clone, Debug)]
pub struct Group {
    pub name: String,
    pub versions: Vec<Version>,
}

#[derive(Clone, Debug)]
pub struct Version {
    pub name: String,
    pub resources: Vec<Arc<ResourceDef>>,
}

/// The resources that a definition describes.
pub type Defined = Arc<[Arc<ResourceDef>]>;

/// What is served because of a definition: nothing, if its names are not accepted.
pub fn defined(definition: &Object, origin: Origin, interned: &Interned) -> Defined {
    custom::resources(definition, origin, interned).into()
}

/// What is served because of a definition that is kept elsewhere.
pub fn shared(definition: &Object, from: &Arc<Elsewhere>, interned: &Interned) -> Defined {
    custom::shared(definition, from, interned).into()
}

impl Catalog {
    /// The same with what definitions say that come with the server. They have to be valid, and to name everything.
    pub fn given(below: &Arc<Self>, definitions: impl IntoIterator<Item = Object>) -> Self {
        Self::given_in_versions(below, definitions.into_iter().map(|definition| (definition, None)))
    }

    /// The same with what gets their objects from one version to another, where that takes more than a name.
    pub fn given_in_versions(
        below: &Arc<Self>,
        definitions: impl IntoIterator<Item = (Object, Option<Converter>)>,
    ) -> Self {
        let interned = Interned::default();
        let resources = definitions
            .into_iter()
            .flat_map(|(definition, converter)| custom::given(&Arc::new(definition), converter, &interned));
        Self::with(below, resources)
    }

    /// These resources, and nothing else.
    pub fn of(resources: impl IntoIterator<Item = Arc<ResourceDef>>) -> Self {
        Self::new(resources, None)
    }

    /// The kinds that every API server has.
    pub fn builtin() -> Self {
        Self::new(builtin::resources().into_iter().map(Arc::new), None)
    }

    /// The same with resources added to it. Where both describe a resource, it stays as it was.
    pub fn with(below: &Arc<Self>, resources: impl IntoIterator<Item = Arc<ResourceDef>>) -> Self {
        let new = resources.into_iter().filter(|new| below.find(&new.group, &new.version, &new.plural).is_none());
        Self::new(new, Some(below))
    }

    fn new(resources: impl IntoIterator<Item = Arc<ResourceDef>>, below: Option<&Arc<Self>>) -> Self {
        let mut groups = below.map(|below| below.groups.clone()).unwrap_or_default();
        let mut by_name = BTreeMap::new();
        for resource in resources {
            let name = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
            by_name.insert(name, resource.clone());
            if resource.is_served() {
                file(&mut groups, resource);
            }
        }
        groups.sort_by(|a, b| order::groups(&a.name, &b.name));
        Self { groups, by_name, below: below.cloned() }
    }

    /// What is served of these groups, and nothing else.
    #[must_use]
    pub fn only(&self, groups: &[String]) -> Self {
        let kept = self.groups.iter().filter(|group| groups.contains(&group.name));
        Self::new(kept.flat_map(|group| &group.versions).flat_map(|version| &version.resources).cloned(), None)
    }

    /// What is to be seen from somewhere, if that is less than all of it.
    pub(crate) fn within(&self, context: &str) -> Option<Self> {
        let is_seen = |resource: &ResourceDef| resource.custom().is_none_or(|custom| custom.is_seen_from(context));
        if self.by_name.values().all(|resource| is_seen(resource)) {
            return None;
        }
        let seen = self.by_name.values().filter(|resource| is_seen(resource)).cloned();
        Some(Self::new(seen, self.below.as_ref()))
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ResourceDef>> {
        let name = (group.to_owned(), version.to_owned(), plural.to_owned());
        let own = self.by_name.get(&name).filter(|resource| resource.is_served());
        own.or_else(|| self.below.as_ref()?.find(group, version, plural))
    }

    /// The resource of a kind, as owner references name it.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<ResourceDef>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.version(group, version)?.resources.iter().find(|resource| resource.kind == kind)
    }

    /// All groups, in the order of discovery; the core group is the one without a name.
    pub fn groups(&self) -> &[Arc<Group>] {
        &self.groups
    }

    pub fn group(&self, name: &str) -> Option<&Arc<Group>> {
        self.groups.iter().find(|group| group.name == name)
    }

    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.group(group)?.versions.iter().find(|found| found.name == version)
    }

    /// Every resource once, in the version that objects are stored in, whether that is served or not.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<ResourceDef>> {
        let layers = std::iter::successors(Some(self), |layer| layer.below.as_deref());
        layers.flat_map(|layer| layer.by_name.values()).filter(|resource| resource.is_storage_version())
    }

    /// The resource whose objects are kept under this name.
    pub fn stored_as(&self, group: &str, plural: &str) -> Option<&Arc<ResourceDef>> {
        self.stored().find(|resource| resource.stored.group == group && resource.stored.plural == plural)
    }

    /// The same resource in every version that is served.
    pub fn versions_of(&self, resource: &ResourceDef) -> Vec<Arc<ResourceDef>> {
        let Some(group) = self.group(&resource.group) else { return Vec::new() };
        let all = group.versions.iter().flat_map(|version| &version.resources);
        all.filter(|other| other.stored == resource.stored).cloned().collect()
    }

    /// What this was added to.
    pub fn below(&self) -> Option<&Arc<Self>> {
        self.below.as_ref()
    }

    /// What is served with nothing added to it.
    pub fn base(&self) -> &Self {
        self.below.as_deref().map_or(self, Self::base)
    }
}

/// Puts a resource among those of its group and version. Groups that nothing is added to stay shared.
fn file(groups: &mut Vec<Arc<Group>>, resource: Arc<ResourceDef>) {
    let group = entry(
        groups,
        |group| group.name == resource.group,
        || Arc::new(Group { name: resource.group.clone(), versions: Vec::new() }),
    );
    let group = Arc::make_mut(group);
    let version = entry(
        &mut group.versions,
        |version| version.name == resource.version,
        || Version { name: resource.version.clone(), resources: Vec::new() },
    );
    version.resources.push(resource);
    group.versions.sort_by(|a, b| order::versions(&a.name, &b.name));
}

fn entry<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let at = list.iter().position(is).unwrap_or_else(|| {
        list.push(new());
        list.len() - 1
    });
    &mut list[at]
}

impl Group {
    pub fn preferred(&self) -> Option<&Version> {
        self.versions.first()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_found_by_name_and_by_kind() {
        let catalog = Catalog::builtin();
        assert_eq!(catalog.find("apps", "v1", "deployments").unwrap().kind, "Deployment");
        assert_eq!(catalog.of_kind("apps/v1", "Deployment").unwrap().plural, "deployments");
        assert_eq!(catalog.of_kind("v1", "Pod").unwrap().plural, "pods");
        assert!(catalog.find("apps", "v2", "deployments").is_none());
    }

    #[test]
    fn the_newest_version_is_preferred_and_every_resource_is_stored_once() {
        let catalog = Catalog::builtin();
        assert_eq!(catalog.group("autoscaling").unwrap().preferred().unwrap().name, "v2");
        let scalers = catalog.stored().filter(|resource| resource.plural == "horizontalpodautoscalers");
        assert_eq!(scalers.map(|resource| resource.version.as_str()).collect::<Vec<_>>(), ["v2"]);
        assert_eq!(catalog.stored().filter(|resource| resource.plural == "events").count(), 1);
    }
}
