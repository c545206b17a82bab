//! One step of the way to a field: into a struct or map by name, into a list by key, value or place.

use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::fmt;

/// The order is Go's: names, then keys, then values, then places.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    Field(String),
    /// The item of a list that has these values in these fields, sorted by name.
    Key(Vec<(String, Item)>),
    /// The item of a set.
    Value(Item),
    Index(i64),
}

/// A value by which an item of a list is known. Numbers are equal by what they count, not by how they are written.
#[derive(Clone, Debug)]
pub struct Item(Value);

impl Item {
    pub fn of(value: &Value) -> Self {
        Self(whole_number(value).unwrap_or_else(|| value.clone()))
    }
}

/// Beyond this a float no longer tells neighbouring integers apart.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// `80.0` is 80.
fn whole_number(value: &Value) -> Option<Value> {
    let number = value.as_number().filter(|number| number.is_f64())?.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= EXACT_MAX).then(|| Value::from(number as i64))
}

impl PartialEq for Item {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Item {}

impl PartialOrd for Item {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Item {
    fn cmp(&self, other: &Self) -> Ordering {
        order(&self.0, &other.0)
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn order(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            let float = |number: &serde_json::Number| number.as_f64().unwrap_or_default();
            float(left).total_cmp(&float(right)).then_with(|| left.as_i64().cmp(&right.as_i64()))
        }
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let differing = left.iter().zip(right).map(|(left, right)| order(left, right)).find(|found| found.is_ne());
            differing.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(left), Value::Object(right)) => order_maps(left, right),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn order_maps(left: &Map<String, Value>, right: &Map<String, Value>) -> Ordering {
    let entry = |((left, one), (right, other)): ((&String, &Value), (&String, &Value))| {
        left.cmp(right).then_with(|| order(one, other))
    };
    left.iter().zip(right).map(entry).find(|found| found.is_ne()).unwrap_or_else(|| left.len().cmp(&right.len()))
}

/// Whether two values are the same, numbers by what they count.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            let pair = |((left, one), (right, other)): ((&String, &Value), (&String, &Value))| {
                left == right && same(one, other)
            };
            left.len() == right.len() && left.iter().zip(right).all(pair)
        }
        _ => left == right,
    }
}

/// A key of `fieldsV1` that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepError {
    #[error("key must be 2 characters long:")]
    Short,
    #[error("missing colon: {0}")]
    NoColon(String),
    #[error("{0}")]
    Unreadable(String),
}

impl Step {
    pub fn field(name: &str) -> Self {
        Self::Field(name.to_owned())
    }

    /// Reads a key of `fieldsV1`. `None` for a sort of step that a later version may know.
    pub fn parse(text: &str) -> Result<Option<Self>, StepError> {
        let (Some(sort), Some(colon)) = (text.chars().next(), text.chars().nth(1)) else {
            return Err(StepError::Short);
        };
        if colon != ':' {
            return Err(StepError::NoColon(text.to_owned()));
        }
        let rest = &text[sort.len_utf8() + 1..];
        let unreadable = |error: &dyn fmt::Display| StepError::Unreadable(error.to_string());
        Ok(Some(match sort {
            'f' => Self::field(rest),
            'v' => {
                let value: Value = serde_json::from_str(rest).map_err(|error| unreadable(&error))?;
                Self::Value(Item::of(&value))
            }
            'k' => {
                let key: Map<String, Value> = serde_json::from_str(rest).map_err(|error| unreadable(&error))?;
                Self::Key(key.into_iter().map(|(name, value)| (name, Item::of(&value))).collect())
            }
            'i' => Self::Index(rest.parse().map_err(|error| unreadable(&error))?),
            _ => return Ok(None),
        }))
    }

    /// The key of `fieldsV1`, as Go writes it.
    pub fn text(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(key) => {
                let fields =
                    key.iter().map(|(name, item)| format!("{}:{}", json(&name.as_str().into()), json(&item.0)));
                format!("k:{{{}}}", fields.collect::<Vec<_>>().join(","))
            }
            Self::Value(item) => format!("v:{}", json(&item.0)),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// Go's JSON can stand inside of HTML. The characters it spares stand nowhere but in strings.
pub(super) fn json(value: &Value) -> String {
    let mut text = value.to_string();
    for (plain, escaped) in
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        if text.contains(plain) {
            text = text.replace(plain, escaped);
        }
    }
    text
}

/// As messages write it: `.spec`, `[name="web"]`, `[="finalizer"]`, `[0]`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(key) => {
                let fields: Vec<String> = key.iter().map(|(name, item)| format!("{name}={item}")).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(item) => write!(f, "[={item}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::String(text) => write!(f, "{text:?}"),
            other => write!(f, "{other}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn steps_are_written_as_go_writes_them() {
        for text in ["f:spec", "f:", "k:{\"containerPort\":80,\"protocol\":\"TCP\"}", "v:\"a\\u003cb\"", "v:1.5", "i:3"]
        {
            assert_eq!(Step::parse(text).unwrap().unwrap().text(), text);
        }
        let key = Step::parse("k:{\"protocol\":\"TCP\",\"containerPort\":80.0}").unwrap().unwrap();
        assert_eq!(key.to_string(), "[containerPort=80,protocol=\"TCP\"]");
        assert_eq!(Step::parse("z:later"), Ok(None));
        for odd in ["", "f", "fs:x", "v:", "v:1 2", "k:[]", "i:x", "é"] {
            assert!(Step::parse(odd).is_err(), "{odd}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,12}") {
            let _ = Step::parse(&text).map(|step| step.map(|step| step.text()));
        }
    }
}
