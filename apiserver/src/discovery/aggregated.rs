//! Discovery in two documents: one for the core group, one for all others.

use crate::catalog::{Catalog, Group, ResourceDef, SubresourceDef, Version};
use serde_json::{Value, json};
use std::sync::Arc;

pub(crate) fn core(catalog: &Catalog) -> Value {
    list(catalog.groups().iter().filter(|group| group.name.is_empty()))
}

pub(crate) fn groups(catalog: &Catalog) -> Value {
    list(catalog.groups().iter().filter(|group| !group.name.is_empty()))
}

fn list<'a>(groups: impl Iterator<Item = &'a Arc<Group>>) -> Value {
    let items: Vec<Value> = groups.map(|found| group(found)).collect();
    json!({ "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items })
}

fn group(group: &Group) -> Value {
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    let metadata = if group.name.is_empty() {
        json!({ "creationTimestamp": null })
    } else {
        json!({ "name": group.name, "creationTimestamp": null })
    };
    json!({ "metadata": metadata, "versions": versions })
}

fn version(version: &Version) -> Value {
    let resources: Vec<Value> = version.resources.iter().map(|found| resource(found)).collect();
    json!({ "version": version.name, "resources": resources, "freshness": "Current" })
}

fn resource(resource: &ResourceDef) -> Value {
    let own = (resource.group.as_str(), resource.version.as_str(), resource.kind.as_str());
    let mut told = json!({
        "resource": resource.plural, "responseKind": kind(own),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        told["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        told["categories"] = json!(resource.categories);
    }
    if !resource.subresources.is_empty() {
        let all: Vec<Value> = resource.subresources.iter().map(|sub| subresource(resource, sub)).collect();
        told["subresources"] = all.into();
    }
    told
}

fn subresource(resource: &ResourceDef, sub: &SubresourceDef) -> Value {
    let (group, version, name) = match &sub.kind {
        Some((api_version, name)) => {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            (group, version, name.as_str())
        }
        None => (&*resource.group, &*resource.version, &*resource.kind),
    };
    json!({ "subresource": sub.name, "responseKind": kind((group, version, name)), "verbs": sub.verbs })
}

fn kind((group, version, kind): (&str, &str, &str)) -> Value {
    json!({ "group": group, "version": version, "kind": kind })
}
