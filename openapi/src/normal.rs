//! An object as Go would print it after reading it: the form in which a Kubernetes API server gives it back.

use serde_json::{Map, Value};

use crate::builtin::{Element, Field, Form, Type, table};
use crate::scalar::time::{Instant, Precision};
use crate::scalar::{base64, quantity};
use crate::zero;

/// Brings an object into the form in which Go prints it: unknown fields and nulls go, what `omitempty` hides goes,
/// what Go always prints comes, and times, quantities and bytes get their one spelling.
///
/// Expects an object in which [`check()`](crate::check()) found no wrong value; such values stay as they are.
pub fn normalize(value: &mut Value, ty: &'static Type) {
    if let Value::Object(map) = value {
        object(map, ty);
    }
}

fn object(map: &mut Map<String, Value>, ty: &'static Type) {
    map.retain(|name, value| match ty.field(name) {
        Some(field) if !value.is_null() => {
            whole(value, field);
            !zero::is_hidden(field, value)
        }
        _ => false,
    });
    zero::complete(ty, map);
}

fn whole(value: &mut Value, field: &'static Field) {
    match (field.form, &mut *value) {
        (Form::One | Form::Pointer, _) => element(value, field.element),
        (Form::List, Value::Array(items)) => items.iter_mut().for_each(|item| one_of_many(item, field.element)),
        (Form::Map, Value::Object(entries)) => {
            entries.values_mut().for_each(|value| one_of_many(value, field.element));
        }
        (Form::List | Form::Map, _) => {}
    }
}

/// In a list or map Go cannot leave a null out: it reads the zero value.
fn one_of_many(value: &mut Value, kind: Element) {
    if value.is_null() {
        *value = zero::zero_element(kind);
    } else {
        element(value, kind);
    }
}

fn element(value: &mut Value, kind: Element) {
    let changed = match (kind, &mut *value) {
        (Element::Struct(id), Value::Object(map)) => {
            object(map, id.get());
            None
        }
        (Element::Float64, Value::Number(number)) => number.as_f64().and_then(zero::number),
        (Element::Bytes, Value::String(text)) => base64::decode(text).ok().map(|bytes| base64::encode(&bytes).into()),
        (Element::Bytes, Value::Array(items)) => {
            let bytes: Vec<u8> = items.iter().map(|item| item.as_u64().unwrap_or(0) as u8).collect();
            Some(base64::encode(&bytes).into())
        }
        (Element::Time, Value::String(text)) => instant(text, Precision::Seconds),
        (Element::MicroTime, Value::String(text)) => instant(text, Precision::Micros),
        (Element::Quantity, Value::String(text)) => {
            quantity::canonical(text.trim()).ok().map(|text| Value::from(&*text))
        }
        (Element::Quantity, Value::Number(number)) => {
            quantity::canonical(&number.to_string()).ok().map(|text| Value::from(&*text))
        }
        (Element::Strings, Value::Array(items)) => {
            items.iter_mut().for_each(|item| one_of_many(item, Element::String));
            None
        }
        (Element::SchemaOrArray | Element::SchemaOrBool | Element::SchemaOrStrings, _) => union(value, kind),
        _ => None,
    };
    if let Some(changed) = changed {
        *value = changed;
    }
}

fn instant(text: &str, precision: Precision) -> Option<Value> {
    let instant = Instant::parse(text, precision).ok()?;
    Some(instant.text(precision).map_or(Value::Null, Value::String))
}

fn union(value: &mut Value, kind: Element) -> Option<Value> {
    let schema = table().schema();
    match value {
        Value::Object(map) => object(map, schema),
        Value::Array(items) if kind == Element::SchemaOrArray && !items.is_empty() => {
            for item in items {
                if item.is_null() {
                    *item = Value::Object(Map::new());
                }
                normalize(item, schema);
            }
        }
        Value::Array(items) if kind == Element::SchemaOrStrings && !items.is_empty() => {
            items.iter_mut().for_each(|item| one_of_many(item, Element::String));
        }
        Value::Bool(_) if kind == Element::SchemaOrBool => {}
        // Go reads anything else as nothing at all.
        _ => return Some(Value::Null),
    }
    None
}
