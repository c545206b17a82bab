//! What is in a cell because of us, as its watches tell.

use super::marks;
use crate::fleet::api::CellResource;
use parking_lot::Mutex;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// What matters of an object in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Actual {
    pub(super) uid: String,
    /// The UID of what it is a copy of.
    pub(super) source: String,
    /// Which fields are ours there: others take them away from us by writing them.
    pub(super) fields: String,
    /// The same for its status.
    pub(super) status_fields: String,
    pub(super) generation: i64,
    pub(super) deleting: bool,
    pub(super) status: Option<Value>,
}

impl Actual {
    pub(super) fn read(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            source: marks::source_of(object).unwrap_or_default().to_owned(),
            fields: marks::fields_of(object),
            status_fields: marks::status_fields_of(object),
            generation: metadata["generation"].as_i64().unwrap_or_default(),
            deleting: metadata["deletionTimestamp"].is_string(),
            status: object.get("status").filter(|status| !status.is_null()).cloned(),
        }
    }
}

/// Namespace and name.
pub(super) type Name = (String, String);

pub(super) fn name_of(object: &Value) -> Name {
    let word = |key: &str| object["metadata"][key].as_str().unwrap_or_default().to_owned();
    (word("namespace"), word("name"))
}

/// What is known of a place in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Known {
    /// Nobody watches there yet.
    Nothing,
    Absent,
    Present(Actual),
}

/// It holds as much as there are copies in the cell.
#[derive(Debug, Default)]
pub(super) struct Actuals {
    /// Guards nothing but itself, and is held for one question.
    state: Mutex<State>,
}

/// An object as of a version of it.
type Versioned = (Option<u64>, Actual);

fn versioned(object: &Value) -> Versioned {
    let version = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
    (version, Actual::read(object))
}

#[derive(Debug, Default)]
struct State {
    objects: HashMap<CellResource, HashMap<Name, Versioned>>,
    synced: HashSet<CellResource>,
}

impl Actuals {
    pub(super) fn at(&self, resource: &CellResource, name: &Name) -> Known {
        let state = self.state.lock();
        if !state.synced.contains(resource) {
            return Known::Nothing;
        }
        let found = state.objects.get(resource).and_then(|objects| objects.get(name));
        found.map_or(Known::Absent, |(_, actual)| Known::Present(actual.clone()))
    }

    /// Takes in everything there is of a resource; answers with the names of what is not as it was.
    pub(super) fn replace(&self, resource: &CellResource, objects: &[Value]) -> Vec<Name> {
        let now: HashMap<Name, Versioned> = objects.iter().map(|object| (name_of(object), versioned(object))).collect();
        let mut state = self.state.lock();
        state.synced.insert(resource.clone());
        let before = state.objects.insert(resource.clone(), now.clone()).unwrap_or_default();
        let names: HashSet<&Name> = before.keys().chain(now.keys()).collect();
        let actual = |of: &'_ HashMap<Name, Versioned>, name: &Name| of.get(name).map(|(_, actual)| actual.clone());
        names.into_iter().filter(|name| actual(&before, name) != actual(&now, name)).cloned().collect()
    }

    /// Whether anything changed that matters.
    ///
    /// The answer to an apply may come after a watch has told of a later change; what is older than what is known is not
    /// taken in, or that change would be forgotten.
    pub(super) fn put(&self, resource: &CellResource, object: &Value) -> bool {
        let now = versioned(object);
        let mut state = self.state.lock();
        let objects = state.objects.entry(resource.clone()).or_default();
        let before = objects.get(&name_of(object));
        let is_later = |known: &Versioned| known.0.zip(now.0).is_some_and(|(known, now)| known > now);
        if before.is_some_and(|known| known.1.uid == now.1.uid && is_later(known)) {
            return false;
        }
        let changed = before.map(|(_, actual)| actual) != Some(&now.1);
        objects.insert(name_of(object), now);
        changed
    }

    pub(super) fn remove(&self, resource: &CellResource, object: &Value) {
        if let Some(objects) = self.state.lock().objects.get_mut(resource) {
            objects.remove(&name_of(object));
        }
    }

    /// Nobody watches any more.
    pub(super) fn unsync(&self, resource: &CellResource) {
        self.state.lock().synced.remove(resource);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_known_is_never_replaced_by_what_was_before_it() {
        let deployments = CellResource {
            group: "apps".to_owned(),
            version: "v1".to_owned(),
            plural: "deployments".to_owned(),
            kind: "Deployment".to_owned(),
            namespaced: true,
        };
        let object = |uid: &str, version: &str, ready: i64| {
            json!({ "status": { "readyReplicas": ready },
            "metadata": { "namespace": "n", "name": "web", "uid": uid, "resourceVersion": version } })
        };
        let actuals = Actuals::default();
        actuals.replace(&deployments, &[object("u", "7", 3)]);
        let put = |uid: &str, version: &str, ready: i64| actuals.put(&deployments, &object(uid, version, ready));
        assert!(put("u", "9", 4), "a watch tells of a later change");
        assert!(!put("u", "8", 3), "before the answer to what caused it comes");
        let Known::Present(known) = actuals.at(&deployments, &("n".to_owned(), "web".to_owned())) else {
            panic!("gone")
        };
        assert_eq!(known.status, Some(json!({ "readyReplicas": 4 })));
        assert!(!put("u", "10", 4), "nothing that matters");
        assert!(put("v", "8", 1), "another object of that name");
        assert!(put("v", "odd", 2), "who counts otherwise is believed");
    }
}
