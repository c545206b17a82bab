//! Records of copies: what they are called, and how they are read and written.

use crate::apis::definitions::{CLEANUP, COPIES, PLACEMENTS, copy_name};
use crate::fleet::api::{CellPlace, CellResource};
use crate::fleet::{CellId, CopyFacts, CopyId, CopyKind};
use crate::scheduler::controller::staying_in;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, ObjectRef, Workspace};
use bytes::Bytes;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Says that an object was there before us, and is not ours.
pub(super) const FOUND: &str = "Found";

/// What is written down of an object in our place that is not ours: nothing that was known of ours holds any more.
pub(super) fn not_ours(applied: &str, reason: &str, message: &str) -> Value {
    json!({
        "applied": applied, "reason": reason, "message": message,
        "hash": null, "uid": null, "fields": null, "statusHash": null, "statusFields": null, "observed": null,
    })
}

/// The record of the copy of an object in a cell.
pub(super) fn id(workspace: &Workspace, source: &str, cell: &CellId) -> CopyId {
    let name = copy_name(workspace.as_str(), source, (cell.workspace.as_str(), &cell.name));
    CopyId { workspace: workspace.clone(), name }
}

/// What the records of namespaces begin with that are called otherwise in cells than here: by other rules they may be in
/// the same cells by their own names, too.
const MAPPED: &str = "ns-";

/// The record of a namespace in a cell, where it is called `in_cell`.
pub(super) fn namespace_id(workspace: &Workspace, namespace: (&str, &str), in_cell: &str, cell: &CellId) -> CopyId {
    let (name, uid) = namespace;
    if name == in_cell { id(workspace, uid, cell) } else { id(workspace, &format!("{MAPPED}{uid}"), cell) }
}

/// The UID of what a record is about.
pub(super) fn source_of(id: &CopyId) -> &str {
    let first = id.name.split('.').next().unwrap_or_default();
    first.strip_prefix(MAPPED).unwrap_or(first)
}

/// The UID of what is placed, if that is why there is a record.
pub(super) fn placed_by(id: &CopyId) -> Option<&str> {
    (!id.name.starts_with(MAPPED)).then(|| source_of(id))
}

pub(super) fn place(client: &Client, id: &CopyId) -> Result<ObjectRef, ApiError> {
    Ok(client.at(COPIES, &id.workspace, None)?.object(&id.name))
}

pub(super) async fn get(client: &Client, id: &CopyId) -> Result<Option<Object>, ApiError> {
    client.get(&place(client, id)?).await
}

/// The same as it is stored, and known here: whoever writes it anew is refused if there is a later one.
pub(super) fn stored(client: &Client, id: &CopyId) -> Result<Option<Bytes>, ApiError> {
    client.glance(&place(client, id)?)
}

pub(super) fn parse(stored: &[u8]) -> Result<Object, ApiError> {
    Object::parse(stored).map_err(|error| ApiError::internal(error.to_string()))
}

/// Whether a record is about this object of the cell, says exactly this of it, and stays.
pub(super) fn says(stored: &[u8], at: &CellPlace, status: Value) -> bool {
    let (record, object, status) = (Peek::of(stored), object(at).to_string(), something(status).to_string());
    record.raw(&["metadata", "deletionTimestamp"]).is_none()
        && record.raw(&["spec", "object"]) == Some(object.as_bytes())
        && record.raw(&["status"]) == Some(status.as_bytes())
}

/// Without what is nothing: there may be very many of them.
fn something(mut told: Value) -> Value {
    if let Some(told) = told.as_object_mut() {
        told.retain(|_, value| !value.is_null() && value != "");
    }
    told
}

/// An object of a cell as records name it.
fn object(at: &CellPlace) -> Value {
    let CellPlace { resource, namespace, name } = at;
    something(json!({
        "group": resource.group, "version": resource.version, "resource": resource.plural, "kind": resource.kind,
        "namespace": namespace.as_deref().unwrap_or_default(), "name": name,
    }))
}

/// Where the placement of what has this UID is.
pub(super) fn placement_place(client: &Client, workspace: &Workspace, uid: &str) -> Result<ObjectRef, ApiError> {
    Ok(client.at(PLACEMENTS, workspace, None)?.object(uid))
}

/// Where a placement wants something: for good, or until the object has left the cell.
pub(super) fn wanted_in(placement: &Object) -> BTreeSet<CellId> {
    let word = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let targets = placement.items(&["spec", "cells"]);
    let targets = targets.map(|entry| CellId::new(&word(entry, "workspace"), &word(entry, "name")));
    targets.chain(staying_in(placement).map(|(workspace, name)| CellId::new(workspace, name))).collect()
}

/// The cells that a copy has to be gone from before others are made.
pub(super) fn first_gone(placement: &Object) -> impl Iterator<Item = CellId> {
    let first = placement.items(&["spec", "evictions"]).filter(|told| told["purge"] == "Directly");
    let word = |told: &Value, key: &str| told[key].as_str().unwrap_or_default().to_owned();
    first.map(move |told| CellId::new(&word(told, "workspace"), &word(told, "name")))
}

/// Where the object is that a record says it is about.
pub(super) fn source_place(client: &Client, workspace: &Workspace, source: &Value) -> Option<ObjectRef> {
    let word = |key: &str| source[key].as_str().unwrap_or_default();
    let group = word("apiVersion").split_once('/').map_or("", |(group, _)| group);
    let resource = client.stored_as(workspace, (group, word("resource")))?;
    let namespace = Some(word("namespace")).filter(|namespace| !namespace.is_empty()).map(str::to_owned);
    Some(Collection { resource, workspace: workspace.clone(), namespace }.object(word("name")))
}

/// The object of the cell that a record is about.
pub(super) fn cell_place(record: &Object, resource: CellResource) -> CellPlace {
    let namespace = record.text(&["spec", "object", "namespace"]);
    let namespace = Some(namespace).filter(|namespace| !namespace.is_empty()).map(str::to_owned);
    CellPlace { resource, namespace, name: record.text(&["spec", "object", "name"]).to_owned() }
}

/// Whether a record is about this object of the cell, in whatever version.
pub(super) fn is_about(record: &Object, place: &CellPlace) -> bool {
    let word = |key: &str| record.text(&["spec", "object", key]);
    let CellPlace { resource, namespace, name } = place;
    (word("group"), word("resource")) == (&resource.group, &resource.plural)
        && (word("namespace"), word("name")) == (namespace.as_deref().unwrap_or_default(), name)
}

/// The resource of the cell that a record is about, as the record has it.
pub(super) fn resource(record: &Object) -> CellResource {
    let word = |key: &str| record.text(&["spec", "object", key]).to_owned();
    CellResource {
        group: word("group"),
        version: word("version"),
        plural: word("resource"),
        kind: word("kind"),
        namespaced: !record.text(&["spec", "object", "namespace"]).is_empty(),
    }
}

/// A record of what is about to be put into a cell.
pub(super) fn intent(id: &CopyId, cell: (&CellId, &str), source: &Value, at: &CellPlace) -> Value {
    let (cell, cell_uid) = cell;
    let cell = json!({ "workspace": cell.workspace.as_str(), "name": cell.name, "uid": cell_uid });
    json!({
        // Whoever takes the record away takes the object away, and that is done here.
        "metadata": { "name": id.name, "finalizers": [CLEANUP] },
        "spec": { "cell": cell, "source": source, "object": object(at) },
    })
}

/// What such a record says.
pub(super) fn intended(id: &CopyId, cell: &CellId, at: &CellPlace) -> CopyFacts {
    let CellPlace { resource, namespace, name } = at.clone();
    let CellResource { group, version, plural, kind, .. } = resource;
    CopyFacts {
        cell: cell.clone(),
        source: source_of(id).to_owned(),
        kind: CopyKind { group, version, resource: plural, kind },
        namespace: namespace.unwrap_or_default(),
        name,
        uid: String::new(),
        applied: false,
        going: false,
    }
}

/// Writes what became of a copy, unless it is written already.
pub(super) async fn tell(client: &Client, record: &Object, id: &CopyId, status: &Value) -> Result<(), ApiError> {
    let said = |(key, value): (&String, &Value)| record.pointer(&["status", key]).unwrap_or(&Value::Null) == value;
    if status.as_object().into_iter().flatten().all(said) {
        return Ok(());
    }
    let mut told = record.clone();
    told.as_tree(|told| {
        let map = crate::apis::map_mut(told, &["status"]);
        for (key, value) in status.as_object().into_iter().flatten() {
            if value.is_null() {
                map.remove(key);
            } else {
                map.insert(key.clone(), value.clone());
            }
        }
    });
    // If it is another by now, or gone, whoever tells looks again.
    client.overwrite(&place(client, id)?, told).await.map(drop)
}

/// Writes down that something is about to be put into a cell. `None` if that is written already.
pub(super) async fn enter(client: &Client, id: &CopyId, intent: Value) -> Result<Option<Object>, ApiError> {
    let Ok(intent) = Object::try_from(intent) else { return Ok(None) };
    client.enter(&place(client, id)?, intent).await
}

pub(super) async fn forget(client: &Client, id: &CopyId) -> Result<(), ApiError> {
    let at = place(client, id)?;
    match client.get(&at).await? {
        Some(record) => client.remove(&at, &record).await,
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_says_what_was_written_and_nothing_else() {
        let resource = CellResource {
            group: String::new(),
            version: "v1".to_owned(),
            plural: "configmaps".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespaced: true,
        };
        let at = CellPlace { resource, namespace: Some("n".to_owned()), name: "x".to_owned() };
        let id = CopyId { workspace: Workspace::new("w"), name: "u.a".to_owned() };
        let told = json!({ "hash": "h", "uid": "u", "applied": "True", "reason": null, "decided": null });
        let record = |change: fn(&mut Value)| {
            let mut record = intent(&id, (&CellId::new("w", "a"), "c"), &json!({ "uid": "u" }), &at);
            record["status"] = json!({ "hash": "h", "uid": "u", "applied": "True" });
            change(&mut record);
            record.to_string()
        };
        let check = |change: fn(&mut Value), expect: bool| {
            assert_eq!(says(record(change).as_bytes(), &at, told.clone()), expect, "{}", record(change));
        };
        check(|_| {}, true);
        check(|record| record["status"]["hash"] = json!("other"), false);
        check(|record| record["status"]["observed"] = json!({}), false);
        check(|record| record["spec"]["object"]["namespace"] = json!("m"), false);
        check(|record| record["metadata"]["deletionTimestamp"] = json!("t"), false);
        check(|record| drop(record.as_object_mut().unwrap().remove("status")), false);
    }
}
