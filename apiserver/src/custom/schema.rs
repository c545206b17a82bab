//! One version of a definition, compiled.

use super::ScalePaths;
use crate::object::Object;
use openapi::FieldError;
use openapi::builtin::{Type, kind_in};
use openapi::structural::Structural;
use openapi::validation;
use serde_json::{Value, json};

/// How objects of one version of a custom resource look, and what is done with them.
#[derive(Debug)]
pub struct CustomSchema {
    structural: Structural,
    pub scale: Option<ScalePaths>,
    pub has_status: bool,
    /// Fields that objects can be selected by, as definitions name them: `.spec.color`.
    pub selectable: Vec<Vec<String>>,
}

impl CustomSchema {
    /// Compiles an entry of a definition's `versions`, which was found to be valid when it was written.
    pub fn compile(version: &Value) -> Self {
        let nothing = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&nothing);
        let selectable = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
        let selectable = selectable.filter_map(|field| field.get("jsonPath").and_then(Value::as_str));
        let steps = |path: &str| path.trim_start_matches('.').split('.').map(str::to_owned).collect();
        Self {
            structural: Structural::read(schema),
            scale: version.pointer("/subresources/scale").and_then(ScalePaths::read),
            has_status: version.pointer("/subresources/status").is_some(),
            selectable: selectable.map(steps).collect(),
        }
    }

    pub fn structural(&self) -> &Structural {
        &self.structural
    }

    /// Takes out what the schema does not know, and says what that was.
    pub fn prune(&self, tree: &mut Value) -> Vec<String> {
        self.structural.prune(tree)
    }

    /// Fills in what its author did not say.
    pub fn complete(&self, tree: &mut Value) {
        self.structural.default(tree);
    }

    /// Why an object may not be made, or may not take the place of `old`.
    pub fn validate(&self, object: &Object, old: Option<&Object>, namespaced: bool) -> Vec<FieldError> {
        let tree = Value::from(object.clone());
        let old = old.map(|old| Value::from(old.clone()));
        let mut errors = validation::metadata(&tree, old.as_ref(), namespaced);
        errors.extend(self.structural.validate(&tree, old.as_ref()));
        if let Some(scale) = &self.scale {
            errors.extend(scale.check(object.map()));
        }
        errors
    }
}

/// The type of what every object has: kind, version and metadata.
pub fn envelope() -> Option<&'static Type> {
    kind_in("meta.k8s.io/v1", "PartialObjectMetadata")
}
