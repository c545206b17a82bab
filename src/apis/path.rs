//! A place inside an object, as people write it: `spec.template.metadata.labels['a.b/c']`.
//!
//! `[*]` stands for every element of a list. Two lists are walked side by side, element by element, and elements that
//! have a `name` find the one of the same name: that is how a list keeps its meaning when it is written in another
//! order.

use serde_json::{Map, Value};
use std::fmt;

/// Longer paths are longer than any object is deep.
const STEPS_MAX: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Key(String),
    Each,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldPath {
    steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path:?} is not the path of a field: {why}")]
pub struct PathError {
    path: String,
    why: &'static str,
}

impl FieldPath {
    /// Reads `a.b['c.d'][*].e`; a leading `.` is allowed.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let wrong = |why| PathError { path: text.to_owned(), why };
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('.').unwrap_or(text);
        if rest.is_empty() {
            return Err(wrong("it is empty"));
        }
        while !rest.is_empty() {
            let (step, after) = step(rest).map_err(wrong)?;
            steps.push(step);
            rest = after;
        }
        if steps.len() > STEPS_MAX {
            return Err(wrong("it has too many steps"));
        }
        Ok(Self { steps })
    }

    /// What is there, if the path names one place and something is there.
    pub fn get<'a>(&self, object: &'a Value) -> Option<&'a Value> {
        let inner = |inner: &'a Value, step: &Step| match step {
            Step::Key(key) => inner.get(key),
            Step::Each => None,
        };
        self.steps.iter().try_fold(object, inner).filter(|found| !found.is_null())
    }

    /// Puts a value there, if the path names one place.
    pub fn set(&self, object: &mut Value, value: Value) {
        let mut keys = Vec::new();
        for step in &self.steps {
            let Step::Key(key) = step else { return };
            keys.push(key.as_str());
        }
        if let Some((last, above)) = keys.split_last() {
            super::map_mut(object, above).insert((*last).to_owned(), value);
        }
    }

    /// Makes `to` say what `from` says at these places: what is not there in `from` goes away in `to`.
    pub fn carry(&self, from: &Value, to: &mut Value) {
        carry(&self.steps, from, to);
    }
}

fn step(text: &str) -> Result<(Step, &str), &'static str> {
    if let Some(inside) = text.strip_prefix('[') {
        let (inside, after) = inside.split_once(']').ok_or("a [ is not closed")?;
        let after = after.strip_prefix('.').unwrap_or(after);
        if inside == "*" {
            return Ok((Step::Each, after));
        }
        let quoted = |quote| inside.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        let key = quoted('\'').or_else(|| quoted('"')).ok_or("inside [] stands * or a key in quotes")?;
        return Ok((Step::Key(key.to_owned()), after));
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (key, after) = text.split_at(end);
    if key.is_empty() {
        return Err("a key is missing");
    }
    let after = match after.strip_prefix('.') {
        Some("") => return Err("it ends with a dot"),
        Some(after) => after,
        None => after,
    };
    Ok((Step::Key(key.to_owned()), after))
}

fn carry(steps: &[Step], from: &Value, to: &mut Value) {
    match steps {
        [] => {}
        [Step::Key(key), rest @ ..] => carry_key(key, rest, from.get(key), to),
        [Step::Each, rest @ ..] => {
            let (Some(from), Some(to)) = (from.as_array(), to.as_array_mut()) else { return };
            for (at, to) in to.iter_mut().enumerate() {
                if let Some(from) = counterpart(from, to, at) {
                    carry(rest, from, to);
                }
            }
        }
    }
}

fn carry_key(key: &str, rest: &[Step], from: Option<&Value>, to: &mut Value) {
    match (rest, from) {
        ([], Some(from)) => {
            super::map_mut(to, &[]).insert(key.to_owned(), from.clone());
        }
        ([], None) => {
            to.as_object_mut().map(|map| map.remove(key));
        }
        (_, Some(from)) => {
            let Some(map) = to.as_object_mut() else { return };
            let made = !map.contains_key(key);
            let inner = map.entry(key).or_insert_with(|| Value::Object(Map::new()));
            carry(rest, from, inner);
            if made && inner.as_object().is_some_and(Map::is_empty) {
                map.remove(key);
            }
        }
        (_, None) => {
            if let Some(inner) = to.get_mut(key) {
                carry(rest, &Value::Null, inner);
            }
        }
    }
}

/// The element of `list` that is the same thing as `element`.
fn counterpart<'a>(list: &'a [Value], element: &Value, at: usize) -> Option<&'a Value> {
    match super::text(element, &["name"]) {
        Some(name) => list.iter().find(|other| super::text(other, &["name"]) == Some(name)),
        None => list.get(at),
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.steps.iter().enumerate() {
            match step {
                Step::Each => write!(f, "[*]")?,
                Step::Key(key) if key.contains(['.', '[', ']']) => write!(f, "['{key}']")?,
                Step::Key(key) if at == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn carried(path: &str, from: Value, mut to: Value, expect: Value) {
        FieldPath::parse(path).unwrap().carry(&from, &mut to);
        assert_eq!(to, expect);
    }

    #[test]
    fn paths_are_read_and_printed_as_they_are_written() {
        for text in ["spec.replicas", "metadata.annotations['a.b/c']", "spec.ports[*].nodePort"] {
            assert_eq!(FieldPath::parse(text).unwrap().to_string(), text);
        }
        for text in ["", ".", "a..b", "a.", "a[", "a[0]"] {
            assert!(FieldPath::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_carried_is_what_the_other_says_and_nothing_besides() {
        carried("a.b", json!({"a": {"b": 1}}), json!({"a": {"b": 2, "c": 3}}), json!({"a": {"b": 1, "c": 3}}));
        carried("a.b", json!({"a": {"b": 1}}), json!({}), json!({"a": {"b": 1}}));
        carried("a.b", json!({}), json!({"a": {"b": 2, "c": 3}}), json!({"a": {"c": 3}}));
        carried("a.b", json!({"a": {}}), json!({"x": 1}), json!({"x": 1}));
    }

    #[test]
    fn elements_of_lists_find_each_other_by_name() {
        let from = json!({"l": [{"name": "x", "v": 1}, {"name": "y", "v": 2}]});
        let to = json!({"l": [{"name": "y"}, {"name": "z", "v": 9}]});
        carried("l[*].v", from, to, json!({"l": [{"name": "y", "v": 2}, {"name": "z", "v": 9}]}));
        carried("l[*].v", json!({"l": [{"v": 1}]}), json!({"l": [{}, {}]}), json!({"l": [{"v": 1}, {}]}));
    }
}
