//! Schemas of custom resources, compiled: what objects of one version of a `CustomResourceDefinition` look like, what
//! is taken out of them, filled in, and refused.
//!
//! [`Structural::read`] takes a schema that the definition's own rules accepted; [`Node`] is one place in it.

mod compare;
mod correlate;
mod default;
mod embedded;
mod field_path;
pub(crate) mod formats;
mod lists;
mod node;
mod number;
mod outcome;
mod pattern;
mod presets;
mod print;
mod prune;
mod re2;
mod read;
mod validate;
mod value;

use serde_json::Value;

use crate::field::FieldError;
pub use compare::Change;
pub use correlate::{OldItems, unchanged};
pub use embedded::Judge;
pub use field_path::Found;
pub use formats::is_known as is_known_format;
pub use node::{Additional, Edge, ListType, MapType, Node, Rule, Type};
pub use pattern::{Pattern, STEPS_MAX};
pub(crate) use presets::{any_unpruned, validate as validate_presets};
pub use print::{json, shown};
pub use re2::SyntaxError;

/// The schema of one version of a custom resource.
#[derive(Debug, Default)]
pub struct Structural {
    root: Node,
}

impl Structural {
    /// Reads `schema.openAPIV3Schema` of a version. Never fails: what the rules of definitions refuse, it ignores.
    pub fn read(open_api_v3_schema: &Value) -> Self {
        Self { root: read::node(open_api_v3_schema) }
    }

    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Why an object cannot be read at all: its metadata, or that of an embedded resource, is of a wrong type.
    pub fn unreadable(&self, object: &Value) -> Option<String> {
        let own = object.get("metadata").and_then(embedded::unreadable);
        own.or_else(|| Some(embedded::unreadable_in(&self.root, "", object, false)?.to_string()))
    }

    /// Takes out what the schema does not specify, and returns where it stood: `spec.list[0].x`. The object's own
    /// `apiVersion`, `kind` and `metadata` are known, as are those of embedded resources.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.root)
    }

    /// Takes out nulls that the schema neither allows nor has a default for.
    pub fn drop_nulls(&self, object: &mut Value) {
        default::drop_nulls(object, &self.root);
    }

    /// Fills in defaults, for what is absent and for nulls that the schema does not allow.
    pub fn default(&self, object: &mut Value) {
        default::default(object, &self.root);
    }

    /// What is wrong with an object besides its metadata: values, lists that hold something twice, embedded resources.
    /// With an `old` object it is an update, and what did not change is not blamed. `judge` knows what metadata must be.
    pub fn validate(&self, object: &Value, old: Option<&Value>, judge: Judge) -> Vec<FieldError> {
        let mut errors = validate::object(&self.root, object, old);
        errors.extend(embedded::validate(&self.root, "", object, false, judge));
        if old.is_none_or(|old| lists::duplicates(&self.root, old).is_empty()) {
            errors.extend(lists::duplicates(&self.root, object));
        }
        errors
    }

    /// What is wrong with the status of an object whose status is a subresource.
    pub fn validate_status(&self, object: &Value, old: &Value) -> Vec<FieldError> {
        let mut errors = match (object.get("status"), self.root.property("status")) {
            (Some(status), Some(node)) => validate::part(node, "status", status, old.get("status")),
            _ => Vec::new(),
        };
        if lists::duplicates(&self.root, old).is_empty() {
            errors.extend(lists::duplicates(&self.root, object));
        }
        errors
    }
}

#[cfg(test)]
mod tests;
