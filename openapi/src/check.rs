//! What does not belong in an object: unknown fields, and values of the wrong type.
//!
//! The words are those of a Kubernetes API server, whose strict decoder names unknown fields by their path and whose
//! refusals name Go types. An object without problems is one that Go would have read without loss.

use std::fmt;

use serde_json::{Map, Number, Value};

use crate::builtin::{Element, Field, Form, Type, table};
use crate::scalar::quantity::QuantityError;
use crate::scalar::time::{Instant, Precision};
use crate::scalar::{base64, quantity};

/// Problems that are reported of one object. Kubernetes stops at as many unknown fields.
pub const PROBLEMS_MAX: usize = 100;

/// One thing that does not belong in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// `path` is dotted, with list positions in brackets: `spec.containers[0].imagePull`.
    UnknownField { path: String },
    /// The object cannot be read at all.
    WrongValue { path: String, message: String },
}

impl Problem {
    fn is_unknown(&self) -> bool {
        matches!(self, Problem::UnknownField { .. })
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::UnknownField { path } => write!(out, "unknown field {}", quote(path)),
            Problem::WrongValue { message, .. } => out.write_str(message),
        }
    }
}

/// Everything that does not belong in an object of this type, in the order of its keys; only that the first wrong value
/// of the list is the one that Go would tell of.
pub fn check(value: &Value, ty: &'static Type) -> Vec<Problem> {
    let mut checker = Checker::default();
    match value {
        Value::Object(map) => checker.object(ty, map),
        Value::Null => {}
        _ => checker.refuse(format!("json: cannot unmarshal {} into Go value of type {}", word(value), ty.go_name())),
    }
    checker.problems
}

/// A field that the checker is inside of, with the type of the object that holds it.
type Frame = (&'static Type, &'static Field);

#[derive(Default)]
struct Checker {
    problems: Vec<Problem>,
    /// The value at hand is of a type that reads itself. Go notes a wrong value and reads on, but gives up at such a one.
    reads_itself: bool,
    /// Go has given up: nothing that it noted before or would meet later is told.
    gave_up: bool,
    path: String,
    frames: Vec<Frame>,
    /// Depths of `frames` at which a union type began. Go reads those apart: it reports no unknown fields in them, and
    /// errors from inside name the struct outside.
    unions: Vec<usize>,
}

impl Checker {
    fn object(&mut self, ty: &'static Type, map: &Map<String, Value>) {
        for (name, value) in map {
            let length = self.enter(name);
            match ty.field(name) {
                None => self.unknown(),
                Some(field) => {
                    self.frames.push((ty, field));
                    self.field(field, value);
                    self.frames.pop();
                }
            }
            self.path.truncate(length);
        }
    }

    /// Adds a name to the path and returns the length to cut it back to.
    fn enter(&mut self, name: &str) -> usize {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        length
    }

    fn unknown(&mut self) {
        if self.unions.is_empty() && self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem::UnknownField { path: self.path.clone() });
        }
    }

    fn refuse(&mut self, message: String) {
        let problem = Problem::WrongValue { path: self.path.clone(), message };
        if (self.reads_itself || !self.unions.is_empty()) && !self.gave_up {
            self.gave_up = true;
            self.problems.insert(0, problem);
        } else if self.problems.len() < PROBLEMS_MAX || self.problems.iter().all(Problem::is_unknown) {
            // Never so many unknown fields that a wrong value goes untold.
            self.problems.push(problem);
        }
    }

    fn wrong(&mut self, value: &str, go_type: &str) {
        let mut names = Vec::new();
        for (ty, field) in &self.frames {
            name_inside(ty, field, &mut names);
        }
        let holder = self.unions.first().unwrap_or(&self.frames.len()).saturating_sub(1);
        let holder = self.frames.get(holder).map_or("", |(ty, _)| ty.name);
        let field = names.join(".");
        self.refuse(format!("json: cannot unmarshal {value} into Go struct field {holder}.{field} of type {go_type}"));
    }

    fn field(&mut self, field: &'static Field, value: &Value) {
        self.reads_itself = false;
        match (field.form, value) {
            (_, Value::Null) => {}
            (Form::One | Form::Pointer, _) => self.element(field, value),
            (Form::List, Value::Array(items)) => self.items(items, |checker, item| checker.element(field, item)),
            (Form::Map, Value::Object(entries)) => {
                for (key, value) in entries {
                    let length = self.enter(key);
                    self.element(field, value);
                    self.path.truncate(length);
                }
            }
            (Form::List | Form::Map, _) => self.wrong(word(value), &field.go_type()),
        }
    }

    fn items(&mut self, items: &[Value], mut each: impl FnMut(&mut Self, &Value)) {
        let length = self.path.len();
        for (at, item) in items.iter().enumerate() {
            self.path.push_str(&format!("[{at}]"));
            each(self, item);
            self.path.truncate(length);
        }
    }

    fn element(&mut self, field: &'static Field, value: &Value) {
        use Element::{IntOrString, MicroTime, Quantity, Time};
        self.reads_itself = matches!(field.element, IntOrString | MicroTime | Quantity | Time);
        match (field.element, value) {
            (_, Value::Null)
            | (Element::String | IntOrString, Value::String(_))
            | (Element::Bool | Element::SchemaOrBool, Value::Bool(_))
            | (Element::Float64, Value::Number(_))
            | (Element::RawExtension | Element::FieldsV1 | Element::Json | Element::Any, _) => {}
            (Element::Struct(id), Value::Object(map)) => self.object(id.get(), map),
            (Element::Int32, Value::Number(number)) => {
                self.integer(number, &field.go_element(), i32::MIN.into(), i32::MAX.into());
            }
            (IntOrString, Value::Number(number)) => self.integer(number, "int32", i32::MIN.into(), i32::MAX.into()),
            (Element::Int64, Value::Number(number)) => {
                self.integer(number, &field.go_element(), i64::MIN, i64::MAX);
            }
            (Element::Bytes, Value::String(text)) => self.refuse_if(base64::decode(text).err()),
            (Element::Bytes, Value::Array(items)) => self.items(items, |checker, item| match item {
                Value::Number(number) => checker.integer(number, "uint8", 0, 255),
                Value::Null => {}
                _ => checker.wrong(word(item), "uint8"),
            }),
            (Time, Value::String(text)) => self.refuse_if(Instant::parse(text, Precision::Seconds).err()),
            (MicroTime, Value::String(text)) => self.refuse_if(Instant::parse(text, Precision::Micros).err()),
            (Quantity, Value::String(text)) => self.refuse_if(quantity::canonical(text.trim()).err()),
            (Quantity, Value::Number(_)) => {}
            (Quantity, _) => self.refuse(QuantityError::Format.to_string()),
            (Element::Strings, Value::Array(items)) => self.items(items, Self::string),
            (Element::SchemaOrArray | Element::SchemaOrBool | Element::SchemaOrStrings, _) => {
                self.unions.push(self.frames.len());
                self.union(field.element, value);
                self.unions.pop();
            }
            (Time | MicroTime, _) => self.wrong(word(value), "string"),
            (IntOrString, _) => self.wrong(word(value), "int32"),
            _ => self.wrong(word(value), &field.go_element()),
        }
    }

    fn union(&mut self, element: Element, value: &Value) {
        match (element, value) {
            (_, Value::Object(map)) => self.object(table().schema(), map),
            (Element::SchemaOrArray, Value::Array(items)) => self.items(items, |checker, item| match item {
                Value::Object(map) => checker.object(table().schema(), map),
                Value::Null => {}
                _ => checker.wrong(word(item), &table().schema().go_name()),
            }),
            (Element::SchemaOrStrings, Value::Array(items)) => self.items(items, Self::string),
            (Element::SchemaOrBool, _) => self.refuse("boolean or JSON schema expected".to_owned()),
            // Go reads anything else as nothing at all.
            _ => {}
        }
    }

    fn string(&mut self, value: &Value) {
        if !value.is_string() && !value.is_null() {
            self.wrong(word(value), "string");
        }
    }

    fn integer(&mut self, number: &Number, go_type: &str, min: i64, max: i64) {
        if number.as_i64().is_none_or(|value| value < min || value > max) {
            self.wrong(&format!("number {number}"), go_type);
        }
    }

    fn refuse_if(&mut self, error: Option<impl fmt::Display>) {
        if let Some(error) = error {
            self.refuse(error.to_string());
        }
    }
}

/// A text as Go quotes it.
pub(crate) fn quote(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        let escaped = match c {
            '\u{7}' => "\\a".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\u{b}' => "\\v".to_owned(),
            '\u{c}' => "\\f".to_owned(),
            '\'' => "'".to_owned(),
            c if c.is_ascii_control() && !"\n\r\t".contains(c) => format!("\\x{:02x}", u32::from(c)),
            c => match c.escape_debug().to_string() {
                // What Rust does not show as it is, Go does not either.
                hidden if hidden.starts_with("\\u") && c > '\u{ffff}' => format!("\\U{:08x}", u32::from(c)),
                hidden if hidden.starts_with("\\u") => format!("\\u{:04x}", u32::from(c)),
                shown => shown,
            },
        };
        quoted.push_str(&escaped);
    }
    quoted + "\""
}

/// How Go's error texts name a kind of value.
fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// The field's name, after those of the inlined structs it is found in, which Go's error texts name too.
fn name_inside(ty: &Type, wanted: &Field, names: &mut Vec<&'static str>) -> bool {
    for field in ty.fields {
        if std::ptr::eq(field, wanted) {
            names.push(field.name);
            return true;
        }
        if let Element::Struct(id) = field.element
            && field.is_inline()
        {
            names.push(id.get().name);
            if name_inside(id.get(), wanted, names) {
                return true;
            }
            names.pop();
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin::kind;

    fn problems(group: &str, name: &str, object: Value) -> Vec<String> {
        check(&object, kind(group, "v1", name).unwrap()).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn unknown_fields_are_named_by_their_path() {
        let container = json!({"name": "a", "imag": "b", "env": [{"name": "A"}, {"nam": "B"}]});
        let pod = json!({"spec": {"containers": [container], "nodeSelector": {"any": "key"}, "foo": {"bar": 1}}});
        let expected = [
            r#"unknown field "spec.containers[0].env[1].nam""#,
            r#"unknown field "spec.containers[0].imag""#,
            r#"unknown field "spec.foo""#,
        ];
        assert_eq!(problems("", "Pod", pod), expected);
    }

    #[test]
    fn names_are_quoted_as_in_go() {
        let pod = json!({"a\n\u{1}\u{7f}\"\\'\u{2028}\u{e0001}ü🦀": 1});
        assert_eq!(problems("", "Pod", pod), [r#"unknown field "a\n\x01\x7f\"\\'\u2028\U000e0001ü🦀""#]);
    }

    #[test]
    fn wrong_values_are_told_with_their_path_and_in_the_words_of_go() {
        let found = check(&json!({"spec": {"replicas": "3"}}), kind("apps", "v1", "Deployment").unwrap());
        let message = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32";
        let expected = Problem::WrongValue { path: "spec.replicas".to_owned(), message: message.to_owned() };
        assert_eq!(found, [expected]);
        let message = "json: cannot unmarshal array into Go value of type v1.Pod";
        assert_eq!(problems("", "Pod", json!([])), [message]);
    }

    #[test]
    fn many_problems_are_cut_short_but_a_wrong_value_is_told() {
        let many: Map<String, Value> = (0..1000).map(|at| (format!("a{at}"), Value::Null)).collect();
        let mut pod = Value::Object(many);
        assert_eq!(problems("", "Pod", pod.clone()).len(), PROBLEMS_MAX);
        pod["metadata"] = json!({"finalizers": vec![1; 1000]});
        let found = problems("", "Pod", pod);
        assert_eq!(found.len(), PROBLEMS_MAX + 1);
        assert!(found[PROBLEMS_MAX].starts_with("json: cannot unmarshal number"));
    }
}
