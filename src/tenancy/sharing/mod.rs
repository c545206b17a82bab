//! APIs that one workspace offers and others take: schemas, exports and bindings.
//!
//! An *export* names schemas and has an identity. A *binding* in another workspace makes what the export offers usable
//! there. Whether it can is decided by the very write that makes it, on condition that the export and the names of the
//! workspace stay as they are; so what was bound can be used at once. A schema is copied into a vault of the server when
//! it is bound for the first time: the objects of those who took it do not depend on whoever offered it. Keys of such
//! objects carry the identity, so that those of two exports never mix, whatever they are called.
//!
//! [`bound`] and [`claims`] are pure; [`bindings`] keeps bindings up to date and empties those that go;
//! [`copies`] takes away what nobody has bound any more. What workspaces of a type have bound from the start is said in
//! [`start`], and what they are to keep in [`lasting`].
//! What an exporter sees of those who took something is said in [`window`], and which schemas those are in [`schemas`].

mod binding;
pub mod bindings;
mod bound;
mod claims;
mod compatible;
mod conversion;
pub mod copies;
mod export;
mod forecast;
mod identities;
mod judge;
pub mod lasting;
mod migration;
mod policy;
mod schema;
pub(super) mod schemas;
mod slice;
pub(super) mod start;
mod view;
pub(super) mod window;
mod words;

use super::words::{CLUSTER, collection};
use apiserver::allocate::Beside;
use apiserver::attend::{Around, Attending, Shared};
use apiserver::custom::Elsewhere;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::Workspace;
use apiserver::strategy::Part;
pub(super) use export::revision;
pub(super) use forecast::foretell;
pub(super) use identities::Identities;
pub(super) use policy::ceiling;
use serde_json::Value;
use storage::Revision;

use words::{BINDINGS, CONVERSIONS, CONVERTED, EVOLVED, EXPORTS, SCHEMAS, VAULT};
pub(super) use words::{MAINTAIN, SLICES};

/// Completes an object of one of these kinds; nothing if it is of another.
pub(super) fn attend(object: &mut Object, write: &Attending<'_>, url: &str) -> Option<Result<Vec<Beside>, ApiError>> {
    let resource = &write.at.resource;
    let named = |kind: (&str, &str, &str)| (&*resource.group, &*resource.plural) == (kind.0, kind.2);
    let known = [BINDINGS, EXPORTS, SLICES].into_iter().any(named);
    if known && write.part == Part::Status {
        // What they say of themselves is the server's to say.
        let why = "its status is written by the server";
        let refused = ApiError::forbidden(resource, object.name(), why);
        return Some(if write.user.is_master() { Ok(Vec::new()) } else { Err(refused) });
    }
    if named(BINDINGS) {
        Some(binding::attend(object, write))
    } else if named(EXPORTS) {
        Some(export::attend(object, write, url))
    } else if named(SLICES) {
        Some(slice::attend(object, write, url))
    } else if named(SCHEMAS) {
        Some(schema::attend(object, write).map(|()| Vec::new()))
    } else if named(CONVERSIONS) {
        Some(conversion::attend(object, write))
    } else {
        None
    }
}

/// What the bindings of a workspace make usable in it.
pub(super) fn shared(workspace: &Workspace, around: &dyn Around) -> Result<Vec<Shared>, ApiError> {
    let bindings = around.all(&collection(around, BINDINGS, workspace)?)?;
    Ok(bindings.iter().flat_map(of_binding).collect())
}

fn of_binding(binding: &Object) -> Vec<Shared> {
    let evolved = binding.annotation(EVOLVED).unwrap_or_default();
    let home = binding.text(&["status", "apiExportClusterName"]);
    let converted = binding.annotation(CONVERTED).unwrap_or_default();
    let bound = binding.items(&["status", "boundResources"]).filter_map(|bound| {
        let word = |at: &str| bound.pointer(at).and_then(Value::as_str);
        let name = format!("{}.{}", word("/resource")?, word("/group")?);
        // What was written before the schema was replaced is in the form of another one.
        let moved = evolved.split(',').any(|moved| moved == name);
        let since = if moved { binding.resource_version().parse().unwrap_or(u64::MAX) } else { 0 };
        let identity = word("/schema/identityHash").filter(|hash| is_hash(hash))?;
        let from = Elsewhere {
            kept_in: VAULT.into(),
            name: conversion::kept_as(word("/schema/UID")?, conversion::recorded(converted, &name)),
            identity: identity.into(),
            home: home.into(),
            by: binding.text(&["spec", "reference", "export", "name"]).into(),
            going: binding.is_deleting(),
            since: Revision(since),
        };
        Some(Shared { by: binding.name().to_owned(), from })
    });
    bound.collect()
}

/// Becomes part of keys.
fn is_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Says on an object whose it is.
pub(super) fn brand(object: &mut Object, workspace: &Workspace) {
    if object.annotation(CLUSTER) != Some(workspace.as_str()) {
        object.set_annotation(CLUSTER, workspace.as_str());
    }
}
