//! What an object of a cell looks like where it is shown. Pure.

use crate::fleet::CellId;
use apiserver::admission::MIRRORED;
use apiserver::object::Object;
use serde_json::{Map, Value, json};

/// The UID that the object has in its cell, its namespace and name there, and the record of the copy that it is there
/// because of.
pub(super) const CELL_UID: &str = "federation.hanse.dev/cell-uid";
pub(super) const CELL_NAMESPACE: &str = "federation.hanse.dev/cell-namespace";
pub(super) const CELL_NAME: &str = "federation.hanse.dev/cell-name";
pub(super) const BECAUSE: &str = "federation.hanse.dev/because";

/// Where an object comes from, and what it belongs to here.
pub(super) struct Origin<'a> {
    pub(super) cell: &'a CellId,
    pub(super) owner: &'a Value,
    pub(super) because: &'a str,
}

/// What an object says of itself in the cell that is not so here.
const OF_THE_CELL: [&str; 12] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "ownerReferences",
    "finalizers",
    "selfLink",
    "generateName",
    "namespace",
];

pub(super) fn object(object: &Value, origin: &Origin<'_>, namespace: Option<&str>, api_version: &str) -> Value {
    let mut shown = object.clone();
    shown["apiVersion"] = json!(api_version);
    let mut metadata = shown["metadata"].as_object().cloned().unwrap_or_default();
    for field in OF_THE_CELL {
        metadata.remove(field);
    }
    if let Some(namespace) = namespace {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    metadata.insert("ownerReferences".to_owned(), json!([origin.owner]));
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    annotations[MIRRORED] = json!(from(origin.cell));
    for (key, field) in [(CELL_UID, "uid"), (CELL_NAMESPACE, "namespace"), (CELL_NAME, "name")] {
        annotations[key] = json!(object["metadata"][field].as_str().unwrap_or_default());
    }
    annotations[BECAUSE] = json!(origin.because);
    shown["metadata"] = Value::Object(metadata);
    shown
}

/// How a cell is named on what is shown of it.
fn from(cell: &CellId) -> String {
    format!("cell {} of {}", cell.name, cell.workspace)
}

/// Whether an object shows something of a cell.
pub(super) fn is_from(object: &Object, cell: &CellId) -> bool {
    object.annotation(MIRRORED) == Some(from(cell).as_str())
}

/// An owner, as those name it who belong to it.
pub(super) fn owner(source: &Value) -> Value {
    json!({
        "apiVersion": source["apiVersion"], "kind": source["kind"], "name": source["name"], "uid": source["uid"],
        "controller": true, "blockOwnerDeletion": false,
    })
}

/// An object, as records name it.
pub(super) fn named(object: &Object) -> Value {
    json!({
        "apiVersion": object.api_version(), "kind": object.kind(), "name": object.name(), "uid": object.uid(),
    })
}

/// What an object can be called here: as in the cell, or with the name of the cell where another has that name.
pub(super) fn names(object: &Value, cell: &CellId) -> [String; 2] {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    [name.to_owned(), format!("{name}-{}", cell.name)]
}

/// Whether what is shown is what should be, but for what only this server knows, and the status.
pub(super) fn says(there: &Object, wanted: &Value) -> bool {
    let metadata = |key: &str| there.pointer(&["metadata", key]).filter(|found| **found != json!({}));
    let same = ["labels", "annotations", "ownerReferences"]
        .iter()
        .all(|key| metadata(key) == wanted["metadata"].get(key).filter(|wanted| **wanted != json!({})));
    same && content(there.map()) == content(wanted.as_object().unwrap_or(&Map::new()))
}

fn content(object: &Map<String, Value>) -> Map<String, Value> {
    let told = |(key, _): &(&String, &Value)| !["metadata", "status", "apiVersion", "kind"].contains(&key.as_str());
    object.iter().filter(told).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What is there, with what should be.
pub(super) fn revised(there: &Object, wanted: &Value) -> Object {
    let mut revised = there.clone();
    let map = revised.map_mut();
    map.retain(|key, _| ["metadata", "status", "apiVersion", "kind"].contains(&key.as_str()));
    map.extend(content(wanted.as_object().unwrap_or(&Map::new())));
    for key in ["labels", "annotations", "ownerReferences"] {
        match wanted["metadata"].get(key) {
            Some(value) => revised.set_metadata(key, value.clone()),
            None => drop(revised.remove_metadata(key)),
        }
    }
    revised
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(spec: i64) -> Value {
        let born = json!({
            "apiVersion": "c/v1", "kind": "Instance", "spec": { "size": spec }, "status": { "ready": true },
            "metadata": { "name": "web-0", "namespace": "ns-1", "uid": "in-cell", "finalizers": ["f"],
                          "ownerReferences": [{ "uid": "copy" }], "labels": { "a": "b" } },
        });
        let source = json!({ "apiVersion": "c/v1", "kind": "Deployment", "name": "web", "uid": "source" });
        let (cell, owner) = (CellId::new("root", "dfw"), owner(&source));
        object(&born, &Origin { cell: &cell, owner: &owner, because: "source.dfw" }, Some("default"), "c/v2")
    }

    #[test]
    fn what_is_shown_belongs_to_the_source_and_says_where_it_is() {
        let shown = shown(1);
        let metadata = &shown["metadata"];
        assert_eq!((&metadata["namespace"], &metadata["labels"]["a"]), (&json!("default"), &json!("b")));
        assert_eq!(metadata["ownerReferences"][0]["uid"], "source");
        assert!(metadata.get("finalizers").is_none() && metadata.get("uid").is_none());
        assert_eq!(metadata["annotations"][MIRRORED], "cell dfw of root");
        assert_eq!(metadata["annotations"][CELL_UID], "in-cell");
        assert_eq!(shown["apiVersion"], "c/v2");
        let object = Object::try_from(shown).unwrap();
        assert!(is_from(&object, &CellId::new("root", "dfw")) && !is_from(&object, &CellId::new("w", "dfw")));
    }

    #[test]
    fn a_difference_is_seen_and_mended() {
        let there = Object::try_from(shown(1)).unwrap();
        assert!(says(&there, &shown(1)));
        assert!(!says(&there, &shown(2)));
        assert!(says(&revised(&there, &shown(2)), &shown(2)));
    }
}
