//! Schemas of custom resources, compiled: what objects of one version of a `CustomResourceDefinition` look like, what
//! is taken out of them, filled in, and refused.
//!
//! [`Structural::read`] takes a schema that the definition's own rules accepted; [`Node`] is one place in it.

mod default;
mod node;
mod pattern;
mod prune;
mod re2;
mod read;

use serde_json::Value;

pub use node::{Additional, Edge, ListType, MapType, Node, Rule, Type};
pub use pattern::{Pattern, STEPS_MAX};
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

    /// Takes out what the schema does not specify, and returns where it stood: `spec.list[0].x`. The object's own
    /// `apiVersion`, `kind` and `metadata` are known, as are those of embedded resources.
    pub fn prune(&self, object: &mut Value) -> Vec<String> {
        prune::prune(object, &self.root)
    }

    /// Fills in defaults. A null that the schema does not allow is replaced by the default of its place, or dropped.
    pub fn default(&self, object: &mut Value) {
        default::default(object, &self.root);
    }
}

#[cfg(test)]
mod tests;
