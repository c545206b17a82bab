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

#[derive(Debug, Default)]
struct State {
    objects: HashMap<CellResource, HashMap<Name, Actual>>,
    synced: HashSet<CellResource>,
}

impl Actuals {
    pub(super) fn at(&self, resource: &CellResource, name: &Name) -> Known {
        let state = self.state.lock();
        if !state.synced.contains(resource) {
            return Known::Nothing;
        }
        let found = state.objects.get(resource).and_then(|objects| objects.get(name));
        found.cloned().map_or(Known::Absent, Known::Present)
    }

    /// Takes in everything there is of a resource; answers with the names of what is not as it was.
    pub(super) fn replace(&self, resource: &CellResource, objects: &[Value]) -> Vec<Name> {
        let now: HashMap<Name, Actual> = objects.iter().map(|object| (name_of(object), Actual::read(object))).collect();
        let mut state = self.state.lock();
        state.synced.insert(resource.clone());
        let before = state.objects.insert(resource.clone(), now.clone()).unwrap_or_default();
        let names: HashSet<&Name> = before.keys().chain(now.keys()).collect();
        names.into_iter().filter(|name| before.get(*name) != now.get(*name)).cloned().collect()
    }

    /// Whether anything changed that matters.
    pub(super) fn put(&self, resource: &CellResource, object: &Value) -> bool {
        let now = Actual::read(object);
        let mut state = self.state.lock();
        let objects = state.objects.entry(resource.clone()).or_default();
        objects.insert(name_of(object), now.clone()) != Some(now)
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
