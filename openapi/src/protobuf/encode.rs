//! JSON to protobuf.

use serde_json::{Map, Value};

use super::envelope::Envelope;
use super::wire::Writer;
use crate::builtin::{Element, Field, Form, Type, kind_in, table};
use crate::scalar::time::{Instant, Precision};
use crate::scalar::{base64, quantity};

/// Why a tree has no protobuf form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    #[error("no kind \"{kind}\" of version \"{api_version}\" travels in protobuf")]
    UnknownKind { api_version: String, kind: String },
    #[error("{path}: {why}")]
    Value { path: String, why: String },
}

impl EncodeError {
    fn new(why: impl Into<String>) -> Self {
        EncodeError::Value { path: String::new(), why: why.into() }
    }

    /// Names the field that the error came out of, innermost first.
    fn under(self, name: &str) -> Self {
        match self {
            EncodeError::Value { path, why } if path.is_empty() => EncodeError::Value { path: name.to_owned(), why },
            EncodeError::Value { path, why } => EncodeError::Value { path: format!("{name}.{path}"), why },
            other => other,
        }
    }
}

/// An object of a built-in kind in its envelope. What the table does not know of it is left out.
pub fn encode(object: &Value) -> Result<Vec<u8>, EncodeError> {
    let word = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (word("apiVersion"), word("kind"));
    let ty = kind_in(api_version, kind)
        .filter(|ty| ty.is_message)
        .ok_or_else(|| EncodeError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() })?;
    let mut writer = Writer::default();
    message(&mut writer, ty, as_object(object)?)?;
    Ok(Envelope::seal(api_version, kind, writer))
}

/// The bare message of a type that the reader knows from elsewhere.
pub fn encode_message(ty: &'static Type, object: &Value) -> Result<Vec<u8>, EncodeError> {
    let mut writer = Writer::default();
    message(&mut writer, ty, as_object(object)?)?;
    Ok(writer.finish())
}

/// One event of a watch: a bare `WatchEvent` around an object that is encoded already, envelope and all.
pub fn encode_watch_event(event: &str, object: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.bytes_field(1, object);
    writer.close(2, 0);
    writer.bytes_field(1, event.as_bytes());
    writer.finish()
}

fn as_object(value: &Value) -> Result<&Map<String, Value>, EncodeError> {
    value.as_object().ok_or_else(|| EncodeError::new("not an object"))
}

/// Writes a message's fields, last first: the writer fills its buffer from the end.
fn message(writer: &mut Writer, ty: &Type, map: &Map<String, Value>) -> Result<(), EncodeError> {
    for field in ty.message_fields_rev() {
        if let Element::Struct(id) = field.element
            && field.is_inline()
        {
            let since = writer.len();
            message(writer, id.get(), map)?;
            writer.close(field.number, since);
            continue;
        }
        let value = map.get(field.name).filter(|value| !value.is_null());
        write(writer, field, value).map_err(|error| error.under(field.name))?;
    }
    Ok(())
}

fn write(writer: &mut Writer, field: &Field, value: Option<&Value>) -> Result<(), EncodeError> {
    match (field.form, value) {
        (Form::Pointer | Form::List | Form::Map, None) => Ok(()),
        // Go tells no bytes and no wrapped strings from empty ones, and leaves the former out.
        (Form::One, None) if matches!(field.element, Element::Bytes | Element::Strings) => Ok(()),
        (Form::One | Form::Pointer, value) => element(writer, field, field.number, value),
        (Form::List, Some(value)) => {
            let items = value.as_array().ok_or_else(|| EncodeError::new("not a list"))?;
            for item in items.iter().rev() {
                element(writer, field, field.number, Some(item).filter(|item| !item.is_null()))?;
            }
            Ok(())
        }
        (Form::Map, Some(value)) => {
            let entries = value.as_object().ok_or_else(|| EncodeError::new("not a map"))?;
            for (key, value) in entries.iter().rev() {
                let since = writer.len();
                let value = Some(value).filter(|value| !value.is_null());
                if value.is_some() || field.element != Element::Bytes {
                    element(writer, field, 2, value).map_err(|error| error.under(key))?;
                }
                writer.bytes_field(1, key.as_bytes());
                writer.close(field.number, since);
            }
            Ok(())
        }
    }
}

/// Writes one value; none is the zero value.
fn element(writer: &mut Writer, field: &Field, number: u32, value: Option<&Value>) -> Result<(), EncodeError> {
    let text = || match value {
        None => Ok(""),
        Some(value) => value.as_str().ok_or_else(|| EncodeError::new("not a string")),
    };
    match field.element {
        Element::String => writer.bytes_field(number, text()?.as_bytes()),
        Element::Bool => writer.varint_field(number, u64::from(bool_of(value)?)),
        Element::Int32 => {
            let value = i32::try_from(int_of(value)?).map_err(|_| EncodeError::new("not a 32-bit integer"))?;
            writer.varint_field(number, i64::from(value) as u64);
        }
        Element::Int64 => writer.varint_field(number, int_of(value)? as u64),
        Element::Float64 => {
            let value = value.map_or(Some(0.0), Value::as_f64).ok_or_else(|| EncodeError::new("not a number"))?;
            writer.fixed64_field(number, value.to_bits());
        }
        Element::Bytes => {
            let bytes = base64::decode(text()?).map_err(|error| EncodeError::new(error.to_string()))?;
            writer.bytes_field(number, &bytes);
        }
        Element::Struct(id) => {
            let since = writer.len();
            let empty = Map::new();
            message(writer, id.get(), value.map_or(Ok(&empty), as_object)?)?;
            writer.close(number, since);
        }
        _ => {
            let since = writer.len();
            special(writer, field, value)?;
            writer.close(number, since);
        }
    }
    Ok(())
}

fn bool_of(value: Option<&Value>) -> Result<bool, EncodeError> {
    value.map_or(Some(false), Value::as_bool).ok_or_else(|| EncodeError::new("not a bool"))
}

fn int_of(value: Option<&Value>) -> Result<i64, EncodeError> {
    value.map_or(Some(0), Value::as_i64).ok_or_else(|| EncodeError::new("not an integer"))
}

/// The inside of a message that is not a struct in JSON.
fn special(writer: &mut Writer, field: &Field, value: Option<&Value>) -> Result<(), EncodeError> {
    match (field.element, value) {
        (Element::Time, Some(value)) => instant(writer, value, Precision::Seconds),
        (Element::MicroTime, Some(value)) => instant(writer, value, Precision::Micros),
        (Element::Quantity, value) => {
            let written = match value {
                None => "0".into(),
                Some(Value::String(text)) => text.trim().to_owned(),
                Some(Value::Number(number)) => number.to_string(),
                Some(_) => return Err(EncodeError::new("not a quantity")),
            };
            let printed = quantity::canonical(&written).map_err(|error| EncodeError::new(error.to_string()))?;
            writer.bytes_field(1, printed.as_bytes());
            Ok(())
        }
        (Element::IntOrString, value) => {
            let text = value.and_then(Value::as_str);
            let number = if text.is_some() { 0 } else { int_of(value)? };
            let number = i32::try_from(number).map_err(|_| EncodeError::new("not a 32-bit integer"))?;
            writer.bytes_field(3, text.unwrap_or_default().as_bytes());
            writer.varint_field(2, i64::from(number) as u64);
            writer.varint_field(1, u64::from(text.is_some()));
            Ok(())
        }
        (Element::RawExtension | Element::FieldsV1 | Element::Json, Some(value)) => {
            writer.bytes_field(1, value.to_string().as_bytes());
            Ok(())
        }
        (Element::Strings, Some(value)) => strings(writer, 1, value),
        (Element::SchemaOrArray, Some(Value::Array(items))) => {
            items.iter().rev().try_for_each(|item| schema(writer, 2, item))
        }
        (Element::SchemaOrBool, value) if value.is_none_or(Value::is_boolean) => {
            writer.varint_field(1, u64::from(bool_of(value)?));
            Ok(())
        }
        (Element::SchemaOrBool, Some(value)) => {
            schema(writer, 2, value)?;
            writer.varint_field(1, 1);
            Ok(())
        }
        (Element::SchemaOrStrings, Some(value @ Value::Array(_))) => strings(writer, 2, value),
        (Element::SchemaOrArray | Element::SchemaOrStrings, Some(value @ Value::Object(_))) => schema(writer, 1, value),
        // Go reads anything else of these as nothing at all.
        _ => Ok(()),
    }
}

fn strings(writer: &mut Writer, number: u32, value: &Value) -> Result<(), EncodeError> {
    let items = value.as_array().ok_or_else(|| EncodeError::new("not a list"))?;
    for item in items.iter().rev() {
        let text = if item.is_null() { Some("") } else { item.as_str() };
        writer.bytes_field(number, text.ok_or_else(|| EncodeError::new("not a string"))?.as_bytes());
    }
    Ok(())
}

fn schema(writer: &mut Writer, number: u32, value: &Value) -> Result<(), EncodeError> {
    let since = writer.len();
    let empty = Map::new();
    message(writer, table().schema(), if value.is_null() { &empty } else { as_object(value)? })?;
    writer.close(number, since);
    Ok(())
}

fn instant(writer: &mut Writer, value: &Value, precision: Precision) -> Result<(), EncodeError> {
    let text = value.as_str().ok_or_else(|| EncodeError::new("not a time"))?;
    let instant = Instant::parse(text, precision).map_err(|error| EncodeError::new(error.to_string()))?;
    if instant.is_zero() {
        return Ok(());
    }
    let nanos = match precision {
        Precision::Seconds => 0,
        Precision::Micros => instant.nanos / 1000 * 1000,
    };
    writer.varint_field(2, u64::from(nanos));
    writer.varint_field(1, instant.seconds as u64);
    Ok(())
}
