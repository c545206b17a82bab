//! A value as Go prints it in an error: texts quoted, structs in the order of their declaration.

use serde_json::Value;

use crate::builtin::{Element, Field, Form, Type};
use crate::field::shown;

/// The struct type of a field's values.
pub(super) fn struct_of(field: &'static Field) -> Option<&'static Type> {
    match field.element {
        Element::Struct(id) => Some(id.get()),
        _ => None,
    }
}

/// A text as Go's JSON has it, which escapes what HTML would read as its own.
fn text(text: &str) -> String {
    Value::from(text).to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// What Go prints for a field that nobody filled.
pub(super) fn nothing(field: &'static Field) -> String {
    let text = match (field.form, field.element) {
        (Form::One, Element::String) => "\"\"",
        (Form::One, Element::Bool) => "false",
        (Form::One, Element::Int32 | Element::Int64) => "0",
        _ => "null",
    };
    text.to_owned()
}

/// `ty` is the type of the value, or of the values that a list or map holds.
pub(super) fn go(value: &Value, ty: Option<&'static Type>) -> String {
    match value {
        Value::String(_) => shown(value),
        _ => json(value, ty),
    }
}

fn json(value: &Value, ty: Option<&'static Type>) -> String {
    match (value, ty) {
        (Value::Array(items), _) => {
            let items: Vec<String> = items.iter().map(|item| json(item, ty)).collect();
            format!("[{}]", items.join(","))
        }
        (Value::Object(entries), Some(ty)) => {
            let known = declared(ty).into_iter().filter_map(|field| Some((field, entries.get(field.name)?)));
            let known: Vec<String> =
                known.map(|(field, value)| format!("{:?}:{}", field.name, json(value, struct_of(field)))).collect();
            format!("{{{}}}", known.join(","))
        }
        (Value::Object(entries), None) => {
            let entries: Vec<String> =
                entries.iter().map(|(name, value)| format!("{}:{}", text(name), json(value, None))).collect();
            format!("{{{}}}", entries.join(","))
        }
        (Value::String(string), _) => text(string),
        _ => value.to_string(),
    }
}

fn declared(ty: &'static Type) -> Vec<&'static Field> {
    let mut fields = Vec::new();
    for field in ty.fields {
        match struct_of(field) {
            Some(inlined) if field.is_inline() => fields.extend(declared(inlined)),
            _ => fields.push(field),
        }
    }
    fields
}
