//! Which old value a new one came from, and whether it changed: what an update did not touch, it is not blamed for.

use std::collections::HashMap;

use serde_json::Value;

use super::node::{ListType, Node, Type};

/// The old items of a list, by their keys. Only lists of type map have any.
#[derive(Debug)]
pub struct OldItems<'a> {
    node: &'a Node,
    by_key: HashMap<String, &'a Value>,
}

impl<'a> OldItems<'a> {
    pub fn of(node: &'a Node, old: Option<&'a Value>) -> Self {
        let mut by_key = HashMap::new();
        let is_map = node.ty() == Some(Type::Array) && node.list_type() == Some(ListType::Map);
        if let Some(Value::Array(items)) = old.filter(|_| is_map) {
            for item in items {
                if let Some(key) = key_of(node, item) {
                    by_key.entry(key).or_insert(item);
                }
            }
        }
        Self { node, by_key }
    }

    pub fn of_item(&self, item: &Value) -> Option<&'a Value> {
        if self.by_key.is_empty() {
            return None;
        }
        self.by_key.get(&key_of(self.node, item)?).copied()
    }
}

/// None for an item that lacks a key, or whose key is no scalar.
fn key_of(node: &Node, item: &Value) -> Option<String> {
    let mut key = String::new();
    for name in node.list_map_keys() {
        match item.get(name)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => {
                key.push_str(&scalar.to_string());
                key.push('\0');
            }
        }
    }
    (!key.is_empty()).then_some(key)
}

/// The old value of an entry of a map.
pub(super) fn old_entry<'a>(old: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    old?.as_object()?.get(name)
}

/// Whether a value is what it was. The items of a list of type map may have changed places; an object that holds what
/// its schema does not know always counts as changed.
pub fn unchanged(node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(before)) => {
            if new.len() != before.len() {
                return false;
            }
            if node.list_type() != Some(ListType::Map) {
                return new == before;
            }
            let old_items = OldItems::of(node, Some(old));
            let same = |item: &Value| Some(unchanged(node.items()?, item, old_items.of_item(item)?));
            new.iter().all(|item| same(item) == Some(true))
        }
        (Value::Object(new), Value::Object(old)) => {
            let same = |name: &str, new: &Value| Some(unchanged(node.entry(name)?, new, old.get(name)?));
            new.len() == old.len() && new.iter().all(|(name, value)| same(name, value) == Some(true))
        }
        _ => new == old,
    }
}
