//! The window onto the schemas that a workspace has bound, wherever they are:
//! `/services/apiresourceschema/<workspace>/clusters/<the same or *>/...`. Whoever may read the bindings of the workspace may
//! read what they bind, and nothing else.

use super::words::{BINDINGS, SCHEMAS};
use crate::tenancy::words::branded;
use apiserver::catalog::{Catalog, ResourceDef};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::{Object, Peek};
use apiserver::place::Workspace;
use apiserver::target::{Target, Verb};
use apiserver::view::{Seeing, View};
use apiserver::window::{Called, Pane, Window};
use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;
use storage::{Change, Key, KeyRange, Revision, Version};

/// Where a path leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tenancy) struct Address<'a> {
    of: &'a str,
    /// Below that.
    pub(in crate::tenancy) rest: &'a str,
}

/// Reads a path; nothing if it leads to no such window.
pub(in crate::tenancy) fn read(url: &str) -> Option<Address<'_>> {
    let (of, rest) = url.strip_prefix("/services/apiresourceschema/")?.split_once('/')?;
    let rest = rest.strip_prefix("clusters/")?;
    let (onto, rest) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    (of != "*" && (onto == "*" || onto == of)).then_some(Address { of, rest })
}

/// The window at an address.
pub(in crate::tenancy) fn open(
    client: &Client,
    address: &Address<'_>,
    find: impl Fn(&str) -> Option<Workspace>,
) -> Option<Window> {
    let home = find(address.of)?;
    let bound = Bound { client: client.clone(), home: home.clone(), last: Arc::default() };
    // One schema is where it is; all of them are everywhere.
    let onto = match named(address.rest) {
        None => Workspace::everywhere(),
        Some(name) => {
            let all = bound.schemas();
            let found = all.values().find(|found| found.name == name);
            // What is not bound is not seen in the workspace itself either.
            found.map_or_else(|| home.clone(), |found| found.within.clone())
        }
    };
    let (group, version, plural) = SCHEMAS;
    let catalog = Arc::new(Catalog::of(client.builtin().find(group, version, plural).cloned()));
    let called =
        Called { group: BINDINGS.0, resource: BINDINGS.2, subresource: "", name: String::new(), verb: Some("get") };
    Some(Window { home, called, onto, catalog, pane: Arc::new(bound) })
}

/// The schema that a path names.
fn named(rest: &str) -> Option<&str> {
    let (group, version, plural) = SCHEMAS;
    let below = rest.strip_prefix(&format!("/apis/{group}/{version}/{plural}/"))?;
    Some(below.trim_end_matches('/')).filter(|name| !name.is_empty())
}

/// What a workspace has bound.
#[derive(Clone, Debug)]
struct Bound {
    client: Client,
    home: Workspace,
    /// What it was when somebody last looked, and as of which revision: one answer asks for every schema in it. Nothing
    /// else is locked while this is held.
    last: Arc<Mutex<Option<Looked>>>,
}

/// Schemas by where they are.
type Schemas = HashMap<Key, Found>;

/// What was seen, and when.
type Looked = (Revision, Arc<Schemas>);

/// A schema that is bound, and where it is.
#[derive(Debug)]
struct Found {
    within: Workspace,
    name: String,
    uid: String,
}

impl Bound {
    fn schemas(&self) -> Arc<Schemas> {
        let now = self.client.revision();
        if let Some((at, known)) = &*self.last.lock()
            && *at == now
        {
            return known.clone();
        }
        let read = Arc::new(self.read());
        *self.last.lock() = Some((now, read.clone()));
        read
    }

    fn read(&self) -> Schemas {
        let Ok(bindings) = self.client.at(BINDINGS, &self.home, None) else { return HashMap::new() };
        let entries = self.client.scan(&bindings).into_iter().flatten().filter_map(Result::ok);
        let all = entries.filter_map(|entry| Object::parse(&entry.version.value).ok());
        all.flat_map(|binding| self.of(&binding)).collect()
    }

    fn of(&self, binding: &Object) -> Vec<(Key, Found)> {
        let within = Workspace::new(binding.text(&["status", "apiExportClusterName"]));
        let named = binding.items(&["status", "boundResources"]).filter_map(|bound| {
            let word = |field: &str| bound["schema"].get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
            let found = Found { within: within.clone(), name: word("name"), uid: word("UID") };
            let at = self.client.at(SCHEMAS, &found.within, None).ok()?.object(&found.name);
            Some((keyspace::key(&at).ok()?, found))
        });
        named.collect()
    }
}

impl Pane for Bound {
    fn admits(&self, target: &Target) -> Result<(), ApiError> {
        match target {
            Target::Objects { verb: Verb::List | Verb::Watch, .. }
            | Target::Object { verb: Verb::Get | Verb::Watch, subresource: None, .. } => Ok(()),
            Target::Objects { .. } | Target::Object { .. } => {
                let why = "only read-only access is allowed to apiresourceschemas";
                Err(ApiError::forbidden_request(SCHEMAS.0, SCHEMAS.2, "", why))
            }
            _ => Ok(()),
        }
    }

    fn view(&self, _: &ResourceDef) -> Seeing {
        Some(Arc::new(self.clone()))
    }
}

impl View for Bound {
    fn sees(&self, key: &Key, value: &[u8]) -> bool {
        let uid = Peek::of(value).text(&["metadata", "uid"]);
        self.schemas().get(key).is_some_and(|found| uid.as_deref() == Some(&*found.uid))
    }

    fn shown(&self, key: &Key, value: &Bytes) -> Bytes {
        branded(key, value)
    }

    fn keys(&self) -> Result<Option<Vec<Key>>, ApiError> {
        Ok(Some(self.schemas().keys().cloned().collect()))
    }

    fn depends_on(&self) -> Option<KeyRange> {
        keyspace::range(&self.client.at(BINDINGS, &self.home, None).ok()?).ok()
    }

    fn is_moved_by(&self, change: &Change) -> bool {
        let told =
            |version: Option<&Version>| Peek::new(version?).raw(&["status", "boundResources"]).map(<[u8]>::to_vec);
        told(change.previous.as_ref()) != told(change.current.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_whose_bindings_are_meant() {
        let check = |path: &str, expected: Option<(&str, &str)>| {
            assert_eq!(read(path).map(|found| (found.of, found.rest)), expected, "{path}");
        };
        check("/services/apiresourceschema/c/clusters/*/apis", Some(("c", "/apis")));
        check("/services/apiresourceschema/c/clusters/c", Some(("c", "/")));
        for odd in ["c/clusters/d/apis", "*/clusters/*/apis", "c/apis", "c"] {
            check(&format!("/services/apiresourceschema/{odd}"), None);
        }
        assert_eq!(named("/apis/apis.kcp.io/v1alpha1/apiresourceschemas/a.b.c"), Some("a.b.c"));
        assert_eq!(named("/apis/apis.kcp.io/v1alpha1/apiresourceschemas"), None);
    }
}
