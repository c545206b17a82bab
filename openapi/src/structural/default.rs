//! Fills absent fields with the defaults of their schema, and takes out nulls that stand for absent ones.

use serde_json::{Map, Value};

use super::node::Node;

/// Defaults that are added to one object. No object of this size is kept, so one that wants more is refused anyhow.
const BYTES_MAX: usize = 16 << 20;

pub(super) fn default(object: &mut Value, root: &Node) {
    Filler { room: BYTES_MAX }.value(object, root);
}

/// A null that the schema neither allows nor has a default for is as if it were absent; in a list it stays.
pub(super) fn drop_nulls(value: &mut Value, node: &Node) {
    match value {
        Value::Object(map) => map.retain(|name, value| match node.entry(name) {
            Some(entry) if value.is_null() => entry.nullable || entry.preset.is_some(),
            Some(entry) => {
                drop_nulls(value, entry);
                true
            }
            None => true,
        }),
        Value::Array(items) => {
            if let Some(inner) = node.items() {
                items.iter_mut().for_each(|item| drop_nulls(item, inner));
            }
        }
        _ => {}
    }
}

struct Filler {
    room: usize,
}

impl Filler {
    fn preset(&mut self, node: &Node) -> Option<Value> {
        let preset = node.preset.as_deref()?;
        self.room = self.room.checked_sub(preset.weight)?;
        Some(preset.value.clone())
    }

    fn value(&mut self, value: &mut Value, node: &Node) {
        match value {
            Value::Object(map) => self.object(map, node),
            Value::Array(items) => {
                if let Some(inner) = node.items() {
                    items.iter_mut().for_each(|item| self.present(item, inner));
                }
            }
            _ => {}
        }
    }

    /// A value that is there, be it null.
    fn present(&mut self, value: &mut Value, node: &Node) {
        if value.is_null()
            && !node.nullable
            && let Some(preset) = self.preset(node)
        {
            *value = preset;
        }
        self.value(value, node);
    }

    fn object(&mut self, map: &mut Map<String, Value>, node: &Node) {
        for (name, property) in node.properties().filter(|(_, property)| property.preset.is_some()) {
            let absent = map.get(name).is_none_or(|value| value.is_null() && !property.nullable);
            if absent && let Some(preset) = self.preset(property) {
                map.insert(name.to_owned(), preset);
            }
        }
        for (name, value) in map {
            if let Some(entry) = node.entry(name) {
                self.present(value, entry);
            }
        }
    }
}
