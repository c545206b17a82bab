//! Whether a tree is of its type, as far as owning its fields depends on it.

use super::schema::{Fields, List, Scalar, Schema, Shape};
use super::step::Step;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Whether several items of a list may have the same key. Applied objects may not; stored ones have been seen to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Duplicates {
    Allowed,
    Refused,
}

/// Errors that are told; more would only be more of the same.
const ERRORS_MAX: usize = 100;

/// Everything that is wrong, in one text.
pub(super) fn check(tree: &Value, schema: Schema<'_>, duplicates: Duplicates) -> Result<(), String> {
    let mut check = Check { duplicates, path: Vec::new(), errors: Vec::new() };
    check.value(tree, schema);
    match &*check.errors {
        [] => Ok(()),
        [one] => Err(one.clone()),
        many => Err(format!("errors:\n  {}", many.join("\n  "))),
    }
}

struct Check {
    duplicates: Duplicates,
    path: Vec<Step>,
    errors: Vec<String>,
}

impl Check {
    fn wrong(&mut self, what: &str) {
        if self.errors.len() < ERRORS_MAX {
            let path: String = self.path.iter().map(Step::to_string).collect();
            self.errors.push(if path.is_empty() { what.to_owned() } else { format!("{path}: {what}") });
        }
    }

    fn within(&mut self, step: Step, look: impl FnOnce(&mut Self)) {
        self.path.push(step);
        look(self);
        self.path.pop();
    }

    fn value(&mut self, value: &Value, schema: Schema<'_>) {
        match (schema.shape(Some(value)), value) {
            (_, Value::Null) => {}
            (Shape::Scalar(scalar), value) => self.scalar(scalar, value),
            (Shape::List(list), Value::Array(items)) => self.list(&list, items),
            (Shape::Map(fields), Value::Object(map)) => self.map(&fields, map),
            (Shape::List(_), other) => self.wrong(&format!("expected list, got &{{{}}}", shown(other))),
            (Shape::Map(_), other) => self.wrong(&format!("expected map, got &{{{}}}", shown(other))),
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        let (fits, expected) = match scalar {
            Scalar::Text => (value.is_string(), "string"),
            Scalar::Bool => (value.is_boolean(), "boolean"),
            Scalar::Number => (value.is_number(), "numeric (int or float)"),
            Scalar::Any => (!value.is_array() && !value.is_object(), "any scalar"),
        };
        if !fits {
            let got = match scalar {
                Scalar::Number => go_type(value).to_owned(),
                Scalar::Text => format!("&value.valueUnstructured{{Value:{}}}", shown(value)),
                Scalar::Bool | Scalar::Any => format!("&{{{}}}", shown(value)),
            };
            self.wrong(&format!("expected {expected}, got {got}"));
        }
    }

    fn list(&mut self, list: &List<'_>, items: &[Value]) {
        let mut seen = BTreeSet::new();
        for (at, item) in (0i64..).zip(items) {
            let step = if list.is_atomic() { Ok(Step::Index(at)) } else { list.step(item) };
            let step = match step {
                Ok(step) => step,
                Err(why) => return self.wrong(&format!("element {at}: {why}")),
            };
            if !seen.insert(step.clone()) && self.duplicates == Duplicates::Refused {
                self.wrong(&format!("duplicate entries for key {step}"));
            }
            self.within(step, |check| check.value(item, list.item));
        }
    }

    fn map(&mut self, fields: &Fields<'_>, map: &Map<String, Value>) {
        for (name, value) in map {
            let Some(schema) = fields.get(name) else {
                return self.within(Step::field(name), |check| check.wrong("field not declared in schema"));
            };
            self.within(Step::field(name), |check| check.value(value, schema));
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
        Value::Number(_) | Value::Null => "float64",
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
