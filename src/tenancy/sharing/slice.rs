//! Slices: under which URL the objects of an export's kinds are found.

use super::words::EXPORTS;
use crate::tenancy::conditions::{Conditions, State};
use crate::tenancy::path;
use crate::tenancy::types::Types;
use crate::tenancy::words::collection;
use apiserver::allocate::Beside;
use apiserver::attend::Attending;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::Workspace;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};

pub(super) fn attend(object: &mut Object, write: &Attending<'_>, url: &str) -> Result<Vec<Beside>, ApiError> {
    let said = |field: &str| object.text(&["spec", "export", field]).to_owned();
    let (path, name) = (said("path"), said("name"));
    let here = write.at.workspace.as_str().to_owned();
    let home = if path.is_empty() { Some(here) } else { path::resolve(&path, &Types { around: write.around }) };
    let export = match &home {
        Some(home) => {
            let exports = collection(write.around, EXPORTS, &Workspace::new(home))?;
            write.around.object(&exports.object(&name))?
        }
        None => None,
    };
    let home = home.filter(|_| export.is_some());
    let old = write.old.and_then(|old| old.pointer(&["status"]));
    let status = status(home.as_deref().map(|home| address(url, home, &name)), old, write.ambient.now());
    object.map_mut().insert("status".to_owned(), status);
    Ok(Vec::new())
}

/// Where the objects of an export's kinds are found.
pub(super) fn address(url: &str, home: &str, export: &str) -> String {
    format!("{url}/services/apiexport/{home}/{export}")
}

/// What a slice says: where, unless there is no such export.
pub(super) fn status(address: Option<String>, old: Option<&Value>, now: Instant) -> Value {
    let before = old.and_then(|old| old.get("conditions")).and_then(Value::as_array);
    let mut conditions = Conditions::read(before.into_iter().flatten());
    let found = match address {
        Some(_) => State::True,
        None => State::error("APIExportNotFound", "there is no such APIExport"),
    };
    conditions.set("APIExportValid", &found, now);
    conditions.set("PartitionValid", &State::True, now);
    conditions.set("EndpointURLsReady", &found, now);
    let endpoints: Vec<Value> = address.into_iter().map(|url| json!({ "url": url })).collect();
    json!({ "endpoints": endpoints, "conditions": conditions.into_value() })
}
