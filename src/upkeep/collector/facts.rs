//! What matters of an object when it is asked who owns it and how it goes.

use apiserver::object::{Object, Peek};
use serde::Deserialize;
use serde_json::Value;

/// Held until what depends on the object, and says that it blocks, is gone.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// Held until nothing depends on the object any more.
pub(super) const ORPHAN: &str = "orphan";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub(super) uid: String,
    pub(super) going: bool,
    pub(super) foreground: bool,
    pub(super) orphan: bool,
    pub(super) owners: Vec<Owner>,
}

/// A reference to an owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Owner {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) uid: String,
    #[serde(rename = "blockOwnerDeletion")]
    pub(super) blocks: bool,
}

impl Facts {
    /// Reads them out of what is stored.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let metadata = Peek::of(Peek::of(bytes).raw(&["metadata"]).unwrap_or_default());
        let finalizers: Vec<String> = metadata.value(&["finalizers"]).unwrap_or_default();
        Self {
            uid: metadata.text(&["uid"]).unwrap_or_default().into_owned(),
            going: metadata.text(&["deletionTimestamp"]).is_some(),
            foreground: finalizers.iter().any(|name| name == FOREGROUND),
            orphan: finalizers.iter().any(|name| name == ORPHAN),
            owners: metadata.value(&["ownerReferences"]).unwrap_or_default(),
        }
    }

    pub(super) fn of(object: &Object) -> Self {
        let owners = object.pointer(&["metadata", "ownerReferences"]).and_then(Value::as_array);
        let read = |owner: &Value| Owner::deserialize(owner).ok();
        Self {
            uid: object.uid().to_owned(),
            going: object.is_deleting(),
            foreground: object.finalizers().any(|name| name == FOREGROUND),
            orphan: object.finalizers().any(|name| name == ORPHAN),
            owners: owners.into_iter().flatten().filter_map(read).collect(),
        }
    }

    /// It is to go when what it owns is gone.
    pub(super) fn is_waiting(&self) -> bool {
        self.going && self.foreground
    }

    /// It is to go when what it owned is nobody's.
    pub(super) fn is_orphaning(&self) -> bool {
        self.going && self.orphan
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn facts_are_the_same_however_they_are_read() {
        let owner = json!({ "apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "o", "blockOwnerDeletion": true });
        let metadata = json!({
            "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x", FOREGROUND],
            "ownerReferences": [owner, { "uid": "q" }],
        });
        for tree in [json!({ "metadata": metadata }), json!({ "metadata": { "uid": "u" } }), json!({})] {
            let bytes = tree.to_string();
            assert_eq!(Facts::read(bytes.as_bytes()), Facts::of(&tree.try_into().unwrap()), "{bytes}");
        }
        let facts = Facts::read(json!({ "metadata": metadata }).to_string().as_bytes());
        assert!(facts.is_waiting() && !facts.is_orphaning());
        assert!(facts.owners[0].blocks && !facts.owners[1].blocks);
    }
}
