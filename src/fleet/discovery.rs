//! What an API server says it serves, read from its aggregated discovery.
//!
//! Most cells of a fleet serve the same, and say so under the same tag: a document that was read once is read again only
//! when it is another one.

use super::api::{CellError, CellResource, Names};
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Asks for everything in one document.
pub(super) const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                                 application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// A tag as long as this is a digest of what it is the tag of, as Kubernetes makes them. What others use may be the tag of
/// something else in another cell.
const DIGEST_MIN: usize = 64;

/// A document that was read.
#[derive(Debug)]
pub(super) struct Document {
    /// As the server gave it; empty if it gave none.
    pub(super) tag: String,
    pub(super) resources: Vec<(CellResource, Names)>,
}

impl Document {
    pub(super) fn read(tag: String, document: &Value) -> Result<Self, CellError> {
        Ok(Self { tag, resources: read(document)? })
    }

    /// Whether whoever has it under this tag, in whatever cell, has the same.
    fn is_the_same_everywhere(&self) -> bool {
        self.tag.trim_matches('"').len() >= DIGEST_MIN && !self.tag.starts_with("W/")
    }
}

/// The last document that any cell answered with, by where it was asked for.
#[derive(Debug, Default)]
pub struct Documents(Mutex<HashMap<&'static str, Arc<Document>>>);

impl Documents {
    /// What a cell that was never asked will probably answer.
    pub(super) fn usual(&self, root: &str) -> Option<Arc<Document>> {
        self.0.lock().get(root).cloned()
    }

    pub(super) fn keep(&self, root: &'static str, document: &Arc<Document>) {
        if document.is_the_same_everywhere() {
            self.0.lock().insert(root, document.clone());
        }
    }
}

/// The resources of a discovery document that can be kept in sync: those that can be read, watched and patched.
fn read(document: &Value) -> Result<Vec<(CellResource, Names)>, CellError> {
    if document["kind"] != "APIGroupDiscoveryList" {
        return Err(CellError::Unusable("the cell does not speak aggregated discovery".to_owned()));
    }
    let groups = items(document, "items");
    Ok(groups.flat_map(|group| items(group, "versions").flat_map(move |version| of_version(group, version))).collect())
}

fn of_version<'a>(group: &'a Value, version: &'a Value) -> impl Iterator<Item = (CellResource, Names)> + use<'a> {
    let name = word(&group["metadata"], "name");
    items(version, "resources").filter(|resource| can_be_kept(resource)).map(move |resource| {
        let found = CellResource {
            group: name.to_owned(),
            version: word(version, "version").to_owned(),
            plural: word(resource, "resource").to_owned(),
            kind: word(&resource["responseKind"], "kind").to_owned(),
            namespaced: resource["scope"] == "Namespaced",
        };
        (found, names(resource))
    })
}

fn names(resource: &Value) -> Names {
    let words = |key| items(resource, key).filter_map(Value::as_str).map(str::to_owned).collect();
    let singular = word(resource, "singularResource").to_owned();
    Names { singular, short: words("shortNames"), categories: words("categories") }
}

fn can_be_kept(resource: &Value) -> bool {
    let verbs: Vec<&str> = items(resource, "verbs").filter_map(Value::as_str).collect();
    ["get", "list", "watch", "patch", "delete"].iter().all(|verb| verbs.contains(verb))
}

fn items<'a>(of: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    of[key].as_array().into_iter().flatten()
}

fn word<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_can_be_kept_is_found_and_the_rest_is_not() {
        let all = json!(["create", "delete", "get", "list", "patch", "update", "watch"]);
        let resource = |name: &str, kind: &str, verbs: &Value| json!({ "resource": name, "responseKind": { "kind": kind }, "scope": "Namespaced", "verbs": verbs });
        let mut deployments = resource("deployments", "Deployment", &all);
        deployments["shortNames"] = json!(["deploy"]);
        let resources = json!([deployments, resource("reviews", "R", &json!(["create"]))]);
        let versions = json!([{ "version": "v1", "resources": resources }]);
        let document = json!({
            "kind": "APIGroupDiscoveryList", "items": [{ "metadata": { "name": "apps" }, "versions": versions }],
        });
        let found = read(&document).unwrap();
        assert_eq!(found.len(), 1);
        let (deployment, names) = &found[0];
        assert_eq!((deployment.api_version().as_str(), deployment.kind.as_str()), ("apps/v1", "Deployment"));
        assert_eq!((names.short.as_slice(), names.categories.len()), (&["deploy".to_owned()][..], 0));
        assert!(read(&json!({ "kind": "APIGroupList" })).is_err());
    }

    #[test]
    fn only_a_digest_means_the_same_in_another_cell() {
        let documents = Documents::default();
        let keep = |tag: String| {
            documents.keep("/apis", &Arc::new(Document { tag, resources: Vec::new() }));
            documents.usual("/apis").map(|document| document.tag.len())
        };
        assert_eq!(keep(String::new()), None);
        assert_eq!(keep("\"17\"".to_owned()), None, "a number may be that of something else elsewhere");
        assert_eq!(keep(format!("W/\"{}\"", "0".repeat(128))), None);
        assert_eq!(keep(format!("\"{}\"", "0".repeat(128))), Some(130));
        assert!(documents.usual("/api").is_none());
    }
}
