//! Operators on values: equality, order, arithmetic and concatenation.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value as Json;

use crate::effort;
use crate::error::Error;
use crate::number::{int_overflow, uint_overflow};
use crate::time;
use crate::time::Duration;
use crate::types::Identity;
use crate::value::data::{Elements, Entries, List, Map, document_key};
use crate::value::{Value, compare_numbers};

/// The most elements of a sum of lists. Sums of sums double in size at hardly any cost.
const JOINED_MAX: usize = 4_000_000;

/// Whether both are the same: numbers by what they stand for, lists and maps by what is in them.
pub(crate) fn equals(one: &Value<'_>, two: &Value<'_>) -> bool {
    try_equals(one, two).unwrap_or(false)
}

/// As `equals`. A list or an object out of a document, or an opaque value, cannot be compared with anything else.
pub(crate) fn try_equals(one: &Value<'_>, two: &Value<'_>) -> Result<bool, Error> {
    Ok(match (one, two) {
        (Value::Null, _) | (_, Value::Null) => matches!((one, two), (Value::Null, Value::Null)),
        (Value::Bool(one), Value::Bool(two)) => one == two,
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            compare_numbers(one, two) == Some(Ordering::Equal)
        }
        (Value::String(one), Value::String(two)) => **one == **two,
        (Value::Bytes(one), Value::Bytes(two)) => one == two,
        (Value::Duration(one), Value::Duration(two)) => one == two,
        (Value::Timestamp(one), Value::Timestamp(two)) => one.instant() == two.instant(),
        (Value::List(one), Value::List(two)) => return lists_equal(one, two),
        (Value::Map(one), Value::Map(two)) => return maps_equal(one, two),
        (Value::List(List(Elements::Read(..) | Elements::Merged(..))), _)
        | (Value::Map(Map(Entries::Object(..) | Entries::Map(..))), _) => {
            return Err(Error::no_such_overload());
        }
        (Value::Optional(None), Value::Optional(None)) => true,
        (Value::Optional(Some(one)), Value::Optional(Some(two))) => return try_equals(one, two),
        (Value::Type(one), Value::Type(two)) => one.name() == two.name(),
        (Value::Opaque(one), Value::Opaque(two)) if one.ty().name() == two.ty().name() => return one.equals(&**two),
        (Value::Opaque(_), _) => return Err(Error::no_such_overload()),
        _ => false,
    })
}

/// How many comparisons an element counts for.
fn weight(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => 1 + text.len() as u64 / 64,
        Value::Bytes(bytes) => 1 + bytes.len() as u64 / 64,
        _ => 1,
    }
}

fn lists_equal(one: &List<'_>, two: &List<'_>) -> Result<bool, Error> {
    if one.len() != two.len() {
        return Ok(false);
    }
    match one.identity() {
        Identity::Order => {
            for (one, two) in one.iter().zip(two.iter()) {
                let (one, two) = (one?, two?);
                effort::spend(weight(&one))?;
                if !try_equals(&one, &two)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Identity::Set => sets_equal(one, two),
        Identity::Keys(keys) => keyed_equal(one, two, keys),
    }
}

/// Sets out of documents hold scalars; sorting their texts keeps the comparison below quadratic.
fn sets_equal(one: &List<'_>, two: &List<'_>) -> Result<bool, Error> {
    let keys = |list: &List<'_>| {
        let mut keys: Vec<String> = list.iter().map(|value| Ok(scalar_key(&value?))).collect::<Result<_, Error>>()?;
        keys.sort_unstable();
        keys.dedup();
        Ok(keys)
    };
    Ok(keys(one)? == keys(two)?)
}

fn scalar_key(value: &Value<'_>) -> String {
    match value {
        Value::Int(_) | Value::Uint(_) | Value::Double(_) => format!("n{}", crate::convert::debug(value)),
        _ => format!("{}{}", value.ty().name(), crate::convert::debug(value)),
    }
}

fn element_key(value: &Value<'_>, keys: &[Box<str>]) -> String {
    let Value::Map(map) = value else { return String::new() };
    let part = |key: &str| match map.field(key) {
        Some(Ok(value)) => scalar_key(&value),
        _ => String::new(),
    };
    keys.iter().map(|key| part(&crate::escape::escape(key).unwrap_or_else(|| document_key(key))) + "\u{0}").collect()
}

fn by_key<'a>(list: &List<'a>, keys: &[Box<str>]) -> Result<Vec<(String, Value<'a>)>, Error> {
    let mut found = Vec::with_capacity(list.len());
    for value in list.iter() {
        let value = value?;
        found.push((element_key(&value, keys), value));
    }
    Ok(found)
}

fn keyed_equal(one: &List<'_>, two: &List<'_>, keys: &[Box<str>]) -> Result<bool, Error> {
    let (mut one, mut two) = (by_key(one, keys)?, by_key(two, keys)?);
    one.sort_by(|a, b| a.0.cmp(&b.0));
    two.sort_by(|a, b| a.0.cmp(&b.0));
    for ((one_key, one), (two_key, two)) in one.iter().zip(&two) {
        if one_key != two_key || !try_equals(one, two)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps_equal(one: &Map<'_>, two: &Map<'_>) -> Result<bool, Error> {
    if one.len() != two.len() {
        return Ok(false);
    }
    if let (Entries::Object(left, object), Entries::Object(right, _)) = (&one.0, &two.0) {
        let hidden = |key: &str| object.fields.iter().flatten().all(|(_, field)| &*field.key != key);
        let differs =
            |(key, value): (&String, &Json)| hidden(key) && right.get(key).is_some_and(|other| other != value);
        if left.iter().any(differs) {
            return Ok(false);
        }
    }
    for key in one.keys() {
        match (one.get(&key)?, two.get(&key)?) {
            (Some(one), Some(two)) => {
                effort::spend(weight(&one))?;
                if !try_equals(&one, &two)? {
                    return Ok(false);
                }
            }
            (None, None) => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// Which comes first; `None` if these two cannot be ordered.
pub(crate) fn compare(one: &Value<'_>, two: &Value<'_>) -> Option<Ordering> {
    order(one, two).ok()
}

pub(crate) fn order(one: &Value<'_>, two: &Value<'_>) -> Result<Ordering, Error> {
    match (one, two) {
        (Value::Bool(one), Value::Bool(two)) => Ok(one.cmp(two)),
        (Value::String(one), Value::String(two)) => Ok((**one).cmp(&**two)),
        (Value::Bytes(one), Value::Bytes(two)) => Ok(one.cmp(two)),
        (Value::Duration(one), Value::Duration(two)) => Ok(one.cmp(two)),
        (Value::Timestamp(one), Value::Timestamp(two)) => Ok(one.instant().cmp(&two.instant())),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            compare_numbers(one, two).ok_or_else(|| Error::new("NaN values cannot be ordered"))
        }
        _ => Err(Error::no_such_overload()),
    }
}

pub(crate) fn add<'a>(one: Value<'a>, two: Value<'a>) -> Result<Value<'a>, Error> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => one.checked_add(two).map(Value::Int).ok_or_else(int_overflow),
        (Value::Uint(one), Value::Uint(two)) => one.checked_add(two).map(Value::Uint).ok_or_else(uint_overflow),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one + two)),
        (Value::String(one), Value::String(two)) => {
            let mut sum = String::with_capacity(one.len() + two.len());
            sum.push_str(&one);
            sum.push_str(&two);
            Ok(Value::from(sum))
        }
        (Value::Bytes(one), Value::Bytes(two)) => Ok(Value::Bytes([&*one, &*two].concat().into())),
        (Value::Duration(one), Value::Duration(two)) => {
            one.0.checked_add(two.0).map(|sum| Value::Duration(Duration(sum))).ok_or_else(int_overflow)
        }
        (Value::Timestamp(moment), Value::Duration(span)) | (Value::Duration(span), Value::Timestamp(moment)) => {
            time::add(&moment, span).map(Value::Timestamp)
        }
        (Value::List(one), Value::List(two)) => add_lists(one, two).map(Value::List),
        _ => Err(Error::no_such_overload()),
    }
}

fn add_lists<'a>(one: List<'a>, two: List<'a>) -> Result<List<'a>, Error> {
    let identity = one.identity();
    match identity {
        Identity::Order if two.is_empty() => Ok(one),
        Identity::Order if one.is_empty() => Ok(two),
        Identity::Order if one.len() + two.len() > JOINED_MAX => Err(Error::Cost),
        Identity::Order => Ok(List::join(one, two)),
        Identity::Set => {
            let mut elements = one.to_vec()?;
            let mut seen: std::collections::HashSet<String> = elements.iter().map(scalar_key).collect();
            for value in two.iter() {
                let value = value?;
                if seen.insert(scalar_key(&value)) {
                    elements.push(value);
                }
            }
            Ok(List(Elements::Merged(Arc::new(elements), identity)))
        }
        Identity::Keys(keys) => {
            let mut elements = one.to_vec()?;
            let places = elements.iter().enumerate().map(|(place, value)| (element_key(value, keys), place));
            let places: std::collections::HashMap<String, usize> = places.collect();
            for (key, value) in by_key(&two, keys)? {
                // What the other list has twice, and this one not at all, is there twice afterwards.
                match places.get(&key) {
                    Some(place) => elements[*place] = value,
                    None => elements.push(value),
                }
            }
            Ok(List(Elements::Merged(Arc::new(elements), identity)))
        }
    }
}

pub(crate) fn subtract<'a>(one: &Value<'a>, two: &Value<'a>) -> Result<Value<'a>, Error> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => one.checked_sub(*two).map(Value::Int).ok_or_else(int_overflow),
        (Value::Uint(one), Value::Uint(two)) => one.checked_sub(*two).map(Value::Uint).ok_or_else(uint_overflow),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one - two)),
        (Value::Duration(one), Value::Duration(two)) => {
            one.0.checked_sub(two.0).map(|rest| Value::Duration(Duration(rest))).ok_or_else(int_overflow)
        }
        (Value::Timestamp(one), Value::Timestamp(two)) => time::between(one, two).map(Value::Duration),
        (Value::Timestamp(moment), Value::Duration(span)) => time::subtract(moment, *span).map(Value::Timestamp),
        _ => Err(Error::no_such_overload()),
    }
}

pub(crate) fn multiply<'a>(one: &Value<'a>, two: &Value<'a>) -> Result<Value<'a>, Error> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => one.checked_mul(*two).map(Value::Int).ok_or_else(int_overflow),
        (Value::Uint(one), Value::Uint(two)) => one.checked_mul(*two).map(Value::Uint).ok_or_else(uint_overflow),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one * two)),
        _ => Err(Error::no_such_overload()),
    }
}

pub(crate) fn divide<'a>(one: &Value<'a>, two: &Value<'a>) -> Result<Value<'a>, Error> {
    match (one, two) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(Error::new("division by zero")),
        (Value::Int(one), Value::Int(two)) => one.checked_div(*two).map(Value::Int).ok_or_else(int_overflow),
        (Value::Uint(one), Value::Uint(two)) => Ok(Value::Uint(one / two)),
        (Value::Double(one), Value::Double(two)) => Ok(Value::Double(one / two)),
        _ => Err(Error::no_such_overload()),
    }
}

pub(crate) fn modulo<'a>(one: &Value<'a>, two: &Value<'a>) -> Result<Value<'a>, Error> {
    match (one, two) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(Error::new("modulus by zero")),
        (Value::Int(one), Value::Int(two)) => one.checked_rem(*two).map(Value::Int).ok_or_else(int_overflow),
        (Value::Uint(one), Value::Uint(two)) => Ok(Value::Uint(one % two)),
        _ => Err(Error::no_such_overload()),
    }
}

pub(crate) fn negate<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    match value {
        Value::Int(number) => number.checked_neg().map(Value::Int).ok_or_else(int_overflow),
        Value::Double(number) => Ok(Value::Double(-number)),
        Value::Duration(span) => {
            span.0.checked_neg().map(|span| Value::Duration(Duration(span))).ok_or_else(int_overflow)
        }
        _ => Err(Error::no_such_overload()),
    }
}

/// `value in container`. What cannot be compared is an error in a list out of a document, and nothing in any other.
pub(crate) fn contains<'a>(container: &Value<'a>, value: &Value<'a>) -> Result<Value<'a>, Error> {
    match container {
        Value::List(List(Elements::Made(elements))) => {
            Ok(Value::Bool(elements.iter().any(|element| equals(value, element))))
        }
        Value::List(list) => {
            let mut failure = None;
            for element in list.iter() {
                match try_equals(&element?, value) {
                    Ok(true) => return Ok(Value::Bool(true)),
                    Ok(false) => {}
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            failure.map_or(Ok(Value::Bool(false)), Err)
        }
        Value::Map(map) => Ok(Value::Bool(map.get(value)?.is_some())),
        _ => Err(Error::no_such_overload()),
    }
}

/// A map with one more entry, which must be new.
pub(crate) fn insert<'a>(map: &Map<'a>, key: Value<'a>, value: Value<'a>) -> Result<Map<'a>, Error> {
    let mut map = map.clone();
    insert_in_place(&mut map, key, value)?;
    Ok(map)
}

/// Adds an entry, which must be new, to a map; without copying it if nobody else holds it.
pub(crate) fn insert_in_place<'a>(map: &mut Map<'a>, key: Value<'a>, value: Value<'a>) -> Result<(), Error> {
    if map.get(&key)?.is_some() {
        return Err(Error::new(format!("insert failed: key {} already exists", crate::convert::debug(&key))));
    }
    if !matches!(map.0, Entries::Made(_)) {
        *map = Map::from(map.entries()?);
    }
    if let Entries::Made(made) = &mut map.0 {
        Arc::make_mut(made).entries.insert(crate::value::data::Key(key), value);
    }
    Ok(())
}

/// Adds to a list that nobody else holds without copying it.
pub(crate) fn append<'a>(list: &mut List<'a>, more: &List<'a>) -> Result<(), Error> {
    let more = more.to_vec()?;
    if let Elements::Made(elements) = &mut list.0 {
        Arc::make_mut(elements).extend(more);
        return Ok(());
    }
    let mut elements = list.to_vec()?;
    elements.extend(more);
    *list = List::from(elements);
    Ok(())
}
