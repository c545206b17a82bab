//! How a strategic merge patch merges lists: items by their merge key, scalars as a set.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::order::{self, Place};
use super::schema::{Part, Schema};
use super::strategic::{PATCH, merge_object, unknown_directive, wrong_type};
use super::{PatchError, unprocessable};
use crate::go;

/// What the items of a list are. All of them are the same, and none is a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Items {
    Objects,
    Scalars,
}

pub(super) fn merge_field(
    target: Vec<Value>,
    patch: Vec<Value>,
    part: Part,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if part.merges_lists || deletes { merge(target, patch, part, deletes) } else { Ok(patch) }
}

fn merge(target: Vec<Value>, patch: Vec<Value>, part: Part, deletes: bool) -> Result<Vec<Value>, PatchError> {
    if target.is_empty() && patch.is_empty() {
        return Ok(target);
    }
    let Part { schema, merge_key, .. } = part;
    let items = items_of(&target, &patch)?;
    if items == Items::Scalars && deletes {
        let gone: HashSet<Value> = patch.into_iter().collect();
        return Ok(target.into_iter().filter(|value| !gone.contains(value)).collect());
    }
    if items == Items::Objects && merge_key.is_empty() {
        return Err(unprocessable(format!("cannot merge lists without merge key for {}", schema.go_kind())));
    }
    let (target, patch) = match items {
        Items::Scalars => (target, patch),
        Items::Objects => by_directives(target, patch, merge_key)?,
    };
    let place = Place { items, merge_key };
    let (known, wanted) = (place.keys(&target), place.keys(&patch));
    let merged = match items {
        Items::Scalars => distinct(target.into_iter().chain(patch)),
        Items::Objects => merge_items(target, patch, schema, merge_key)?,
    };
    let (patched, kept) = order::partition(merged, &wanted, merge_key)?;
    Ok(order::interleave(place, patched, kept, &wanted, &known))
}

/// Obeys and takes out the items that hold a `$patch`.
fn by_directives(
    mut target: Vec<Value>,
    patch: Vec<Value>,
    merge_key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let (mut plain, mut gone, mut replaces) = (Vec::new(), HashSet::new(), false);
    for item in patch {
        let Value::Object(fields) = &item else { continue };
        let Some(directive) = fields.get(PATCH) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let key = fields.get(merge_key).ok_or_else(|| no_merge_key(fields, merge_key))?;
                gone.insert(key.clone());
            }
            Some("replace") => replaces = true,
            Some("merge") => return Err(unprocessable("merging lists cannot yet be specified in the patch")),
            _ => return Err(unknown_directive(directive, fields)),
        }
    }
    if replaces {
        return Ok((plain, Vec::new()));
    }
    target.retain(|item| item.get(merge_key).is_none_or(|key| !gone.contains(key)));
    Ok((target, plain))
}

fn merge_items(
    mut target: Vec<Value>,
    patch: Vec<Value>,
    schema: Schema,
    merge_key: &str,
) -> Result<Vec<Value>, PatchError> {
    let mut places = HashMap::new();
    for (at, item) in target.iter().enumerate() {
        if let Some(key) = item.get(merge_key) {
            places.entry(key.clone()).or_insert(at);
        }
    }
    for item in patch {
        let Value::Object(fields) = item else { continue };
        let key = fields.get(merge_key).ok_or_else(|| no_merge_key(&fields, merge_key))?;
        let at = *places.entry(key.clone()).or_insert(target.len());
        match target.get_mut(at) {
            Some(Value::Object(known)) => merge_object(known, fields, schema)?,
            _ => target.push(Value::Object(fields)),
        }
    }
    Ok(target)
}

fn distinct(values: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut seen = HashSet::new();
    values.filter(|value| seen.insert(value.clone())).collect()
}

pub(super) fn items_of(target: &[Value], patch: &[Value]) -> Result<Items, PatchError> {
    let unlike = || {
        let shown = |list: &[Value]| go::shown(&Value::from(list));
        unprocessable(format!("list element types are not identical: [{} {}]", shown(target), shown(patch)))
    };
    let mut all = target.iter().chain(patch);
    let first = all.next().ok_or_else(|| unprocessable("no elements in any of the given slices"))?;
    match first {
        Value::Array(_) => return Err(unprocessable("lists of lists are not supported")),
        // Go does not survive this one.
        Value::Null => return Err(unlike()),
        _ if all.any(|item| go::type_of(item) != go::type_of(first)) => return Err(unlike()),
        _ => {}
    }
    Ok(if first.is_object() { Items::Objects } else { Items::Scalars })
}

/// The merge key's value of an item that has to have one.
pub(super) fn key_of<'a>(item: &'a Value, merge_key: &str) -> Result<&'a Value, PatchError> {
    let fields = item.as_object().ok_or_else(|| wrong_type("map[string]interface {}", item))?;
    fields.get(merge_key).ok_or_else(|| no_merge_key(fields, merge_key))
}

fn no_merge_key(fields: &Map<String, Value>, merge_key: &str) -> PatchError {
    let fields = go::shown(&Value::Object(fields.clone()));
    unprocessable(format!("map: {fields} does not contain declared merge key: {merge_key}"))
}
