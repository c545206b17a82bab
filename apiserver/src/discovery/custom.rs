//! Custom resources as OpenAPI describes them: out of their definitions, which are read when a document is made.

use crate::catalog::{Catalog, ResourceDef};
use crate::custom::Definition;
use crate::jsonpath::simple::Selectable;
use crate::object::Object;
use crate::place::Workspace;
use crate::resources::Resources;
use openapi::builtin::kind_in;
use openapi::document::{self, Described, Exchange, Kind, Part, Schema, Version};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// Where the schemas of a workspace's custom resources are found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schemas<'a> {
    pub(crate) resources: &'a Resources,
    pub(crate) workspace: &'a Workspace,
}

/// A custom resource and what is published of its schema.
struct Published {
    resource: Arc<ResourceDef>,
    name: String,
    schema: Value,
}

impl Schemas<'_> {
    /// The document of a group version.
    pub(super) fn v3(&self, api_version: &str, resources: &[Arc<ResourceDef>]) -> String {
        let published = self.published(resources, Version::V3);
        let described: Vec<Described<'_>> = published.iter().map(Published::described).collect();
        document::v3_of(api_version, &described).to_string()
    }

    /// What custom resources add to the document of everything: definitions, and paths.
    pub(super) fn v2(&self, catalog: &Catalog) -> (Map<String, Value>, Map<String, Value>) {
        let all = catalog.groups().iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
        let custom: Vec<Arc<ResourceDef>> = all.filter(|resource| resource.custom().is_some()).cloned().collect();
        let published = self.published(&custom, Version::V2);
        let described: Vec<Described<'_>> = published.iter().map(Published::described).collect();
        let mut document = document::v2_of(&described);
        let mut part = |name: &str| match document.get_mut(name).map(Value::take) {
            Some(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let (mut definitions, mut paths) = (part("definitions"), part("paths"));
        // The types of Kubernetes that they refer to are there already, as are the paths of groups that are built in.
        let own: HashSet<String> =
            published.iter().flat_map(|found| [found.name.clone(), format!("{}List", found.name)]).collect();
        definitions.retain(|name, _| own.contains(name));
        paths.retain(|path, _| !is_of_builtin(path, catalog.base()));
        (definitions, paths)
    }

    /// The document of custom resources that nothing is built in beside.
    pub(super) fn v2_alone(&self, catalog: &Catalog) -> String {
        let all = catalog.groups().iter().flat_map(|group| &group.versions).flat_map(|version| &version.resources);
        let published = self.published(&all.cloned().collect::<Vec<_>>(), Version::V2);
        let described: Vec<Described<'_>> = published.iter().map(Published::described).collect();
        document::v2_of(&described).to_string()
    }

    fn read(&self, workspace: &Workspace, name: &str) -> Option<Arc<Object>> {
        self.resources.definition(workspace, name).ok().flatten().map(Arc::new)
    }

    fn published(&self, resources: &[Arc<ResourceDef>], version: Version) -> Vec<Published> {
        let mut kept: BTreeMap<&str, Option<Arc<Object>>> = BTreeMap::new();
        let mut published = Vec::with_capacity(resources.len());
        for resource in resources {
            let Some(custom) = resource.custom() else { continue };
            let definition = match &custom.definition {
                Definition::Given(definition) => Some(definition.clone()),
                Definition::Kept { name, .. } => {
                    kept.entry(name).or_insert_with(|| self.read(self.workspace, name)).clone()
                }
                Definition::Shared(from) => self.read(&Workspace::new(&from.kept_in), &from.name),
                Definition::Lent { by, name, .. } => self.read(&Workspace::new(by), name),
            };
            let schema = definition.as_ref().and_then(|definition| schema_of(definition, &resource.version));
            let kind = Kind { group: &resource.group, version: &resource.version, kind: &resource.kind };
            let selectable: Vec<&str> = custom.schema.selectable.iter().map(Selectable::name).collect();
            let schema = document::published(schema, kind, &selectable, version);
            published.push(Published { resource: resource.clone(), name: model_name(resource), schema });
        }
        published
    }
}

/// `/apis/apps/v1/`: what lists the resources of a group that is built in.
fn is_of_builtin(path: &str, builtin: &Catalog) -> bool {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match &*parts {
        ["apis", group] => builtin.group(group).is_some(),
        ["apis", group, version] => builtin.version(group, version).is_some(),
        ["api" | "apis", ..] => false,
        _ => true,
    }
}

fn schema_of<'a>(definition: &'a Object, version: &str) -> Option<&'a Value> {
    let mut versions = definition.items(&["spec", "versions"]);
    versions.find(|found| found["name"] == version)?.pointer("/schema/openAPIV3Schema")
}

/// `com.example.stable.v1.CronTab`
fn model_name(resource: &ResourceDef) -> String {
    let reversed: Vec<&str> = resource.group.split('.').rev().collect();
    format!("{}.{}.{}", reversed.join("."), resource.version, resource.kind)
}

impl Published {
    fn described(&self) -> Described<'_> {
        let ResourceDef { group, version, kind, plural, namespaced, verbs, .. } = &*self.resource;
        let own = Kind { group, version, kind };
        let schema = Schema::Inline { name: &self.name, value: &self.schema };
        Described {
            kind: own,
            plural,
            namespaced: *namespaced,
            verbs: verbs.clone(),
            schema,
            builtin: false,
            returned_when_deleted: false,
            subresources: self.resource.subresources.iter().map(|part| self.part(part, own, schema)).collect(),
        }
    }

    fn part<'a>(&'a self, part: &'a crate::catalog::SubresourceDef, own: Kind<'a>, schema: Schema<'a>) -> Part<'a> {
        let other = part.kind.as_ref().map(|(api_version, kind)| (Kind::of(api_version, kind), api_version, kind));
        let exchange = match other {
            Some((_, api_version, kind)) => kind_in(api_version, kind).map_or(schema, Schema::Type),
            None => schema,
        };
        Part {
            name: &part.name,
            kind: other.map_or(own, |(kind, ..)| kind),
            verbs: part.verbs.clone(),
            exchange: Exchange::Objects(exchange),
        }
    }
}
