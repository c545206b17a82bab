//! What scheduler, syncer and dialects all speak of: kinds of objects, places inside them, and how text is hashed.
//!
//! Objects are plain JSON trees here; nothing in this folder reads or writes anything.

pub mod change;
pub mod definitions;
mod describe;
pub mod fnv;
pub mod interpret;
mod kind;
pub mod kinds;
mod path;
pub mod quantity;
pub mod uid;

pub use describe::describe;
pub use kind::Kind;
pub use path::{FieldPath, PathError};

use serde_json::{Map, Value};

/// Labels or annotations: every value is a string.
pub type Labels = Map<String, Value>;

/// Text at a place of an object that is given by its keys.
pub fn text<'a>(object: &'a Value, keys: &[&str]) -> Option<&'a str> {
    at(object, keys)?.as_str()
}

/// A whole number at a place of an object.
pub fn number(object: &Value, keys: &[&str]) -> Option<i64> {
    at(object, keys)?.as_i64()
}

/// Whatever is at a place of an object; what is `null` is not there.
pub fn at<'a>(object: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(object, |inner, key| inner.get(key)).filter(|found| !found.is_null())
}

/// The elements of the list at a place of an object; none if there is no list.
pub fn list<'a>(object: &'a Value, keys: &[&str]) -> &'a [Value] {
    at(object, keys).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The strings of the list at a place of an object.
pub fn texts(object: &Value, keys: &[&str]) -> Vec<String> {
    list(object, keys).iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The map at a place of an object.
pub fn map<'a>(object: &'a Value, keys: &[&str]) -> Option<&'a Map<String, Value>> {
    at(object, keys)?.as_object()
}

/// The map at a place of an object, made if it is not there. What was in the way is replaced.
pub fn map_mut<'a>(object: &'a mut Value, keys: &[&str]) -> &'a mut Map<String, Value> {
    let mut inner = as_map(object);
    for key in keys {
        inner = as_map(inner.entry(*key).or_insert(Value::Null));
    }
    inner
}

fn as_map(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(map) => map,
        _ => unreachable!("made a map above"),
    }
}

/// Removes what is at a place of an object, and says what it was.
pub fn remove(object: &mut Value, keys: &[&str]) -> Option<Value> {
    let (last, above) = keys.split_last()?;
    let holder = above.iter().try_fold(object, |inner, key| inner.get_mut(key))?;
    holder.as_object_mut()?.remove(*last)
}
