//! Strategic merge patch: a merge patch that knows the kind, so that lists merge item by item.
//!
//! Fields whose names begin with `$` are directives. `$patch` replaces or deletes the object it stands in, `$retainKeys`
//! names all the fields that may stay, `$deleteFromPrimitiveList/f` takes values out of the list `f`, and
//! `$setElementOrder/f` says in which order its items shall stand. See [`list`](super::list) for what happens to a list.

use std::collections::HashSet;

use openapi::builtin::Type;
use serde_json::{Map, Value};

use super::merge::drop_nulls;
use super::schema::Schema;
use super::{PatchError, list, malformed, order, unprocessable};
use crate::go;

pub(super) const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_VALUES: &str = "$deleteFromPrimitiveList";
pub(super) const SET_ORDER: &str = "$setElementOrder";

/// Merges `patch` into `target`, an object of type `ty`. After an error the target is half done and of no use.
pub fn strategic(target: &mut Value, patch: &Value, ty: &'static Type) -> Result<(), PatchError> {
    let patch = match patch {
        Value::Null => return Ok(()),
        Value::Object(patch) => patch.clone(),
        other => {
            let found = go::word(other);
            let text = format!("json: cannot unmarshal {found} into Go value of type map[string]interface {{}}");
            return Err(malformed(text));
        }
    };
    match target {
        Value::Object(target) => merge_object(target, patch, Schema::Struct(ty)),
        other => Err(wrong_type("map[string]interface {}", other)),
    }
}

pub(super) fn merge_object(
    target: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
    schema: Schema,
) -> Result<(), PatchError> {
    if let Some(directive) = patch.get(PATCH) {
        match directive.as_str() {
            Some("replace") => {
                patch.remove(PATCH);
                *target = patch;
            }
            Some("delete") => target.clear(),
            _ => return Err(unknown_directive(directive, &patch)),
        }
        return Ok(());
    }
    retain_keys(target, &mut patch)?;
    order::set_element_orders(target, &mut patch, schema)?;
    for (name, value) in patch {
        match list_named(&name, DELETE_VALUES, "invalid patch format of primitive list")? {
            Some(list) if !list.is_empty() => merge_field(target, list, value, schema, true)?,
            deletes => merge_field(target, &name, value, schema, deletes.is_some())?,
        }
    }
    Ok(())
}

/// `f` for the field `<directive>/f`, and nothing for a field that does not begin with the directive.
pub(super) fn list_named<'a>(name: &'a str, directive: &str, fault: &str) -> Result<Option<&'a str>, PatchError> {
    match name.strip_prefix(directive) {
        None => Ok(None),
        Some(rest) => rest.strip_prefix('/').map(Some).ok_or_else(|| malformed(fault)),
    }
}

fn retain_keys(target: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let wrong = || malformed("invalid patch format of retainKeys");
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let keys: HashSet<&str> = keys.as_array().ok_or_else(wrong)?.iter().filter_map(Value::as_str).collect();
    let may_stand = |(name, value): (&String, &Value)| {
        value.is_null()
            || name.starts_with(DELETE_VALUES)
            || name.starts_with(SET_ORDER)
            || keys.contains(name.as_str())
    };
    if !patch.iter().all(may_stand) {
        return Err(wrong());
    }
    target.retain(|name, _| keys.contains(name.as_str()));
    Ok(())
}

fn merge_field(
    target: &mut Map<String, Value>,
    name: &str,
    change: Value,
    schema: Schema,
    deletes: bool,
) -> Result<(), PatchError> {
    if change.is_null() {
        target.remove(name);
        return Ok(());
    }
    let known = target.get_mut(name).filter(|value| go::type_of(value) == go::type_of(&change));
    match (known, change) {
        (Some(Value::Object(value)), Value::Object(change)) => {
            let part = schema.part(name);
            if part.replaces_objects {
                *value = change;
                return Ok(());
            }
            merge_object(value, change, part.schema)
        }
        (Some(Value::Array(items)), Value::Array(change)) => {
            *items = list::merge_field(std::mem::take(items), change, schema.part(name), deletes)?;
            Ok(())
        }
        (Some(value), change) => {
            *value = change;
            Ok(())
        }
        (None, _) if deletes => Ok(()),
        (None, mut change) => {
            drop_nulls(&mut change);
            match without_directives(change) {
                Some(value) => target.insert(name.to_owned(), value),
                None => target.remove(name),
            };
            Ok(())
        }
    }
}

/// What is left of a value that comes in as it is: objects with a `$patch` go.
pub(super) fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(PATCH) => None,
        Value::Object(fields) => {
            let kept = fields.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        scalar => Some(scalar),
    }
}

pub(super) fn unknown_directive(directive: &Value, patch: &Map<String, Value>) -> PatchError {
    let directive = go::shown_as_text(directive);
    unprocessable(format!("unknown patch type: {directive} in map: {}", go::shown(&Value::Object(patch.clone()))))
}

pub(super) fn wrong_type(expected: &str, found: &Value) -> PatchError {
    unprocessable(format!("expected a {expected}, but received a {}", go::type_of(found)))
}
