//! One copy of what is equal: a definition that is installed in a thousand workspaces is compiled once.

use super::{Conversions, CustomSchema};
use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

/// Compiled schemas by what they were compiled from, for as long as somebody uses them.
#[derive(Debug, Default)]
pub struct Interned {
    /// Nothing else is locked, and nothing is compiled, while this is held.
    schemas: Mutex<HashMap<[u8; 32], Weak<CustomSchema>>>,
    /// The same for these.
    conversions: Mutex<HashMap<[u8; 32], Weak<Conversions>>>,
}

impl Interned {
    /// The compiled form of one entry of a definition's `versions`.
    pub fn get(&self, version: &Value) -> Arc<CustomSchema> {
        let hash = Sha256::digest(essence(version).to_string()).into();
        one(&self.schemas, hash, || CustomSchema::compile(version))
    }

    /// The compiled form of how the versions of a definition are converted.
    pub fn conversions(
        &self,
        said: &str,
        definition: &[&Value],
        versions: &BTreeMap<String, Arc<CustomSchema>>,
    ) -> Arc<Conversions> {
        let mut hash = Sha256::new_with_prefix(said);
        for version in definition {
            hash.update(version["name"].to_string());
            hash.update(essence(version).to_string());
        }
        let all: Vec<Value> = serde_json::from_str(said).unwrap_or_default();
        one(&self.conversions, hash.finalize().into(), || Conversions::compile(&all, versions))
    }

    /// How many are in use.
    pub fn len(&self) -> usize {
        self.schemas.lock().values().filter(|schema| schema.strong_count() > 0).count()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What was made of the same before, or what is made now.
fn one<T>(known: &Mutex<HashMap<[u8; 32], Weak<T>>>, hash: [u8; 32], make: impl FnOnce() -> T) -> Arc<T> {
    if let Some(found) = known.lock().get(&hash).and_then(Weak::upgrade) {
        return found;
    }
    // Whoever comes at the same time makes the same.
    let made = Arc::new(make());
    let mut known = known.lock();
    if let Some(found) = known.get(&hash).and_then(Weak::upgrade) {
        return found;
    }
    if known.len() == known.capacity() {
        known.retain(|_, one| one.strong_count() > 0);
    }
    known.insert(hash, Arc::downgrade(&made));
    made
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
