//! What backends have said that they serve: remembered, so that it can be told when they do not answer.

use crate::backends::Backend;
use crate::place::Workspace;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Group versions that are remembered; others are told of as stale, until they are asked again.
const KNOWN_MAX: usize = 10_000;

/// What is known of a group version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Known {
    /// As aggregated discovery tells of them.
    pub resources: Vec<Value>,
    /// What tells its OpenAPI document from others; `None` where there is none.
    pub schema_hash: Option<String>,
}

/// A resource of a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    pub plural: String,
    pub namespaced: bool,
    pub verbs: Vec<String>,
}

impl Known {
    /// From aggregated discovery: all groups that a server has.
    pub fn aggregated(groups: &Value, backend: &Backend) -> Option<Self> {
        let all = groups["items"].as_array()?;
        let group = all.iter().find(|group| group["metadata"]["name"] == backend.group.as_str())?;
        let mut versions = group["versions"].as_array()?.iter();
        let version = versions.find(|version| version["version"] == backend.version.as_str())?;
        Some(Self { resources: version["resources"].as_array().cloned().unwrap_or_default(), schema_hash: None })
    }

    /// From what a server says of one group version, if it knows no other form.
    pub fn legacy(list: &Value, backend: &Backend) -> Option<Self> {
        let entries = list["resources"].as_array()?;
        let name = |entry: &Value| entry["name"].as_str().unwrap_or_default().to_owned();
        let kind = |entry: &Value| {
            let or = |field: &str, usual: &str| {
                entry[field].as_str().filter(|text| !text.is_empty()).unwrap_or(usual).to_owned()
            };
            let (group, version) = (or("group", &backend.group), or("version", &backend.version));
            json!({ "group": group, "version": version, "kind": entry["kind"] })
        };
        let part = |entry: &Value, name: &str| json!({ "subresource": name, "responseKind": kind(entry), "verbs": entry["verbs"] });
        let whole = |entry: &Value| {
            let plural = name(entry);
            let parts: Vec<Value> = entries
                .iter()
                .filter_map(|other| Some(part(other, name(other).strip_prefix(&plural)?.strip_prefix('/')?)))
                .collect();
            let mut told = json!({
                "resource": plural, "responseKind": kind(entry), "singularResource": entry["singularName"],
                "scope": if entry["namespaced"] == true { "Namespaced" } else { "Cluster" }, "verbs": entry["verbs"],
            });
            for field in ["shortNames", "categories"] {
                if entry[field].is_array() {
                    told[field] = entry[field].clone();
                }
            }
            if !parts.is_empty() {
                told["subresources"] = parts.into();
            }
            told
        };
        let resources = entries.iter().filter(|entry| !name(entry).contains('/')).map(whole).collect();
        Some(Self { resources, schema_hash: None })
    }

    /// What tells the document of this group version from others, by the index of all of them.
    pub fn hash_in(index: &Value, backend: &Backend) -> Option<String> {
        let path = format!("apis/{}/{}", backend.group, backend.version);
        let url = index["paths"][path.as_str()]["serverRelativeURL"].as_str()?;
        Some(url.split_once("hash=").map_or(url, |(_, hash)| hash).to_owned())
    }

    pub fn served(&self) -> impl Iterator<Item = Served> {
        self.resources.iter().map(|resource| {
            let verbs = resource["verbs"].as_array().into_iter().flatten();
            Served {
                plural: resource["resource"].as_str().unwrap_or_default().to_owned(),
                namespaced: resource["scope"] == "Namespaced",
                verbs: verbs.filter_map(Value::as_str).map(str::to_owned).collect(),
            }
        })
    }
}

type Which = (Workspace, String, String);

#[derive(Debug, Default)]
pub(crate) struct Library {
    /// Nothing else is locked while this is held.
    known: Mutex<HashMap<Which, Arc<Known>>>,
}

impl Library {
    pub(crate) fn get(&self, workspace: &Workspace, group: &str, version: &str) -> Option<Arc<Known>> {
        self.known.lock().get(&(workspace.clone(), group.to_owned(), version.to_owned())).cloned()
    }
}

impl super::Relay {
    /// What is known of a group version that a backend of a workspace serves.
    pub fn known(&self, workspace: &Workspace, group: &str, version: &str) -> Option<Arc<Known>> {
        self.library().get(workspace, group, version)
    }

    /// Remembers what a backend said.
    pub fn learn(&self, workspace: &Workspace, backend: &Backend, known: Known) {
        let which = (workspace.clone(), backend.group.clone(), backend.version.clone());
        let mut all = self.library().known.lock();
        if all.len() < KNOWN_MAX || all.contains_key(&which) {
            all.insert(which, Arc::new(known));
        }
    }

    /// Nobody serves the group version any more.
    pub fn forget(&self, workspace: &Workspace, group: &str, version: &str) {
        self.library().known.lock().remove(&(workspace.clone(), group.to_owned(), version.to_owned()));
    }
}
