//! Defaults of a schema: each must be what its own place allows.

use serde_json::{Map, Value, json};

use super::embedded::Judge;
use super::node::Node;
use super::print::shown;
use super::prune::{coerced, is_meta, is_pruned};
use super::{embedded, validate};
use crate::field::{FieldError, Wrong};

/// What is wrong with the defaults of a schema that stands at `base`; `pruned` if they must not hold what is unknown.
pub(crate) fn validate(root: &Node, base: &str, pruned: bool, judge: Judge) -> Vec<FieldError> {
    let mut checker = Checker { path: base.to_owned(), errors: Vec::new(), pruned, judge };
    checker.node(root, &Resource { node: root, steps: Vec::new(), inside_meta: false }, true);
    checker.errors
}

/// Whether a default below holds something that its schema does not know.
pub(crate) fn any_unpruned(node: &Node) -> bool {
    let own = node.default_value().is_some_and(|value| !is_pruned(value, node, node.embedded));
    let inner = node.additional_properties().schema().into_iter().chain(node.items());
    own || node.properties().map(|(_, node)| node).chain(inner).any(any_unpruned)
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Item,
}

/// The resource that a place belongs to, and the way to the place.
#[derive(Clone)]
struct Resource<'a> {
    node: &'a Node,
    steps: Vec<Step<'a>>,
    /// The way leads through what the resource says of itself.
    inside_meta: bool,
}

impl<'a> Resource<'a> {
    fn step(&self, step: Step<'a>, inside_meta: bool) -> Self {
        let mut inner = self.clone();
        inner.steps.push(step);
        inner.inside_meta |= inside_meta;
        inner
    }

    /// The smallest object that holds the value at the end of the way.
    fn around(&self, value: &Value) -> Value {
        let wrap = |inner: Value, step: &Step| match step {
            Step::Field(name) => Value::Object(Map::from_iter([((*name).to_owned(), inner)])),
            Step::Item => Value::Array(vec![inner]),
        };
        let mut object = self.steps.iter().rev().fold(value.clone(), wrap);
        for (name, text) in [("apiVersion", "validation/v1"), ("kind", "Validation")] {
            if object.is_object() && object.get(name).is_none() {
                object[name] = json!(text);
            }
        }
        object
    }
}

struct Checker {
    /// Of the schema at hand.
    path: String,
    errors: Vec<FieldError>,
    pruned: bool,
    judge: Judge,
}

impl Checker {
    fn node<'a>(&mut self, node: &'a Node, resource: &Resource<'a>, is_root: bool) {
        let own;
        let resource = if node.embedded && !is_root {
            own = Resource { node, steps: Vec::new(), inside_meta: false };
            &own
        } else {
            resource
        };
        if let Some(value) = node.default_value() {
            let at = format!("{}.default", self.path);
            if resource.inside_meta {
                self.of_metadata(&at, node, value, resource);
            } else {
                self.of_value(&at, node, value, node.embedded || is_root);
            }
        }
        if let Some(items) = node.items() {
            self.within(&[".items"], |checker| checker.node(items, &resource.step(Step::Item, false), false));
        }
        for (name, property) in node.properties() {
            let meta = (node.embedded || is_root) && is_meta(name);
            let inner = resource.step(Step::Field(name), meta);
            self.within(&[".properties[", name, "]"], |checker| checker.node(property, &inner, false));
        }
    }

    fn within(&mut self, steps: &[&str], work: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.extend(steps.iter().copied());
        work(self);
        self.path.truncate(length);
    }

    fn invalid(&mut self, at: &str, value: &Value, detail: String) {
        let error = FieldError { wrong: Wrong::Invalid, field: at.to_owned(), value: Some(shown(value)), detail };
        self.errors.push(error);
    }

    fn of_metadata(&mut self, at: &str, node: &Node, value: &Value, resource: &Resource) {
        let object = resource.around(value);
        let mut wrong = embedded::unreadable_in(resource.node, "", &object, true).into_iter().collect::<Vec<_>>();
        if wrong.is_empty() {
            wrong = embedded::validate(resource.node, "", &object, true, self.judge);
        }
        let texts: Vec<String> = wrong.iter().map(FieldError::to_string).collect();
        match texts.as_slice() {
            [] => self.errors.extend(validate::preset(node, at, value)),
            [one] => self.invalid(at, value, format!("must result in valid metadata: {one}")),
            many => self.invalid(at, value, format!("must result in valid metadata: [{}]", many.join(", "))),
        }
    }

    fn of_value(&mut self, at: &str, node: &Node, value: &Value, resource: bool) {
        if self.pruned && !is_pruned(value, node, resource) {
            self.invalid(at, &coerced(value, node, resource), "must not have unknown fields".to_owned());
        }
        if let Some(error) = embedded::unreadable_in(node, at, value, resource) {
            return self.errors.push(error);
        }
        let wrong = embedded::validate(node, at, value, resource, self.judge);
        if wrong.is_empty() {
            self.errors.extend(validate::preset(node, at, value));
        } else {
            self.errors.extend(wrong);
        }
    }
}
