//! Bindings: looked at together with what they refer to, and written on condition that it is still so.

use super::bound::{Decision, Offer, Seen, decide, qualified};
use super::claims;
use super::conversion::{Converted, kept_as, needs_any, recorded};
use super::copies;
use super::export::{self, revision};
use super::schema;
use super::words::{
    BINDINGS, CONVERSIONS, CONVERTED, DEFINITIONS, EVOLVED, EXPORTS, HELD_BY_OBJECTS, NEWEST, OFFERED, SCHEMAS, VAULT,
};
use crate::definitions::convert_binding;
use crate::tenancy::path;
use crate::tenancy::types::Types;
use crate::tenancy::words::{CLUSTER, collection};
use apiserver::allocate::Beside;
use apiserver::attend::{Around, Attending};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::{ObjectRef, Workspace};
use serde_json::Value;
use std::collections::HashMap;

pub(super) fn attend(object: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
    let version = write.at.resource.version.clone();
    if version != NEWEST {
        convert_binding(object, NEWEST);
    }
    let beside = attend_newest(object, write)?;
    if version != NEWEST {
        convert_binding(object, &version);
    }
    Ok(beside)
}

fn attend_newest(object: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
    let workspace = &write.at.workspace;
    let (mut beside, added) = write.around.added(workspace)?;
    if object.is_deleting() {
        return Ok(beside);
    }
    if write.old.is_none() {
        may_bind(object, write)?;
    }
    prepare(object, workspace);
    let (reference, home) = refer(object, write);
    let export = match &home {
        Some(home) => offer(object, home, write.around)?,
        None => None,
    };
    if let Some(offer) = &export {
        claims::name(object, &offer.object);
    }
    let taken_by =
        |group: &str, plural: &str| write.around.resource(group, plural).map(|_| "a built-in kind".to_owned());
    let now = write.ambient.now();
    let seen = Seen {
        binding: object,
        reference: &reference,
        export: export.as_ref(),
        added: &added,
        taken_by: &taken_by,
        now,
    };
    let decision = decide(&seen);
    beside.extend(record(object, &decision, export.as_ref(), write.around)?);
    if let (Some(export), Some(home)) = (&export, &home) {
        let at = collection(write.around, EXPORTS, home)?.object(export.object.name());
        beside.push(Beside::Unchanged(Box::new(at), revision(&export.object)));
    }
    Ok(beside)
}

/// What every binding has.
pub(super) fn prepare(object: &mut Object, workspace: &Workspace) {
    object.set_annotation(CLUSTER, workspace.as_str());
    let others = object.finalizers().filter(|name| *name != HELD_BY_OBJECTS).map(str::to_owned);
    let held: Vec<String> = others.chain([HELD_BY_OBJECTS.to_owned()]).collect();
    object.set_finalizers(held);
}

/// What a binding refers to, as it is told to people, and the workspace that is in.
fn refer(object: &Object, write: &Attending<'_>) -> (String, Option<Workspace>) {
    let (path, name) = reference(object);
    if path.is_empty() {
        return (format!("{}|{name}", write.at.workspace), Some(write.at.workspace.clone()));
    }
    let home = path::resolve(path, &Types { around: write.around });
    (format!("{path}|{name}"), home.map(|id| Workspace::new(&id)))
}

fn reference(object: &Object) -> (&str, &str) {
    let said = |field: &str| object.text(&["spec", "reference", "export", field]);
    (said("path"), said("name"))
}

/// Whoever may not bind is not told whether there is anything to bind.
fn may_bind(object: &Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let (path, name) = reference(object);
    let told = if path.is_empty() { name.to_owned() } else { format!("{path}:{name}") };
    let why = format!("unable to create APIBinding: no permission to bind to export {told}");
    let refused = || ApiError::forbidden(&write.at.resource, object.name(), &why);
    let home = refer(object, write).1.ok_or_else(refused)?;
    let permitted = export::may_bind(write, &home, name)?;
    let there = write.around.bytes(&collection(write.around, EXPORTS, &home)?.object(name))?.is_some();
    if permitted && there { Ok(()) } else { Err(refused()) }
}

/// The export with what belongs to it.
pub(super) fn offer(binding: &Object, home: &Workspace, around: &dyn Around) -> Result<Option<Offer>, ApiError> {
    let exports = collection(around, EXPORTS, home)?;
    let Some(object) = around.object(&exports.object(reference(binding).1))? else { return Ok(None) };
    let mut offer = planned(object, home, around)?;
    let converted = binding.annotation(CONVERTED).unwrap_or_default();
    for bound in binding.items(&["status", "boundResources"]) {
        let word = |at: &str| bound.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let (uid, kind) = (word("/schema/UID"), format!("{}.{}", word("/resource"), word("/group")));
        let replaced = !offer.schemas.iter().flat_map(|(_, schema)| schema).any(|schema| schema.uid() == uid);
        let at = vault(around, &kept_as(uid, recorded(converted, &kind)))?;
        if replaced && let Some(definition) = around.object(&at)? {
            offer.taken.insert(uid.to_owned(), definition);
        }
    }
    Ok(Some(offer))
}

/// An export as it is or could be, with the schemas that it names.
pub(super) fn planned(object: Object, home: &Workspace, around: &dyn Around) -> Result<Offer, ApiError> {
    let schemas = collection(around, SCHEMAS, home)?;
    let (mut named, mut conversions) = (Vec::new(), HashMap::new());
    for resource in object.items(&["spec", "resources"]) {
        let name = resource["schema"].as_str().unwrap_or_default();
        let schema = around.object(&schemas.object(name))?;
        if let Some(schema) = &schema {
            conversions.insert(name.to_owned(), Converted::of(schema, home, around)?);
        }
        named.push((name.to_owned(), schema));
    }
    Ok(Offer { object, home: home.as_str().to_owned(), schemas: named, conversions, taken: HashMap::new() })
}

/// Writes a decision down, and says what has to be made for it.
pub(super) fn record(
    binding: &mut Object,
    decision: &Decision,
    export: Option<&Offer>,
    around: &dyn Around,
) -> Result<Vec<Beside>, ApiError> {
    binding.map_mut().insert("status".to_owned(), decision.status.clone());
    if let Some(export) = export {
        binding.set_annotation(OFFERED, &offered(&export.object));
    }
    if !decision.evolved.is_empty() {
        let before = binding.annotation(EVOLVED).unwrap_or_default();
        let mut all: Vec<&str> = before.split(',').filter(|name| !name.is_empty()).collect();
        all.extend(decision.evolved.iter().map(String::as_str));
        all.sort_unstable();
        all.dedup();
        let all = all.join(",");
        binding.set_annotation(EVOLVED, &all);
    }
    let converted: Vec<String> = decision.converted.iter().map(|(kind, hash)| format!("{kind}={hash}")).collect();
    if !decision.schemas.is_empty() && binding.annotation(CONVERTED).unwrap_or_default() != converted.join(",") {
        binding.set_annotation(CONVERTED, &converted.join(","));
    }
    let mut beside = Vec::new();
    for schema in &decision.schemas {
        let conversion = export.and_then(|export| export.conversions.get(schema.name())).cloned().unwrap_or_default();
        if let Some(export) = export.filter(|_| needs_any(schema)) {
            let at = collection(around, CONVERSIONS, &Workspace::new(&export.home))?.object(schema.name());
            beside.push(Beside::Unchanged(Box::new(at), conversion.revision));
        }
        // Not always as is said now: rules that were taken back stay with those who had them.
        let hash = decision.converted.get(&qualified(schema)).map_or("", String::as_str);
        let at = vault(around, &kept_as(schema.uid(), hash))?;
        if let Some(copy) = around.bytes(&at)? {
            beside.push(copies::held(at, &copy)?);
            continue;
        }
        let mut definition = schema::defined(schema, around)
            .map_err(|errors| ApiError::invalid(BINDINGS.0, "APIResourceSchema", schema.name(), &errors))?;
        conversion.join(&mut definition);
        beside.push(Beside::Make(Box::new(at), definition));
    }
    Ok(beside)
}

/// What an export offered when a binding was last looked at.
pub(super) fn offered(export: &Object) -> String {
    format!("{}/{}/{}", export.uid(), export.generation(), export.text(&["status", "identityHash"]))
}

/// Where the copy of a schema is kept.
pub(super) fn vault(around: &dyn Around, name: &str) -> Result<ObjectRef, ApiError> {
    Ok(collection(around, DEFINITIONS, &Workspace::new(VAULT))?.object(name))
}

/// Whether a binding is as it should be, for all that is known.
pub(super) fn is_settled(conditions: &[Value]) -> bool {
    conditions.iter().all(|condition| condition["status"] == "True")
}
