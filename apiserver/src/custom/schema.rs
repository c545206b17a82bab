//! One version of a definition, compiled.

use super::rules::{Judged, Rules};
use super::scale;
use crate::jsonpath::simple::{ScalePaths, Selectable};
use crate::object::Object;
use crate::print::custom::Columns;
use openapi::FieldError;
use openapi::builtin::{Type, kind_in};
use openapi::structural::Structural;
use openapi::validation;
use serde_json::{Value, json};

/// How objects of one version of a custom resource look, and what is done with them.
#[derive(Debug)]
pub struct CustomSchema {
    structural: Structural,
    rules: Option<Rules>,
    pub scale: Option<ScalePaths>,
    pub has_status: bool,
    /// What objects can be selected by.
    pub selectable: Vec<Selectable>,
    /// What is shown of objects in a table.
    pub columns: Columns,
}

impl CustomSchema {
    /// Compiles an entry of a definition's `versions`, which was found to be valid when it was written.
    pub fn compile(version: &Value) -> Self {
        let nothing = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
        let schema = version.pointer("/schema/openAPIV3Schema").unwrap_or(&nothing);
        let list = |field: &str| version.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let structural = Structural::read(schema);
        Self {
            rules: Rules::compile(&structural),
            structural,
            scale: version.pointer("/subresources/scale").map(ScalePaths::read),
            has_status: version.pointer("/subresources/status").is_some(),
            selectable: Selectable::read(list("selectableFields")),
            columns: Columns::read(list("additionalPrinterColumns")),
        }
    }

    pub fn structural(&self) -> &Structural {
        &self.structural
    }

    /// Takes out what the schema does not know, and says what that was; and nulls that it neither allows nor replaces.
    pub fn prune(&self, tree: &mut Value) -> Vec<String> {
        let unknown = self.structural.prune(tree);
        self.structural.drop_nulls(tree);
        unknown
    }

    /// Takes out what the schema does not know. Nulls stay, to be refused: somebody means them.
    pub fn prune_unknown(&self, tree: &mut Value) {
        self.structural.prune(tree);
    }

    /// Fills in what its author did not say.
    pub fn complete(&self, tree: &mut Value) {
        self.structural.default(tree);
    }

    /// Why an object may not be made, or may not take the place of `old`.
    pub fn validate(&self, object: &Object, old: Option<&Object>, namespaced: bool) -> Judged {
        let tree = Value::from(object.clone());
        let old = old.map(|old| Value::from(old.clone()));
        let mut errors = validation::metadata(&tree, old.as_ref(), namespaced);
        errors.extend(self.structural.validate(&tree, old.as_ref(), validation::embedded_metadata));
        errors.extend(self.counts(&tree));
        self.with_rules(&tree, old.as_ref(), errors)
    }

    /// Why the status of an object may not take the place of that of `old`.
    pub fn validate_status(&self, object: &Object, old: &Object, namespaced: bool) -> Judged {
        let (tree, old) = (Value::from(object.clone()), Value::from(old.clone()));
        let mut errors = validation::metadata(&tree, Some(&old), namespaced);
        errors.extend(self.structural.validate_status(&tree, &old));
        errors.extend(self.counts(&tree));
        self.with_rules(&tree, Some(&old), errors)
    }

    fn with_rules(&self, tree: &Value, old: Option<&Value>, mut errors: Vec<FieldError>) -> Judged {
        let Some(rules) = &self.rules else { return errors.into() };
        let Judged { errors: broken, forgiven } = rules.validate(&self.structural, tree, old, &errors);
        errors.extend(broken);
        Judged { errors, forgiven }
    }

    fn counts(&self, tree: &Value) -> Vec<FieldError> {
        self.scale.as_ref().map(|paths| scale::check(paths, tree)).unwrap_or_default()
    }
}

/// The type of what every object has: kind, version and metadata.
pub fn envelope() -> Option<&'static Type> {
    kind_in("meta.k8s.io/v1", "PartialObjectMetadata")
}
