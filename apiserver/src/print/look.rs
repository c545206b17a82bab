//! Looking things up in an object by dotted path. What is not there, or is of another type, is empty.

use serde_json::{Map, Value};

pub(super) trait Look {
    /// `None` for null too, which is how absence looks once it was written down.
    fn at(&self, path: &str) -> Option<&Value>;

    fn has(&self, path: &str) -> bool {
        self.at(path).is_some()
    }

    fn maybe_text(&self, path: &str) -> Option<&str> {
        self.at(path).and_then(Value::as_str)
    }

    fn text(&self, path: &str) -> &str {
        self.maybe_text(path).unwrap_or("")
    }

    fn text_or<'a>(&'a self, path: &str, otherwise: &'a str) -> &'a str {
        self.maybe_text(path).unwrap_or(otherwise)
    }

    fn number(&self, path: &str) -> i64 {
        self.at(path).and_then(Value::as_i64).unwrap_or(0)
    }

    fn flag(&self, path: &str) -> bool {
        self.at(path).and_then(Value::as_bool).unwrap_or(false)
    }

    fn list(&self, path: &str) -> &[Value] {
        self.at(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn count(&self, path: &str) -> i64 {
        let count = match self.at(path) {
            Some(Value::Array(list)) => list.len(),
            Some(Value::Object(map)) => map.len(),
            _ => 0,
        };
        i64::try_from(count).unwrap_or(i64::MAX)
    }

    fn map(&self, path: &str) -> Option<&Map<String, Value>> {
        self.at(path).and_then(Value::as_object)
    }

    /// A value of a map whose keys may have dots: labels, annotations, quantities by resource.
    fn entry(&self, map: &str, key: &str) -> Option<&Value> {
        self.map(map)?.get(key)
    }

    /// The first condition of a type.
    fn condition(&self, kind: &str) -> Option<&Value> {
        self.list("status.conditions").iter().find(|condition| condition.text("type") == kind)
    }

    fn is_true(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|condition| condition.text("status") == "True")
    }

    fn is_being_deleted(&self) -> bool {
        self.has("metadata.deletionTimestamp")
    }
}

impl Look for Value {
    fn at(&self, path: &str) -> Option<&Value> {
        path.split('.').try_fold(self, |value, name| value.get(name)).filter(|value| !value.is_null())
    }
}
