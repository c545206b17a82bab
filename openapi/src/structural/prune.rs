//! Takes out of an object what its schema does not specify.

use std::sync::LazyLock;

use serde_json::{Map, Value};

use super::node::Node;
use crate::builtin::{self, Element, Type};
use crate::check::{PROBLEMS_MAX, Problem, check};

/// Text that is kept of the paths of one object. All that is unspecified goes, but only so much of it is told.
const BYTES_MAX: usize = 1 << 20;

static METADATA: LazyLock<Option<&'static Type>> = LazyLock::new(|| {
    let field = builtin::kind_in("v1", "Pod")?.field("metadata")?;
    match field.element {
        Element::Struct(id) => Some(id.get()),
        _ => None,
    }
});

/// The type of `metadata`, of any object.
pub(crate) fn metadata_type() -> Option<&'static Type> {
    *METADATA
}

/// What every object may say of itself, whatever its schema.
pub(super) fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

pub(super) fn prune(object: &mut Value, root: &Node) -> Vec<String> {
    let mut pruner = Pruner::default();
    let Value::Object(map) = object else { return Vec::new() };
    pruner.metadata(map);
    let told = pruner.found.len();
    pruner.object(map, root, true, root.preserve);
    pruner.found[told..].sort_unstable();
    let told = pruner.found.len();
    pruner.embedded_in(map, root);
    pruner.found[told..].sort_unstable();
    pruner.found
}

/// Whether pruning by this schema would change the value; `embedded` if it is a resource of its own.
pub(crate) fn is_pruned(value: &Value, node: &Node, embedded: bool) -> bool {
    let mut copy = value.clone();
    let mut pruner = Pruner::default();
    match &mut copy {
        Value::Object(map) => pruner.object(map, node, embedded, node.preserve),
        other => pruner.value(other, Some(node), false),
    }
    copy == *value
}

/// The value with the metadata of embedded resources in the form in which Go prints it; `resource` if it is one itself.
pub(super) fn coerced(value: &Value, node: &Node, resource: bool) -> Value {
    let mut copy = value.clone();
    let mut pruner = Pruner::default();
    match &mut copy {
        Value::Object(map) => {
            if resource {
                pruner.metadata(map);
            }
            pruner.embedded_in(map, node);
        }
        other => pruner.embedded(other, node),
    }
    copy
}

#[derive(Default)]
struct Pruner {
    path: String,
    found: Vec<String>,
    bytes: usize,
}

impl Pruner {
    fn tell(&mut self, name: &str) {
        if self.found.len() < PROBLEMS_MAX && self.bytes < BYTES_MAX {
            let length = self.enter(name);
            self.bytes += self.path.len();
            self.found.push(self.path.clone());
            self.path.truncate(length);
        }
    }

    /// Adds a name to the path and returns the length to cut it back to.
    fn enter(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        length
    }

    fn within(&mut self, name: &str, work: impl FnOnce(&mut Self)) {
        let length = self.enter(name);
        work(self);
        self.path.truncate(length);
    }

    fn items(&mut self, items: &mut [Value], mut each: impl FnMut(&mut Self, &mut Value)) {
        let length = self.path.len();
        for (at, item) in items.iter_mut().enumerate().filter(|(_, item)| item.is_object() || item.is_array()) {
            self.path.push_str(&format!("[{at}]"));
            each(self, item);
            self.path.truncate(length);
        }
    }

    /// `kept` if a list around it preserves what is unknown.
    fn value(&mut self, value: &mut Value, node: Option<&Node>, kept: bool) {
        let Some(node) = node else { return self.unspecified(value, kept) };
        let kept = kept || node.preserve;
        match value {
            Value::Object(map) => self.object(map, node, node.embedded, kept),
            Value::Array(items) => {
                self.items(items, |pruner, item| pruner.value(item, node.items(), kept));
            }
            _ => {}
        }
    }

    fn unspecified(&mut self, value: &mut Value, kept: bool) {
        match value {
            Value::Object(map) if !kept => {
                map.keys().for_each(|name| self.tell(name));
                map.clear();
            }
            Value::Array(items) if !kept => self.items(items, |pruner, item| pruner.unspecified(item, false)),
            _ => {}
        }
    }

    fn object(&mut self, map: &mut Map<String, Value>, node: &Node, embedded: bool, kept: bool) {
        map.retain(|name, value| {
            if embedded && is_meta(name) {
                return true;
            }
            let property = node.property(name);
            if property.is_some() || node.additional.is_specified() {
                self.within(name, |pruner| pruner.value(value, property.or(node.additional.schema()), false));
                return true;
            }
            if !kept {
                self.tell(name);
            }
            kept
        });
    }

    /// Prunes the metadata of a resource, and brings it into the form in which Go prints it.
    fn metadata(&mut self, resource: &mut Map<String, Value>) {
        let (Some(metadata), Some(ty)) = (resource.get_mut("metadata"), metadata_type()) else { return };
        self.within("metadata", |pruner| {
            let mut readable = true;
            for problem in check(metadata, ty) {
                match problem {
                    Problem::UnknownField { path } => pruner.tell(&path),
                    Problem::WrongValue { .. } => readable = false,
                }
            }
            if readable {
                crate::normalize(metadata, ty);
            } else {
                crate::prune(metadata, ty);
            }
        });
    }

    fn embedded(&mut self, value: &mut Value, node: &Node) {
        match value {
            Value::Object(map) => {
                if node.embedded {
                    self.metadata(map);
                }
                self.embedded_in(map, node);
            }
            Value::Array(items) => {
                if let Some(inner) = node.items() {
                    self.items(items, |pruner, item| pruner.embedded(item, inner));
                }
            }
            _ => {}
        }
    }

    fn embedded_in(&mut self, map: &mut Map<String, Value>, node: &Node) {
        let inner = map.iter_mut().filter(|(_, value)| value.is_object() || value.is_array());
        for (name, value) in inner {
            if let Some(property) = node.property(name) {
                self.within(name, |pruner| pruner.embedded(value, property));
            } else if let Some(any) = node.additional.schema() {
                let length = self.path.len();
                self.path.push_str(&format!("[{name}]"));
                self.embedded(value, any);
                self.path.truncate(length);
            }
        }
    }
}
