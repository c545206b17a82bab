//! Protobuf to JSON.

use serde_json::{Map, Value};

use super::envelope::Envelope;
use super::wire::{BYTES, FIXED64, Reader, Tag, VARINT};
use super::{DEPTH_MAX, DecodeError, OBJECT_WEIGHT, WEIGHT_MAX, special};
use crate::builtin::{Element, Field, Form, Type, kind_in};
use crate::zero;

/// An enveloped object of a built-in kind, as JSON with its `apiVersion` and `kind`.
pub fn decode(bytes: &[u8]) -> Result<Value, DecodeError> {
    Decoder { weight: 0 }.enveloped(bytes, 0)
}

/// A bare message of a type that is known from elsewhere.
pub fn decode_message(ty: &'static Type, message: &[u8]) -> Result<Value, DecodeError> {
    Decoder { weight: 0 }.object(ty, message, 1)
}

pub(super) struct Decoder {
    weight: usize,
}

impl Decoder {
    pub(super) fn enveloped(&mut self, bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
        let Envelope { api_version, kind, message } = Envelope::open(bytes)?;
        if kind.is_empty() {
            return Err(DecodeError::NoKind);
        }
        let ty = kind_in(api_version, kind)
            .filter(|ty| ty.is_message)
            .ok_or_else(|| DecodeError::UnknownKind { api_version: api_version.to_owned(), kind: kind.to_owned() })?;
        let mut map = Map::new();
        self.fields(ty, message, &mut map, depth + 1)?;
        map.insert("apiVersion".to_owned(), api_version.into());
        map.insert("kind".to_owned(), kind.into());
        zero::complete(ty, &mut map);
        Ok(Value::Object(map))
    }

    /// Counts a value that is about to be made.
    pub(super) fn weigh(&mut self, weight: usize) -> Result<(), DecodeError> {
        self.weight += weight;
        if self.weight > WEIGHT_MAX { Err(DecodeError::TooHeavy) } else { Ok(()) }
    }

    pub(super) fn object(&mut self, ty: &'static Type, message: &[u8], depth: usize) -> Result<Value, DecodeError> {
        let mut map = Map::new();
        self.fields(ty, message, &mut map, depth)?;
        zero::complete(ty, &mut map);
        Ok(Value::Object(map))
    }

    /// Reads a message's fields into `map`, which may hold those of an earlier part of the same message.
    fn fields(
        &mut self,
        ty: &'static Type,
        message: &[u8],
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if depth > DEPTH_MAX {
            return Err(DecodeError::TooDeep);
        }
        self.weigh(OBJECT_WEIGHT + ty.zero_values)?;
        let mut reader = Reader::new(message);
        while let Some(tag) = reader.tag()? {
            match ty.numbered(tag.number) {
                None => reader.skip(tag.wire)?,
                Some(field) => self.field(field, tag, &mut reader, map, depth)?,
            }
        }
        Ok(())
    }

    fn field(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        if let Element::Struct(id) = field.element
            && field.is_inline()
        {
            return self.fields(id.get(), expect_bytes(field, tag, reader)?, map, depth);
        }
        self.weigh(1)?;
        match field.form {
            Form::One | Form::Pointer => self.single(field, tag, reader, map, depth),
            Form::List => self.item(field, tag, reader, map, depth + 1),
            Form::Map => self.entry(field, expect_bytes(field, tag, reader)?, map, depth + 1),
        }
    }

    fn single(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        // A message may come in parts, which add up.
        if let (Element::Struct(id), Some(Value::Object(earlier))) = (field.element, map.get_mut(field.name)) {
            return self.fields(id.get(), expect_bytes(field, tag, reader)?, earlier, depth + 1);
        }
        let value = self.element(field, tag, reader, depth)?;
        if zero::is_hidden(field, &value) {
            map.remove(field.name);
        } else {
            map.insert(field.name.to_owned(), value);
        }
        Ok(())
    }

    fn item(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader,
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let packed = tag.wire == BYTES && scalar_wire(field.element) != BYTES;
        let mut made = Vec::new();
        if packed {
            let tag = Tag { wire: scalar_wire(field.element), ..tag };
            let mut inner = Reader::new(reader.bytes()?);
            while !inner.is_done() {
                self.weigh(1)?;
                made.push(self.element(field, tag, &mut inner, depth)?);
            }
        } else {
            made.push(self.element(field, tag, reader, depth)?);
        }
        match map.get_mut(field.name) {
            Some(Value::Array(items)) => items.append(&mut made),
            _ if made.is_empty() => {}
            _ => drop(map.insert(field.name.to_owned(), Value::Array(made))),
        }
        Ok(())
    }

    fn entry(
        &mut self,
        field: &'static Field,
        entry: &[u8],
        map: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), DecodeError> {
        let (mut key, mut value) = (String::new(), None);
        let mut reader = Reader::new(entry);
        while let Some(tag) = reader.tag()? {
            match tag.number {
                1 => key = special::text(expect_bytes(field, tag, &mut reader)?),
                2 => value = Some(self.element(field, tag, &mut reader, depth)?),
                _ => reader.skip(tag.wire)?,
            }
        }
        let value = value.unwrap_or_else(|| match field.element {
            Element::Bytes => Value::from(""),
            Element::Strings => Value::Array(Vec::new()),
            element => zero::zero_element(element),
        });
        match map.get_mut(field.name) {
            Some(Value::Object(entries)) => drop(entries.insert(key, value)),
            _ => drop(map.insert(field.name.to_owned(), Value::Object(Map::from_iter([(key, value)])))),
        }
        Ok(())
    }

    fn element(
        &mut self,
        field: &'static Field,
        tag: Tag,
        reader: &mut Reader,
        depth: usize,
    ) -> Result<Value, DecodeError> {
        let wire = scalar_wire(field.element);
        if tag.wire != wire {
            return Err(DecodeError::WireType { field: field.name, wire: tag.wire });
        }
        match field.element {
            Element::Bool => Ok(Value::Bool(reader.varint()? != 0)),
            // The low bits count, as in Go: a negative number comes in ten bytes.
            Element::Int32 => Ok(Value::from(reader.varint()? as i32)),
            Element::Int64 => Ok(Value::from(reader.varint()? as i64)),
            Element::Float64 => zero::number(f64::from_bits(reader.fixed64()?))
                .ok_or(DecodeError::Value { field: field.name, why: "json: unsupported value".to_owned() }),
            Element::String => Ok(Value::String(special::text(reader.bytes()?))),
            Element::Struct(id) => self.object(id.get(), reader.bytes()?, depth + 1),
            _ => self.special(field, reader.bytes()?, depth),
        }
    }
}

/// How one value of this kind travels.
fn scalar_wire(element: Element) -> u8 {
    match element {
        Element::Bool | Element::Int32 | Element::Int64 => VARINT,
        Element::Float64 => FIXED64,
        _ => BYTES,
    }
}

fn expect_bytes<'a>(field: &Field, tag: Tag, reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    if tag.wire == BYTES { reader.bytes() } else { Err(DecodeError::WireType { field: field.name, wire: tag.wire }) }
}
