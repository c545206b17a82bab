//! What is served: every resource, described.

mod builtin;
mod def;

pub use def::{Collecting, ResourceDef, Schema, Stored, SubresourceDef, Traits};

use std::collections::BTreeMap;
use std::sync::Arc;

/// Every resource that is served, as one immutable value.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// In the order of discovery: by group, version, then name.
    groups: Vec<Group>,
    by_name: BTreeMap<(String, String, String), Arc<ResourceDef>>,
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

impl Catalog {
    /// The kinds that every API server has.
    pub fn builtin() -> Self {
        Self::new(builtin::resources())
    }

    fn new(resources: Vec<ResourceDef>) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut by_name = BTreeMap::new();
        for resource in resources {
            let resource = Arc::new(resource);
            let name = (resource.group.clone(), resource.version.clone(), resource.plural.clone());
            by_name.insert(name, resource.clone());
            let group = entry(
                &mut groups,
                |group| group.name == resource.group,
                || Group { name: resource.group.clone(), versions: Vec::new() },
            );
            let version = entry(
                &mut group.versions,
                |version| version.name == resource.version,
                || Version { name: resource.version.clone(), resources: Vec::new() },
            );
            version.resources.push(resource);
        }
        groups.sort_by_key(|group| std::cmp::Reverse(builtin::priority(&group.name)));
        for group in &mut groups {
            // Version 2 before version 1: the built-in groups have no others than these.
            group.versions.sort_by(|a, b| b.name.cmp(&a.name));
        }
        Self { groups, by_name }
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<ResourceDef>> {
        self.by_name.get(&(group.to_owned(), version.to_owned(), plural.to_owned()))
    }

    /// The resource of a kind, as owner references name it.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<ResourceDef>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.version(group, version)?.resources.iter().find(|resource| resource.kind == kind)
    }

    /// All groups, in the order of discovery; the core group is the one without a name.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    pub fn version(&self, group: &str, version: &str) -> Option<&Version> {
        self.group(group)?.versions.iter().find(|found| found.name == version)
    }

    /// Every resource once, in the version that objects are stored in.
    pub fn stored(&self) -> impl Iterator<Item = &Arc<ResourceDef>> {
        let all = self.groups.iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
        all.filter(|resource| resource.is_storage_version())
    }

    /// The resource whose objects are kept under this name.
    pub fn stored_as(&self, group: &str, plural: &str) -> Option<&Arc<ResourceDef>> {
        self.stored().find(|resource| resource.stored.group == group && resource.stored.plural == plural)
    }
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
