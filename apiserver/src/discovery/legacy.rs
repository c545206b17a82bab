//! Discovery as it was at first: one document for each group and version.

use crate::catalog::{Catalog, Group, ResourceDef, SubresourceDef, Version};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub(crate) fn core() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "" }],
    })
}

pub(crate) fn groups(catalog: &Catalog) -> Value {
    let named = catalog.groups().iter().filter(|group| !group.name.is_empty());
    let groups: Vec<Value> = named.map(|group| described(group)).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

pub(crate) fn group(group: &Group) -> Value {
    let mut told = described(group);
    told["kind"] = "APIGroup".into();
    told["apiVersion"] = "v1".into();
    told
}

fn described(group: &Group) -> Value {
    let told = |version: &Version| json!({ "groupVersion": format!("{}/{}", group.name, version.name), "version": version.name });
    let versions: Vec<Value> = group.versions.iter().map(told).collect();
    json!({ "name": group.name, "versions": versions, "preferredVersion": group.preferred().map(told) })
}

pub(crate) fn version(group: &str, version: &Version) -> Value {
    let api_version = if group.is_empty() { version.name.clone() } else { format!("{group}/{}", version.name) };
    let resources: Vec<Value> = version.resources.iter().flat_map(|resource| entries(resource)).collect();
    json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": resources })
}

fn entries(resource: &ResourceDef) -> Vec<Value> {
    let mut own = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
        "kind": resource.kind, "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        own["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        own["categories"] = json!(resource.categories);
    }
    // The status of components is not stored anywhere.
    if resource.is_stored() && resource.plural != "componentstatuses" {
        own["storageVersionHash"] = storage_version_hash(resource).into();
    }
    let mut all = vec![own];
    all.extend(resource.subresources.iter().map(|sub| subresource(resource, sub)));
    all
}

fn subresource(resource: &ResourceDef, sub: &SubresourceDef) -> Value {
    let kind = sub.kind.as_ref().map_or(&*resource.kind, |(_, kind)| kind);
    let mut told = json!({
        "name": format!("{}/{}", resource.plural, sub.name), "singularName": "", "namespaced": resource.namespaced,
        "kind": kind, "verbs": sub.verbs,
    });
    if let Some((api_version, _)) = &sub.kind {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        if (group, version) != (&resource.group, &resource.version) {
            told["group"] = group.into();
            told["version"] = version.into();
        }
    }
    told
}

/// Changes when objects are stored in another version.
fn storage_version_hash(resource: &ResourceDef) -> String {
    let stored = &resource.stored;
    let named = format!("{}/{}/{}", stored.group, stored.version, resource.kind);
    STANDARD.encode(&Sha256::digest(named.as_bytes())[..8])
}
