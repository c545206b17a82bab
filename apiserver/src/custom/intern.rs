//! One copy of what is equal: a definition that is installed in a thousand workspaces is compiled once.

use super::CustomSchema;
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Arc, Weak};

/// Compiled schemas by what they were compiled from, for as long as somebody uses them.
#[derive(Debug, Default)]
pub struct Interned {
    /// Nothing else is locked, and nothing is compiled, while this is held.
    schemas: Mutex<HashMap<[u8; 32], Weak<CustomSchema>>>,
}

impl Interned {
    /// The compiled form of one entry of a definition's `versions`.
    pub fn get(&self, version: &Value) -> Arc<CustomSchema> {
        let hash: [u8; 32] = Sha256::digest(essence(version).to_string()).into();
        if let Some(known) = self.schemas.lock().get(&hash).and_then(Weak::upgrade) {
            return known;
        }
        // Whoever comes at the same time compiles the same.
        let made = Arc::new(CustomSchema::compile(version));
        let mut schemas = self.schemas.lock();
        if let Some(known) = schemas.get(&hash).and_then(Weak::upgrade) {
            return known;
        }
        if schemas.len() == schemas.capacity() {
            schemas.retain(|_, schema| schema.strong_count() > 0);
        }
        schemas.insert(hash, Arc::downgrade(&made));
        made
    }

    /// How many are in use.
    pub fn len(&self) -> usize {
        self.schemas.lock().values().filter(|schema| schema.strong_count() > 0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What of a version decides how its objects are treated. Names are no part of it.
fn essence(version: &Value) -> Value {
    const PARTS: [&str; 4] = ["schema", "subresources", "additionalPrinterColumns", "selectableFields"];
    PARTS.iter().map(|part| version.get(*part).cloned().unwrap_or(Value::Null)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_schemas_are_one_and_are_forgotten_when_nobody_uses_them() {
        let interned = Interned::default();
        let version =
            |name: &str, text: &str| json!({ "name": name, "schema": { "openAPIV3Schema": { "type": text } } });
        let one = interned.get(&version("v1", "object"));
        let other = interned.get(&version("v2", "object"));
        assert!(Arc::ptr_eq(&one, &other));
        drop(interned.get(&json!({ "schema": { "openAPIV3Schema": { "type": "object", "nullable": true } } })));
        assert_eq!(interned.len(), 1);
        drop((one, other));
        assert!(interned.is_empty());
    }
}
