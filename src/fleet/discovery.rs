//! What an API server says it serves, read from its aggregated discovery.
//!
//! Most cells of a fleet serve the same: what one of them sends is read once for all that send the same bytes. A tag is good
//! for the cell that gave it alone: whoever it is, it says what others believe of nobody else.

use super::api::{CellError, CellResource, Names};
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::HashMap;
use std::sync::Arc;

/// Asks for everything in one document.
pub(super) const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                                 application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// What a document says is served.
pub(super) type Resources = Arc<[(CellResource, Names)]>;

/// What a cell answered when it was last asked.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// As the cell gave it; empty if it gave none.
    pub(super) tag: String,
    pub(super) resources: Resources,
}

/// The last document that was read, by where it was asked for, and the digest of its bytes. Held for one operation.
#[derive(Debug, Default)]
pub struct Documents(Mutex<HashMap<&'static str, (Digest, Resources)>>);

type Digest = [u8; 32];

impl Documents {
    /// Reads a document, unless it is the one that was read last.
    pub(super) fn read(&self, root: &'static str, bytes: &[u8]) -> Result<Resources, CellError> {
        let digest: Digest = Sha256::digest(bytes).into();
        if let Some((_, known)) = self.0.lock().get(root).filter(|(known, _)| *known == digest) {
            return Ok(known.clone());
        }
        let tree: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let resources: Resources = read(&tree)?.into();
        self.0.lock().insert(root, (digest, resources.clone()));
        Ok(resources)
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
    fn the_same_bytes_are_read_once_and_others_are_others() {
        let documents = Documents::default();
        let document = |name: &str| {
            let resource = json!({ "resource": name, "verbs": ["get", "list", "watch", "patch", "delete"] });
            let group = json!({ "metadata": {}, "versions": [{ "version": "v1", "resources": [resource] }] });
            json!({ "kind": "APIGroupDiscoveryList", "items": [group] }).to_string()
        };
        let read = |name: &str| documents.read("/apis", document(name).as_bytes()).unwrap();
        let (one, same, other) = (read("a"), read("a"), read("b"));
        assert!(Arc::ptr_eq(&one, &same));
        assert_eq!((other[0].0.plural.as_str(), read("a")[0].0.plural.as_str()), ("b", "a"));
        assert!(documents.read("/apis", b"no document").is_err());
    }
}
