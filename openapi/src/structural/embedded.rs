//! Embedded resources: what they say of themselves must make sense, as if they stood alone.

use serde_json::{Map, Value};

use super::node::Node;
use super::print::shown;
use super::prune::metadata_type;
use crate::check::{Problem, check};
use crate::field::{FieldError, Wrong};
use crate::names;

/// Errors that are told of one object.
const ERRORS_MAX: usize = 500;

/// What is wrong with the resources embedded in a value that stands at `base`; `resource` if it is one itself.
pub(super) fn validate(node: &Node, base: &str, value: &Value, resource: bool, judge: Judge) -> Vec<FieldError> {
    let mut checker = Checker { path: base.to_owned(), errors: Vec::new(), judge };
    match value {
        Value::Object(map) => checker.object(node, map, resource),
        _ => checker.value(node, value),
    }
    checker.errors
}

/// What is wrong with the metadata of an embedded resource.
pub type Judge = fn(&Value) -> Vec<FieldError>;

struct Checker {
    path: String,
    errors: Vec<FieldError>,
    judge: Judge,
}

impl Checker {
    fn value(&mut self, node: &Node, value: &Value) {
        match value {
            Value::Object(map) => self.object(node, map, node.is_embedded_resource()),
            Value::Array(items) => {
                let Some(inner) = node.items() else { return };
                for (at, item) in items.iter().enumerate().filter(|(_, item)| item.is_array() || item.is_object()) {
                    self.within(&format!("[{at}]"), |checker| checker.value(inner, item));
                }
            }
            _ => {}
        }
    }

    fn within(&mut self, step: &str, work: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push_str(step);
        work(self);
        self.path.truncate(length);
    }

    fn child(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn object(&mut self, node: &Node, map: &Map<String, Value>, resource: bool) {
        if resource {
            self.resource(map);
        }
        for (name, value) in map.iter().filter(|(_, value)| value.is_array() || value.is_object()) {
            if let Some(property) = node.property(name) {
                let step = if self.path.is_empty() { name.clone() } else { format!(".{name}") };
                self.within(&step, |checker| checker.value(property, value));
            } else if let Some(inner) = node.additional_properties().schema() {
                self.within(&format!("[{name}]"), |checker| checker.value(inner, value));
            }
        }
    }

    fn add(&mut self, error: FieldError) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }

    fn invalid(&mut self, name: &str, value: &Value, detail: String) {
        let field = self.child(name);
        self.add(FieldError { wrong: Wrong::Invalid, field, value: Some(shown(value)), detail });
    }

    fn resource(&mut self, map: &Map<String, Value>) {
        for name in ["apiVersion", "kind"] {
            match map.get(name) {
                None => self.add(FieldError::required(self.child(name), "")),
                Some(value @ Value::String(text)) => {
                    let wrong = match name {
                        _ if text.is_empty() => Some("must not be empty".to_owned()),
                        "apiVersion" => wrong_version(text),
                        _ => wrong_kind(text),
                    };
                    if let Some(detail) = wrong {
                        self.invalid(name, value, detail);
                    }
                }
                Some(value) => self.invalid(name, value, "must be a string".to_owned()),
            }
        }
        if let Some(metadata) = map.get("metadata") {
            self.metadata(metadata);
        }
    }

    fn metadata(&mut self, metadata: &Value) {
        if let Some(message) = unreadable(metadata) {
            return self.invalid("metadata", metadata, message);
        }
        let base = self.child("metadata");
        for error in (self.judge)(metadata) {
            let field = error.field.strip_prefix("metadata").unwrap_or(&error.field);
            self.add(FieldError { field: format!("{base}{field}"), ..error });
        }
    }
}

/// Why Go could not read this as the metadata of an object.
pub(super) fn unreadable(metadata: &Value) -> Option<String> {
    let problems = check(metadata, metadata_type()?);
    problems.into_iter().find_map(|problem| match problem {
        Problem::WrongValue { message, .. } => Some(message),
        Problem::UnknownField { .. } => None,
    })
}

fn wrong_version(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn wrong_kind(text: &str) -> Option<String> {
    let wrong = names::dns1035_label(&text.to_lowercase());
    let detail = || format!("may have mixed case, but should otherwise match: {}", wrong.join(","));
    (!wrong.is_empty()).then(detail)
}

/// Why Go could not read the resources embedded in a value that stands at `base`; `resource` if it is one itself.
pub(super) fn unreadable_in(node: &Node, base: &str, value: &Value, resource: bool) -> Option<FieldError> {
    Reader { path: base.to_owned() }.value(node, value, resource)
}

struct Reader {
    path: String,
}

impl Reader {
    fn value(&mut self, node: &Node, value: &Value, resource: bool) -> Option<FieldError> {
        match value {
            Value::Object(map) => {
                let mut own = map.iter().filter(|_| resource);
                own.find_map(|(name, value)| self.own(name, value)).or_else(|| self.inside(node, map))
            }
            Value::Array(items) => {
                let inner = node.items()?;
                let mut items = items.iter().enumerate().filter(|(_, item)| item.is_array() || item.is_object());
                items.find_map(|(at, item)| self.step(&format!("[{at}]"), inner, item))
            }
            _ => None,
        }
    }

    fn inside(&mut self, node: &Node, map: &Map<String, Value>) -> Option<FieldError> {
        let mut inner = map.iter().filter(|(_, value)| value.is_array() || value.is_object());
        inner.find_map(|(name, value)| match (node.property(name), node.additional_properties().schema()) {
            (Some(property), _) => {
                let dot = if self.path.is_empty() { "" } else { "." };
                self.step(&format!("{dot}{name}"), property, value)
            }
            (None, Some(any)) => self.step(&format!("[{name}]"), any, value),
            (None, None) => None,
        })
    }

    fn step(&mut self, step: &str, node: &Node, value: &Value) -> Option<FieldError> {
        let length = self.path.len();
        self.path.push_str(step);
        let found = self.value(node, value, node.is_embedded_resource());
        self.path.truncate(length);
        found
    }

    fn own(&self, name: &str, value: &Value) -> Option<FieldError> {
        let detail = match name {
            "apiVersion" | "kind" if !value.is_string() => "must be a string".to_owned(),
            "metadata" => unreadable(value)?,
            _ => return None,
        };
        let field = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        Some(FieldError { wrong: Wrong::Invalid, field, value: Some(shown(value)), detail })
    }
}
