//! Lists that are sets or maps: nothing in them may be there twice.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::node::{ListType, Node};
use super::print::{json, shown};
use crate::field::{FieldError, Wrong};

/// Errors that are told of one object.
const ERRORS_MAX: usize = 500;

/// The duplicates in an object's lists.
pub(super) fn duplicates(root: &Node, object: &Value) -> Vec<FieldError> {
    let mut finder = Finder { path: String::new(), errors: Vec::new() };
    if let Value::Object(map) = object {
        finder.object(root, map);
    }
    finder.errors
}

struct Finder {
    path: String,
    errors: Vec<FieldError>,
}

impl Finder {
    fn value(&mut self, node: &Node, value: &Value) {
        match value {
            Value::Array(items) => self.list(node, items),
            Value::Object(map) => self.object(node, map),
            _ => {}
        }
    }

    fn object(&mut self, node: &Node, map: &Map<String, Value>) {
        let length = self.path.len();
        for (name, value) in map {
            if let Some(additional) = node.additional_properties().schema() {
                self.path.push_str(&format!("[{name}]"));
                self.value(additional, value);
                self.path.truncate(length);
            }
            if let Some(property) = node.property(name) {
                self.path.push_str(if length > 0 { "." } else { "" });
                self.path.push_str(name);
                self.value(property, value);
                self.path.truncate(length);
            }
        }
    }

    fn list(&mut self, node: &Node, items: &[Value]) {
        match node.list_type() {
            Some(ListType::Set) => {
                for at in repeated(items.iter().map(Some)) {
                    self.duplicate(at, shown(&items[at]));
                }
            }
            Some(ListType::Map) => self.map(node, items),
            _ => {}
        }
        let Some(inner) = node.items() else { return };
        let length = self.path.len();
        for (at, item) in items.iter().enumerate().filter(|(_, item)| item.is_array() || item.is_object()) {
            self.path.push_str(&format!("[{at}]"));
            self.value(inner, item);
            self.path.truncate(length);
        }
    }

    fn map(&mut self, node: &Node, items: &[Value]) {
        if let Some(at) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
            let error = FieldError {
                wrong: Wrong::Invalid,
                field: format!("{}[{at}]", self.path),
                value: Some(shown(&items[at])),
                detail: "must be an object for an array of list-type map".to_owned(),
            };
            return self.add(error);
        }
        let mut names = node.list_map_keys();
        if let (Some(name), None) = (names.next(), names.next()) {
            for at in repeated(items.iter().map(|item| item.get(name))) {
                let key = items[at].get(name).map(|key| Map::from_iter([(name.to_owned(), key.clone())]));
                self.duplicate(at, json(&Value::Object(key.unwrap_or_default())));
            }
            return;
        }
        let keys: Vec<Value> = items.iter().map(|item| Value::Object(key_of(node, item))).collect();
        for at in repeated(keys.iter().map(Some)) {
            self.duplicate(at, json(&keys[at]));
        }
    }

    fn duplicate(&mut self, at: usize, shown: String) {
        let field = format!("{}[{at}]", self.path);
        self.add(FieldError { wrong: Wrong::Duplicate, field, value: Some(shown), detail: String::new() });
    }

    fn add(&mut self, error: FieldError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }
}

fn key_of(node: &Node, item: &Value) -> Map<String, Value> {
    node.list_map_keys().filter_map(|name| Some((name.to_owned(), item.get(name)?.clone()))).collect()
}

/// Where each repeated value stands for the second time.
fn repeated<'a>(values: impl Iterator<Item = Option<&'a Value>>) -> Vec<usize> {
    let mut times: HashMap<Option<String>, usize> = HashMap::new();
    let mut found = Vec::new();
    for (at, value) in values.enumerate() {
        let seen = times.entry(value.map(Value::to_string)).or_default();
        *seen += 1;
        if *seen == 2 {
            found.push(at);
        }
    }
    found
}
