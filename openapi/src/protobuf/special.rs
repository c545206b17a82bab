//! The messages that are not structs in JSON: instants, quantities, raw JSON, and unions of the schema language.

use serde_json::Value;

use super::decode::Decoder;
use super::envelope::is_enveloped;
use super::wire::{BYTES, Reader, VARINT};
use super::{DEPTH_MAX, DecodeError};
use crate::builtin::{Element, Field, table};
use crate::scalar::time::{Instant, Precision};
use crate::scalar::{base64, quantity};

impl Decoder {
    pub(super) fn special(&mut self, field: &'static Field, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
        let refuse = |why: String| DecodeError::Value { field: field.name, why };
        match field.element {
            Element::Bytes => Ok(Value::String(base64::encode(bytes))),
            Element::Time => instant(bytes, Precision::Seconds)?.ok_or_else(|| refuse(YEARS.to_owned())),
            Element::MicroTime => instant(bytes, Precision::Micros)?.ok_or_else(|| refuse(YEARS.to_owned())),
            Element::Quantity => {
                let Some(written) = last_bytes(bytes, 1)? else { return Ok(Value::from("0")) };
                let printed = quantity::canonical(&text(written)).map(|text| Value::from(&*text));
                printed.map_err(|error| refuse(error.to_string()))
            }
            Element::IntOrString => {
                int_or_string(bytes)?.ok_or_else(|| refuse("impossible IntOrString.Type".to_owned()))
            }
            Element::RawExtension => match last_bytes(bytes, 1)? {
                Some(raw) if is_enveloped(raw) => self.nested_envelope(raw, depth),
                raw => self.json(field, raw, depth),
            },
            Element::FieldsV1 | Element::Json => {
                let raw = last_bytes(bytes, 1)?.filter(|raw| !raw.is_empty());
                self.json(field, raw, depth)
            }
            Element::Strings => {
                let mut items = Vec::new();
                each(bytes, 1, BYTES, |reader| {
                    self.weigh(1)?;
                    items.push(Value::String(text(reader.bytes()?)));
                    Ok(())
                })?;
                Ok(Value::Array(items))
            }
            Element::SchemaOrArray => self.schema_or(bytes, 1, depth, |decoder| decoder.schemas(bytes, depth)),
            Element::SchemaOrBool => self.schema_or(bytes, 2, depth, |_| {
                let mut allows = false;
                each(bytes, 1, VARINT, |reader| {
                    allows = reader.varint()? != 0;
                    Ok(())
                })?;
                Ok(Some(Value::Bool(allows)))
            }),
            Element::SchemaOrStrings => self.schema_or(bytes, 1, depth, |_| {
                let mut names = Vec::new();
                each(bytes, 2, BYTES, |reader| {
                    names.push(Value::String(text(reader.bytes()?)));
                    Ok(())
                })?;
                Ok((!names.is_empty()).then_some(Value::Array(names)))
            }),
            _ => Err(refuse("the field has no protobuf form".to_owned())),
        }
    }

    fn nested_envelope(&mut self, raw: &[u8], depth: usize) -> Result<Value, DecodeError> {
        if depth >= DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        self.enveloped(raw, depth)
    }

    fn json(&mut self, field: &Field, raw: Option<&[u8]>, depth: usize) -> Result<Value, DecodeError> {
        let Some(raw) = raw else { return Ok(Value::Null) };
        let value: Value = serde_json::from_slice(raw)
            .map_err(|error| DecodeError::Value { field: field.name, why: error.to_string() })?;
        if depth + nesting(&value) > DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        Ok(value)
    }

    /// A union of a schema (in field `number`) and something else, which comes first in Go's printing unless the union
    /// is with a bool.
    fn schema_or(
        &mut self,
        bytes: &[u8],
        number: u32,
        depth: usize,
        other: impl FnOnce(&mut Self) -> Result<Option<Value>, DecodeError>,
    ) -> Result<Value, DecodeError> {
        let schema = last_bytes(bytes, number)?.map(|message| self.object(table().schema(), message, depth + 1));
        let schema = schema.transpose()?;
        let other = other(self)?;
        Ok(match (schema, other) {
            (Some(schema), None | Some(Value::Bool(_))) => schema,
            (_, Some(other)) => other,
            (None, None) => Value::Null,
        })
    }

    fn schemas(&mut self, bytes: &[u8], depth: usize) -> Result<Option<Value>, DecodeError> {
        let mut items = Vec::new();
        each(bytes, 2, BYTES, |reader| {
            items.push(self.object(table().schema(), reader.bytes()?, depth + 2)?);
            Ok(())
        })?;
        Ok((!items.is_empty()).then_some(Value::Array(items)))
    }
}

/// A Go string in JSON: every byte that is not UTF-8 becomes a replacement character.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut made = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        made.push_str(chunk.valid());
        made.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    made
}

/// Visits every occurrence of one field of a small message.
fn each<'a>(
    message: &'a [u8],
    number: u32,
    wire: u8,
    mut visit: impl FnMut(&mut Reader<'a>) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(message);
    while let Some(tag) = reader.tag()? {
        if tag.number != number {
            reader.skip(tag.wire)?;
        } else if tag.wire != wire {
            return Err(DecodeError::Malformed("wrong wireType in a special message"));
        } else {
            visit(&mut reader)?;
        }
    }
    Ok(())
}

fn last_bytes(message: &[u8], number: u32) -> Result<Option<&[u8]>, DecodeError> {
    let mut found = None;
    each(message, number, BYTES, |reader| {
        found = Some(reader.bytes()?);
        Ok(())
    })?;
    Ok(found)
}

fn last_varint(message: &[u8], number: u32) -> Result<u64, DecodeError> {
    let mut found = 0;
    each(message, number, VARINT, |reader| {
        found = reader.varint()?;
        Ok(())
    })?;
    Ok(found)
}

const YEARS: &str = "year outside of range [0,9999]";

/// `None` for an instant whose text no JSON reader could read back. (Go prints it all the same.)
fn instant(message: &[u8], precision: Precision) -> Result<Option<Value>, DecodeError> {
    if message.is_empty() {
        return Ok(Some(Value::Null));
    }
    let seconds = last_varint(message, 1)? as i64;
    let nanos = last_varint(message, 2)? as i32;
    let nanos = match precision {
        Precision::Seconds => 0,
        Precision::Micros => i64::from(nanos) / 1000 * 1000,
    };
    let made = Instant {
        seconds: seconds.saturating_add(nanos.div_euclid(1_000_000_000)),
        nanos: nanos.rem_euclid(1_000_000_000) as u32,
    };
    Ok(made.is_readable().then(|| made.text(precision).map_or(Value::Null, Value::String)))
}

fn int_or_string(message: &[u8]) -> Result<Option<Value>, DecodeError> {
    let (kind, number, string) = (last_varint(message, 1)?, last_varint(message, 2)?, last_bytes(message, 3)?);
    Ok(match kind {
        0 => Some(Value::from(number as i32)),
        1 => Some(Value::String(string.map(text).unwrap_or_default())),
        _ => None,
    })
}

/// How deep a tree is; the JSON parser has bounded it.
fn nesting(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(nesting).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(nesting).max().unwrap_or(0),
        _ => 0,
    }
}
