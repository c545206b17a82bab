//! Takes out of an object what its type does not know, and touches nothing else.

use serde_json::{Map, Value};

use crate::builtin::{Element, Field, Form, Type, table};

/// Removes unknown fields at every depth. Values of a wrong type stay.
pub fn prune(value: &mut Value, ty: &'static Type) {
    if let Value::Object(map) = value {
        object(map, ty);
    }
}

fn object(map: &mut Map<String, Value>, ty: &'static Type) {
    map.retain(|name, value| {
        let known = ty.field(name);
        if let Some(field) = known {
            whole(value, field);
        }
        known.is_some()
    });
}

fn whole(value: &mut Value, field: &'static Field) {
    let inner = match field.element {
        Element::Struct(id) => id.get(),
        Element::SchemaOrArray | Element::SchemaOrBool | Element::SchemaOrStrings => table().schema(),
        _ => return,
    };
    match (field.form, value) {
        (Form::List, Value::Array(items)) => items.iter_mut().for_each(|item| prune(item, inner)),
        (Form::Map, Value::Object(entries)) => entries.values_mut().for_each(|value| prune(value, inner)),
        (Form::One | Form::Pointer, Value::Array(items)) if field.element == Element::SchemaOrArray => {
            items.iter_mut().for_each(|item| prune(item, inner));
        }
        (Form::One | Form::Pointer, value) => prune(value, inner),
        _ => {}
    }
}
