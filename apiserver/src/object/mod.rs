//! Objects as trees, for as long as they are being written; everywhere else they are bytes.

mod scan;
pub(crate) mod stored;

pub use stored::{Peek, draft, with_annotation, with_revision};

use openapi::scalar::time::{Instant, Precision};
use serde_json::{Map, Value, json};

/// An object: a JSON tree with metadata.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(Map<String, Value>);

/// A tree that is no object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an object has to be a JSON object")]
pub struct NotAnObject;

impl TryFrom<Value> for Object {
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        match value {
            Value::Object(map) => Ok(Self(map)),
            _ => Err(NotAnObject),
        }
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Value::Object(object.0)
    }
}

impl Object {
    /// Reads what is stored. Stored bytes are our own: anything else is a store that was written to by others.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes).map(Self)
    }

    pub fn get(&self, field: &str) -> Option<&Value> {
        self.0.get(field)
    }

    pub fn map(&self) -> &Map<String, Value> {
        &self.0
    }

    pub fn map_mut(&mut self) -> &mut Map<String, Value> {
        &mut self.0
    }

    /// Lets a function over trees work on the object. Whatever it leaves that is no object counts as an empty one.
    pub fn as_tree<T>(&mut self, work: impl FnOnce(&mut Value) -> T) -> T {
        let mut tree = Value::Object(std::mem::take(&mut self.0));
        let result = work(&mut tree);
        if let Value::Object(map) = tree {
            self.0 = map;
        }
        result
    }

    pub fn pointer(&self, path: &[&str]) -> Option<&Value> {
        let (first, rest) = path.split_first()?;
        rest.iter().try_fold(self.0.get(*first)?, |at, step| at.get(*step))
    }

    /// The items of a list; none where there is no list.
    pub fn items<'a>(&'a self, path: &[&str]) -> impl Iterator<Item = &'a Value> + use<'a> {
        self.pointer(path).and_then(Value::as_array).into_iter().flatten()
    }

    /// What is asked for; made if there is nothing.
    pub fn spec_mut(&mut self) -> &mut Map<String, Value> {
        child(&mut self.0, "spec")
    }

    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.pointer(&["metadata", "annotations", name])?.as_str()
    }

    pub fn set_annotation(&mut self, name: &str, value: &str) {
        child(self.metadata_mut(), "annotations").insert(name.to_owned(), value.into());
    }

    pub fn unset_annotation(&mut self, name: &str) {
        child(self.metadata_mut(), "annotations").remove(name);
    }

    pub fn text(&self, path: &[&str]) -> &str {
        self.pointer(path).and_then(Value::as_str).unwrap_or_default()
    }

    pub fn api_version(&self) -> &str {
        self.text(&["apiVersion"])
    }

    pub fn kind(&self) -> &str {
        self.text(&["kind"])
    }

    pub fn name(&self) -> &str {
        self.text(&["metadata", "name"])
    }

    pub fn namespace(&self) -> &str {
        self.text(&["metadata", "namespace"])
    }

    pub fn uid(&self) -> &str {
        self.text(&["metadata", "uid"])
    }

    pub fn resource_version(&self) -> &str {
        self.text(&["metadata", "resourceVersion"])
    }

    pub fn labels(&self) -> Option<&Map<String, Value>> {
        self.pointer(&["metadata", "labels"])?.as_object()
    }

    pub fn generation(&self) -> i64 {
        self.pointer(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or_default()
    }

    pub fn is_deleting(&self) -> bool {
        self.pointer(&["metadata", "deletionTimestamp"]).is_some_and(|value| !value.is_null())
    }

    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let list = self.pointer(&["metadata", "finalizers"]).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    }

    /// The metadata; made if there is none.
    pub fn metadata_mut(&mut self) -> &mut Map<String, Value> {
        let metadata = self.0.entry("metadata").or_insert_with(|| json!({}));
        if !metadata.is_object() {
            *metadata = json!({});
        }
        match metadata {
            Value::Object(map) => map,
            _ => unreachable!("it was made an object above"),
        }
    }

    pub fn set_metadata(&mut self, field: &str, value: impl Into<Value>) {
        self.metadata_mut().insert(field.to_owned(), value.into());
    }

    pub fn remove_metadata(&mut self, field: &str) -> Option<Value> {
        self.metadata_mut().remove(field)
    }

    pub fn set_finalizers(&mut self, finalizers: Vec<String>) {
        if finalizers.is_empty() {
            self.remove_metadata("finalizers");
        } else {
            self.set_metadata("finalizers", finalizers);
        }
    }

    /// Takes a top-level field from another object, absence included.
    pub fn take_from(&mut self, other: &Object, field: &str) {
        match other.0.get(field) {
            Some(value) => self.0.insert(field.to_owned(), value.clone()),
            None => self.0.remove(field),
        };
    }

    /// Takes a field of the metadata from another object, absence included.
    pub fn take_metadata_from(&mut self, other: &Object, field: &str) {
        match other.pointer(&["metadata", field]) {
            Some(value) => self.set_metadata(field, value.clone()),
            None => drop(self.remove_metadata(field)),
        }
    }
}

/// The object under `field`; made if there is none.
pub(crate) fn child<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = map.entry(field).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object above"),
    }
}

/// The list under `field`; made if there is none.
pub(crate) fn list<'a>(map: &'a mut Map<String, Value>, field: &str) -> &'a mut Vec<Value> {
    let value = map.entry(field).or_insert_with(|| json!([]));
    if !value.is_array() {
        *value = json!([]);
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("it was made a list above"),
    }
}

/// A moment where parts of a second count.
pub fn precise(now: Instant) -> Value {
    now.text(Precision::Micros).map_or(Value::Null, Value::String)
}

/// A moment as objects carry it.
pub fn timestamp(now: Instant) -> Value {
    now.text(Precision::Seconds).map_or(Value::Null, Value::String)
}
