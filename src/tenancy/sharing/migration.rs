//! What was stored before a kind got another storage version is written again when its export drops the older version.
//!
//! Once a binding has followed to a schema, everything is stored in the version that this one says: so what is found in
//! another is older, and when none is left there will be none. Nothing is written before it has to be: rules may convert
//! objects so that they cannot be converted back.

use super::bound::REWRITING;
use super::compatible::stranded;
use super::words::{BINDINGS, EXPORTS, SCHEMAS};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::{Object, Peek};
use apiserver::place::{Collection, ObjectRef, Workspace};
use apiserver::strategy::Part;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

/// Objects that are written before the rest is looked at: bounds how much is held at once.
const SEEN_AT_ONCE: usize = 1024;

/// Objects that are written at once: they share what it costs to be sure of a write.
const TOGETHER: usize = 32;

/// How far it has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// Everything is stored as it should be, and the binding says so already.
    Nothing,
    /// Something was written: there may be more, or something that waited for it.
    Some,
}

/// Whether a binding waits for objects to be written again.
pub(super) fn is_due(conditions: &[Value]) -> bool {
    conditions.iter().any(|condition| condition["reason"] == REWRITING && condition["status"] == "False")
}

/// Writes what is stored in other versions than the one that a binding asks for now, or says on it that nothing is.
pub(super) async fn migrate(client: &Client, workspace: &Workspace, binding: &Object) -> Result<Progress, ApiError> {
    if !is_due(&binding.items(&["status", "conditions"]).cloned().collect::<Vec<_>>()) {
        return Ok(Progress::Nothing);
    }
    let mut bound: Vec<Value> = binding.items(&["status", "boundResources"]).cloned().collect();
    let (catalog, offered) = (client.catalog(workspace)?, offered(client, binding).await?);
    let mut settled = false;
    for bound in bound.iter_mut().filter(|bound| offered.iter().any(|schema| waits_for(bound, schema))) {
        let word = |at: &str| bound.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let Some(resource) = catalog.stored_as(word("/group"), word("/resource")) else { continue };
        if resource.stored.identity.as_deref() != Some(word("/schema/identityHash")) {
            continue;
        }
        let place = Collection { resource: resource.clone(), workspace: workspace.clone(), namespace: None };
        let behind = behind(client, &place)?;
        if !behind.is_empty() {
            rewrite(client, behind).await?;
            return Ok(Progress::Some);
        }
        bound["storageVersions"] = json!([resource.stored.version]);
        settled = true;
    }
    if !settled {
        return Ok(Progress::Nothing);
    }
    // As it was read: if it has followed to yet another schema since, that has to be looked at first.
    let version = binding.resource_version();
    let said = json!({ "metadata": { "resourceVersion": version }, "status": { "boundResources": bound } });
    let at = client.at(BINDINGS, workspace, None)?.object(binding.name());
    client.merge(&at, Part::Status, &said).await?;
    Ok(Progress::Some)
}

/// The schemas that the export of a binding names now.
async fn offered(client: &Client, binding: &Object) -> Result<Vec<Object>, ApiError> {
    let home = Workspace::new(binding.text(&["status", "apiExportClusterName"]));
    let export = binding.text(&["spec", "reference", "export", "name"]);
    let Some(export) = client.get(&client.at(EXPORTS, &home, None)?.object(export)).await? else {
        return Ok(Vec::new());
    };
    let (place, mut schemas) = (client.at(SCHEMAS, &home, None)?, Vec::new());
    for resource in export.items(&["spec", "resources"]) {
        schemas.extend(client.get(&place.object(resource["schema"].as_str().unwrap_or_default())).await?);
    }
    Ok(schemas)
}

/// Whether a kind that is bound cannot follow to a schema because of what is stored.
fn waits_for(bound: &Value, schema: &Object) -> bool {
    bound["group"] == schema.text(&["spec", "group"])
        && bound["resource"] == schema.text(&["spec", "names", "plural"])
        && !stranded(bound, schema).is_empty()
}

/// Some of the objects that are stored in another version.
fn behind(client: &Client, place: &Collection) -> Result<Vec<ObjectRef>, ApiError> {
    let now = format!("{}/{}", place.resource.stored.group, place.resource.stored.version);
    let mut found = Vec::new();
    for entry in client.scan(place)? {
        let entry = entry?;
        let is_behind = Peek::new(&entry.version).text(&["apiVersion"]).as_deref() != Some(&now);
        if is_behind && let Some(at) = client.place_of(&entry.key) {
            found.push(at);
        }
        if found.len() == SEEN_AT_ONCE {
            break;
        }
    }
    Ok(found)
}

async fn rewrite(client: &Client, behind: Vec<ObjectRef>) -> Result<(), ApiError> {
    let written = stream::iter(behind).map(|at| async move {
        match client.merge(&at, Part::Main, &json!({})).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(()),
        }
    });
    written.buffer_unordered(TOGETHER).try_collect::<Vec<()>>().await.map(drop)
}
