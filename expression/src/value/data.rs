//! Lists and maps, whether they stand in a document or were made by an expression, and how documents are read.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Error, Text, Value};
use crate::escape::unescape;
use crate::time;
use crate::types::{ANY, Declared, Form, Identity, Items, Object, Type};

static ANY_ITEMS: Items = Items {
    declared: Declared { ty: Type::Dyn, form: Form::Any, size: None, nullable: true },
    identity: Identity::Order,
};

/// A list. Cheap to clone.
#[derive(Clone, Debug)]
pub struct List<'a>(pub(crate) Elements<'a>);

#[derive(Clone, Debug)]
pub(crate) enum Elements<'a> {
    Read(&'a [Json], &'a Items),
    Made(Arc<Vec<Value<'a>>>),
    /// The sum of a set, or of a list with keys, and another list: still one of that kind.
    Merged(Arc<Vec<Value<'a>>>, &'a Identity),
    /// Two lists as one. Joining takes no time, so that a loop of sums costs what it is said to cost.
    Joined(Arc<(List<'a>, List<'a>)>, usize),
}

impl<'a> From<Vec<Value<'a>>> for List<'a> {
    fn from(elements: Vec<Value<'a>>) -> Self {
        List(Elements::Made(Arc::new(elements)))
    }
}

impl<'a> List<'a> {
    pub fn len(&self) -> usize {
        match &self.0 {
            Elements::Read(elements, _) => elements.len(),
            Elements::Made(elements) | Elements::Merged(elements, _) => elements.len(),
            Elements::Joined(_, length) => *length,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn join(left: List<'a>, right: List<'a>) -> List<'a> {
        let length = left.len() + right.len();
        List(Elements::Joined(Arc::new((left, right)), length))
    }

    /// An element, if there are so many; an error if the document has something there that its declaration rules out.
    pub fn get(&self, index: usize) -> Option<Result<Value<'a>, Error>> {
        match &self.0 {
            Elements::Read(elements, items) => Some(read(elements.get(index)?, &items.declared)),
            Elements::Made(elements) | Elements::Merged(elements, _) => Some(Ok(elements.get(index)?.clone())),
            Elements::Joined(lists, _) => {
                let middle = lists.0.len();
                if index < middle { lists.0.get(index) } else { lists.1.get(index - middle) }
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'a>, Error>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// All elements, or the first error.
    pub fn to_vec(&self) -> Result<Vec<Value<'a>>, Error> {
        self.iter().collect()
    }

    pub(crate) fn identity(&self) -> &'a Identity {
        match &self.0 {
            Elements::Read(_, items) => &items.identity,
            Elements::Merged(_, identity) => identity,
            Elements::Made(_) | Elements::Joined(..) => &Identity::Order,
        }
    }

    pub(crate) fn into_owned(self) -> List<'static> {
        // What cannot be read has no owned form either; null is what a document would say of it.
        let owned = |value: Result<Value<'a>, Error>| value.map_or(Value::Null, Value::into_owned);
        List::from(self.iter().map(owned).collect::<Vec<_>>())
    }
}

/// A map or an object. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Map<'a>(pub(crate) Entries<'a>);

#[derive(Clone, Debug)]
pub(crate) enum Entries<'a> {
    Object(&'a serde_json::Map<String, Json>, &'a Object),
    Map(&'a serde_json::Map<String, Json>, &'a Declared),
    /// Sorted by key. The type is that of an object written as `Name{…}`.
    Made(Arc<Made<'a>>),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Made<'a> {
    pub(crate) entries: BTreeMap<Key<'a>, Value<'a>>,
    pub(crate) ty: Option<Arc<Object>>,
}

/// A value as a key: ordered by type, then by value. Keys of types that are none are all the same, after the rest.
#[derive(Clone, Debug)]
pub(crate) struct Key<'a>(pub(crate) Value<'a>);

/// Lets a map be asked for a key that does not live as long as the map's own.
trait AsKey {
    fn value(&self) -> &Value<'_>;
}

impl AsKey for Key<'_> {
    fn value(&self) -> &Value<'_> {
        &self.0
    }
}

impl<'k, 'a: 'k> Borrow<dyn AsKey + 'k> for Key<'a> {
    fn borrow(&self) -> &(dyn AsKey + 'k) {
        self
    }
}

impl Ord for dyn AsKey + '_ {
    fn cmp(&self, other: &Self) -> Ordering {
        key_order(self.value(), other.value())
    }
}

impl PartialOrd for dyn AsKey + '_ {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for dyn AsKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for dyn AsKey + '_ {}

impl Ord for Key<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        key_order(&self.0, &other.0)
    }
}

impl PartialOrd for Key<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key<'_> {}

/// Later entries replace earlier ones with the same key.
impl<'a> From<Vec<(Value<'a>, Value<'a>)>> for Map<'a> {
    fn from(entries: Vec<(Value<'a>, Value<'a>)>) -> Self {
        Map::made(entries, None)
    }
}

impl<'a> Map<'a> {
    pub(crate) fn made(entries: Vec<(Value<'a>, Value<'a>)>, ty: Option<Arc<Object>>) -> Map<'a> {
        let entries = entries.into_iter().map(|(key, value)| (Key(key), value)).collect();
        Map(Entries::Made(Arc::new(Made { entries, ty })))
    }

    pub fn len(&self) -> usize {
        match &self.0 {
            Entries::Object(map, _) | Entries::Map(map, _) => map.len(),
            Entries::Made(made) => made.entries.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn ty(&self) -> Type {
        match &self.0 {
            Entries::Made(made) => match &made.ty {
                Some(object) => Type::Object(object.clone()),
                None => Type::map(Type::Dyn, Type::Dyn),
            },
            _ => Type::map(Type::Dyn, Type::Dyn),
        }
    }

    /// The value of a key. In objects out of documents a null is the same as nothing.
    pub fn get(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, Error> {
        match (&self.0, key) {
            (Entries::Made(made), _) => made.get(key),
            (_, Value::String(name)) => self.field(name).transpose(),
            _ => Err(Error::no_such_overload()),
        }
    }

    /// The value of a string key.
    pub fn field(&self, name: &str) -> Option<Result<Value<'a>, Error>> {
        match &self.0 {
            Entries::Object(map, object) => {
                let field = object.field(name)?;
                let value = map.get(&*field.key).filter(|value| !value.is_null())?;
                Some(read(value, &field.declared))
            }
            Entries::Map(map, values) => Some(read(map.get(name)?, values)),
            Entries::Made(made) => made.get(&Value::String(Text::Borrowed(name))).transpose(),
        }
    }

    /// The keys that can be seen, sorted.
    pub fn keys(&self) -> Vec<Value<'a>> {
        match &self.0 {
            Entries::Object(map, object) => {
                let fields = object.fields.iter().flatten();
                let seen = fields.filter(|(_, field)| map.contains_key(&*field.key));
                seen.map(|(identifier, _)| Value::from(&**identifier)).collect()
            }
            Entries::Map(map, _) => map.keys().map(|key| Value::from(key.as_str())).collect(),
            Entries::Made(made) => made.entries.keys().map(|key| key.0.clone()).collect(),
        }
    }

    /// One of the entries, if there are any.
    pub(crate) fn first(&self) -> Option<Result<(Value<'a>, Value<'a>), Error>> {
        match &self.0 {
            Entries::Map(map, values) => {
                let (key, value) = map.iter().next()?;
                Some(read(value, values).map(|value| (Value::from(key.as_str()), value)))
            }
            Entries::Made(made) => made.entries.iter().next().map(|(key, value)| Ok((key.0.clone(), value.clone()))),
            Entries::Object(..) => {
                let key = self.keys().into_iter().next()?;
                self.get(&key).transpose().map(|value| value.map(|value| (key, value)))
            }
        }
    }

    /// Keys with their values. A null in an object out of a document is nothing, and is left out.
    pub fn entries(&self) -> Result<Vec<(Value<'a>, Value<'a>)>, Error> {
        if let Entries::Made(made) = &self.0 {
            return Ok(made.entries.iter().map(|(key, value)| (key.0.clone(), value.clone())).collect());
        }
        let mut entries = Vec::with_capacity(self.len());
        for key in self.keys() {
            if let Some(value) = self.get(&key)? {
                entries.push((key, value));
            }
        }
        Ok(entries)
    }

    pub(crate) fn into_owned(self) -> Map<'static> {
        let ty = match &self.0 {
            Entries::Made(made) => made.ty.clone(),
            _ => None,
        };
        let mut entries = Vec::with_capacity(self.len());
        for key in self.keys() {
            if let Ok(Some(value)) = self.get(&key) {
                entries.push((key.into_owned(), value.into_owned()));
            }
        }
        Map::made(entries, ty)
    }
}

impl<'a> Made<'a> {
    fn get(&self, key: &Value<'_>) -> Result<Option<Value<'a>>, Error> {
        let at = |key: &Value<'_>| {
            // A borrowed copy: keys are scalars, and cheap to copy.
            let key = Key(key.clone());
            self.entries.get(&key as &dyn AsKey).cloned()
        };
        if !matches!(key, Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_)) {
            return Ok(None);
        }
        Ok(at(key).or_else(|| number_twins(key).into_iter().flatten().find_map(|twin| at(&twin))))
    }
}

/// The same number as a key of the other number types.
fn number_twins(key: &Value<'_>) -> [Option<Value<'static>>; 2] {
    match key {
        Value::Int(number) => [u64::try_from(*number).ok().map(Value::Uint), None],
        Value::Uint(number) => [i64::try_from(*number).ok().map(Value::Int), None],
        Value::Double(number) => {
            [crate::number::exact_int(*number).map(Value::Int), crate::number::exact_uint(*number).map(Value::Uint)]
        }
        _ => [None, None],
    }
}

fn key_order(one: &Value<'_>, two: &Value<'_>) -> Ordering {
    let rank = |value: &Value<'_>| match value {
        Value::Bool(_) => 0,
        Value::Int(_) => 1,
        Value::Uint(_) => 2,
        Value::String(_) => 3,
        _ => 4,
    };
    match (one, two) {
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        (Value::Int(one), Value::Int(two)) => one.cmp(two),
        (Value::Uint(one), Value::Uint(two)) => one.cmp(two),
        (Value::String(one), Value::String(two)) => (**one).cmp(&**two),
        _ => rank(one).cmp(&rank(two)),
    }
}

/// Reads a value out of a document as its declaration says.
pub(crate) fn read<'a>(json: &'a Json, declared: &'a Declared) -> Result<Value<'a>, Error> {
    if let Form::Any = declared.form {
        return Ok(read_any(json));
    }
    if json.is_null() {
        let refusal = "invalid data, got null for schema with nullable=false";
        return if declared.nullable { Ok(Value::Null) } else { Err(Error::new(refusal)) };
    }
    match (&declared.form, json) {
        (Form::Bool, Json::Bool(value)) => Ok(Value::Bool(*value)),
        (Form::Int | Form::IntOrString, Json::Number(number)) if number.is_i64() => {
            Ok(Value::Int(number.as_i64().unwrap_or_default()))
        }
        (Form::Double, Json::Number(number)) => Ok(Value::Double(number.as_f64().unwrap_or(f64::NAN))),
        (Form::String | Form::IntOrString, Json::String(text)) => Ok(Value::from(text.as_str())),
        (Form::Bytes, Json::String(text)) => bytes(text),
        (Form::Duration, Json::String(text)) => time::read_duration(text).map(Value::Duration),
        (Form::Date, Json::String(text)) => time::read_date(text).map(Value::Timestamp),
        (Form::DateTime, Json::String(text)) => time::read_date_time(text).map(Value::Timestamp),
        (Form::List(items), Json::Array(elements)) => Ok(Value::List(List(Elements::Read(elements, items)))),
        (Form::Map(values), Json::Object(map)) => Ok(Value::Map(Map(Entries::Map(map, values)))),
        (Form::Object(object), Json::Object(map)) => Ok(Value::Map(Map(Entries::Object(map, object)))),
        (Form::Optional(inner), _) => Ok(Value::some(read(json, inner)?)),
        (form, _) => Err(Error::new(mismatch(form, json))),
    }
}

fn bytes<'a>(text: &str) -> Result<Value<'a>, Error> {
    use base64::Engine;
    let decoded = base64::engine::general_purpose::STANDARD.decode(text);
    let decoded = decoded.map_err(|error| Error::new(format!("Invalid byte formatted string {text}: {error}")))?;
    Ok(Value::Bytes(decoded.into()))
}

fn read_any(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(value) => Value::Int(value),
            None => Value::Double(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => Value::List(List(Elements::Read(elements, &ANY_ITEMS))),
        Json::Object(map) => Value::Map(Map(Entries::Map(map, &ANY))),
    }
}

/// An object of which nothing is declared.
impl<'a> From<&'a serde_json::Map<String, Json>> for Value<'a> {
    fn from(map: &'a serde_json::Map<String, Json>) -> Self {
        Value::Map(Map(Entries::Map(map, &ANY)))
    }
}

fn mismatch(form: &Form, json: &Json) -> String {
    let expected = match form {
        Form::IntOrString => {
            return "invalid data, expected XIntOrString value to be either a string or integer".to_owned();
        }
        Form::Object(_) | Form::Map(_) => {
            return "invalid data, expected a map for the provided schema with type=object".to_owned();
        }
        Form::List(_) => return "invalid data, expected an array for the provided schema with type=array".to_owned(),
        Form::Bool => "bool",
        Form::Int => "int",
        Form::Double => "float",
        _ => "string",
    };
    let got = match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_f64() => "float64",
        Json::Number(_) => "int64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    format!("invalid data, expected {expected}, got {got}")
}

/// The key in a document that an identifier of a list's keys stands for.
pub(crate) fn document_key(identifier: &str) -> String {
    unescape(identifier).unwrap_or_else(|| identifier.to_owned())
}
