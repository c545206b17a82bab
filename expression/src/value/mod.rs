//! Values: what expressions compute with. Those out of documents are borrowed, so most are read without being copied.

use std::any::Any;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::error::Error;
use crate::time::{Duration, Timestamp};
use crate::types::Type;

pub(crate) mod data;
mod order;

pub use data::{List, Map};
pub(crate) use order::compare_numbers;

/// A value. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Text<'a>),
    Bytes(Arc<[u8]>),
    Duration(Duration),
    Timestamp(Timestamp),
    List(List<'a>),
    Map(Map<'a>),
    Optional(Option<Arc<Value<'a>>>),
    Type(Type),
    Opaque(Arc<dyn Opaque>),
}

/// A value of a type that a library brings along.
pub trait Opaque: Any + fmt::Debug + Send + Sync {
    /// Its type, of which the name alone matters: overloads are chosen by it.
    fn ty(&self) -> Type;

    /// Asked only of values whose types have one name. An error if they cannot be compared all the same.
    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error>;

    /// For the costs of functions that take it; `None` counts as 1.
    fn size(&self) -> Option<u64> {
        None
    }

    /// What it is in a document, if it can be in one.
    fn to_json(&self) -> Option<serde_json::Value> {
        None
    }
}

/// A string, borrowed or shared.
#[derive(Clone)]
pub enum Text<'a> {
    Borrowed(&'a str),
    Shared(Arc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl fmt::Debug for Text<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Value::String(Text::Shared(text.into()))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Value::String(Text::Borrowed(text))
    }
}

impl From<bool> for Value<'_> {
    fn from(value: bool) -> Self {
        Value::Bool(value)
    }
}

impl From<i64> for Value<'_> {
    fn from(value: i64) -> Self {
        Value::Int(value)
    }
}

impl From<f64> for Value<'_> {
    fn from(value: f64) -> Self {
        Value::Double(value)
    }
}

impl<'a> From<Vec<Value<'a>>> for Value<'a> {
    fn from(elements: Vec<Value<'a>>) -> Self {
        Value::List(List::from(elements))
    }
}

impl<'a> Value<'a> {
    pub fn opaque(value: impl Opaque) -> Value<'a> {
        Value::Opaque(Arc::new(value))
    }

    pub fn some(value: Value<'a>) -> Value<'a> {
        Value::Optional(Some(Arc::new(value)))
    }

    /// The Rust value behind an opaque one, if it is of that type.
    pub fn downcast<T: Opaque>(&self) -> Option<&T> {
        let Value::Opaque(opaque) = self else { return None };
        let any: &dyn Any = &**opaque;
        any.downcast_ref()
    }

    pub fn as_str(&self) -> Option<&str> {
        let Value::String(text) = self else { return None };
        Some(text)
    }

    pub fn as_int(&self) -> Option<i64> {
        let Value::Int(value) = self else { return None };
        Some(*value)
    }

    pub fn as_bool(&self) -> Option<bool> {
        let Value::Bool(value) = self else { return None };
        Some(*value)
    }

    pub fn as_list(&self) -> Option<&List<'a>> {
        let Value::List(list) = self else { return None };
        Some(list)
    }

    pub fn as_map(&self) -> Option<&Map<'a>> {
        let Value::Map(map) = self else { return None };
        Some(map)
    }

    /// The type as far as the value itself knows it: of lists and maps without their parameters.
    pub fn ty(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Uint(_) => Type::Uint,
            Value::Double(_) => Type::Double,
            Value::String(_) => Type::String,
            Value::Bytes(_) => Type::Bytes,
            Value::Duration(_) => Type::Duration,
            Value::Timestamp(_) => Type::Timestamp,
            Value::List(_) => Type::list(Type::Dyn),
            Value::Map(map) => map.ty(),
            Value::Optional(_) => Type::optional(Type::Dyn),
            Value::Type(_) => Type::Type(None),
            Value::Opaque(opaque) => opaque.ty(),
        }
    }

    /// What `size()` tells: characters, bytes, items or entries; 1 for what has no size.
    ///
    /// Costs are computed from it.
    pub fn size(&self) -> u64 {
        match self {
            Value::String(text) => characters(text),
            Value::Bytes(bytes) => bytes.len() as u64,
            Value::List(list) => list.len() as u64,
            Value::Map(map) => map.len() as u64,
            Value::Opaque(opaque) => opaque.size().unwrap_or(1),
            Value::Optional(Some(inner)) => inner.size(),
            _ => 1,
        }
    }

    /// A copy that borrows nothing.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Uint(value) => Value::Uint(value),
            Value::Double(value) => Value::Double(value),
            Value::String(Text::Borrowed(text)) => Value::String(Text::Shared(text.into())),
            Value::String(Text::Shared(text)) => Value::String(Text::Shared(text)),
            Value::Bytes(bytes) => Value::Bytes(bytes),
            Value::Duration(value) => Value::Duration(value),
            Value::Timestamp(value) => Value::Timestamp(value),
            Value::List(list) => Value::List(list.into_owned()),
            Value::Map(map) => Value::Map(map.into_owned()),
            Value::Optional(inner) => Value::Optional(inner.map(|inner| Arc::new((*inner).clone().into_owned()))),
            Value::Type(ty) => Value::Type(ty),
            Value::Opaque(opaque) => Value::Opaque(opaque),
        }
    }
}

/// Characters of a text. Most texts are ASCII, and those are counted at once.
pub(crate) fn characters(text: &str) -> u64 {
    (if text.is_ascii() { text.len() } else { text.chars().count() }) as u64
}
