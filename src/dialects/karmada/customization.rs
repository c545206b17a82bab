//! ResourceInterpreterCustomization: what objects of a kind mean, in scripts of its users.

use crate::apis;
use crate::apis::Kind;
use crate::apis::interpret::{Customized, Operation};
use crate::dialects::read::{DialectError, wrong};
use crate::interpreter::{self, Scripts};
use apiserver::attend::Attending;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::strategy::Part;
use openapi::FieldError;
use serde_json::Value;

/// Group, version and plural.
pub const CUSTOMIZATIONS: (&str, &str, &str) = ("config.karmada.io", "v1alpha1", "resourceinterpretercustomizations");

/// One of them, read.
#[derive(Clone, Debug)]
pub struct Customization {
    /// Exactly this version.
    pub kind: Kind,
    pub scripts: Vec<Customized>,
}

/// Those that say the same are the same, however often they were compiled.
impl PartialEq for Customization {
    fn eq(&self, other: &Self) -> bool {
        let said = |of: &Self| -> Vec<_> {
            of.scripts.iter().map(|one| (one.operation, one.script.fingerprint(), one.by.clone())).collect()
        };
        self.kind == other.kind && said(self) == said(other)
    }
}

fn target(object: &Value) -> Kind {
    let said = |key| apis::text(object, &["spec", "target", key]).unwrap_or_default();
    Kind::new(said("apiVersion"), said("kind"))
}

/// What it says about an operation; empty says nothing.
fn script(object: &Value, operation: Operation) -> Option<&str> {
    apis::text(object, &["spec", "customizations", operation.field(), "luaScript"]).filter(|text| !text.is_empty())
}

fn place(operation: Operation) -> String {
    format!("spec.customizations.{}.luaScript", operation.field())
}

pub fn compile(object: &Value, scripts: &Scripts) -> Result<Customization, DialectError> {
    let by = apis::text(object, &["metadata", "name"]).unwrap_or_default();
    let mut found = Vec::new();
    for operation in Operation::ALL {
        let Some(text) = script(object, operation) else { continue };
        let script = scripts.compile(text).map_err(|why| wrong(&place(operation), why))?;
        found.push(Customized { by: by.into(), operation, script });
    }
    Ok(Customization { kind: target(object), scripts: found })
}

/// Refuses what cannot be compiled, and what another one says already: of two scripts for one thing one would be left
/// out, and nobody would know which.
pub fn check(object: &Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let resource = &write.at.resource;
    if (&*resource.group, &*resource.plural) != (CUSTOMIZATIONS.0, CUSTOMIZATIONS.2) || write.part != Part::Main {
        return Ok(());
    }
    let tree = Value::from(object.clone());
    let mut errors = uncompiled(&tree);
    for other in write.around.all(write.at)?.into_iter().filter(|other| other.name() != object.name()) {
        errors.extend(conflicts(&tree, &Value::from(other)));
    }
    match errors.is_empty() {
        true => Ok(()),
        false => Err(ApiError::invalid(&resource.group, &resource.kind, object.name(), &errors)),
    }
}

fn uncompiled(object: &Value) -> Vec<FieldError> {
    let tried = |operation: Operation| {
        let why = interpreter::check(script(object, operation)?).err()?;
        let why = format!("InterpreterOperation({}) Lua script error: {why}", operation.name());
        Some(FieldError::forbidden(place(operation), why))
    };
    Operation::ALL.into_iter().filter_map(tried).collect()
}

/// Dependencies of several are all of them needed.
fn conflicts(object: &Value, other: &Value) -> Vec<FieldError> {
    if target(object) != target(other) {
        return Vec::new();
    }
    let name = apis::text(other, &["metadata", "name"]).unwrap_or_default();
    let both = |operation: &Operation| script(object, *operation).is_some() && script(other, *operation).is_some();
    let conflict = |operation: Operation| {
        let why = format!(
            "conflicting with InterpreterOperation({}) of existing ResourceInterpreterCustomization({name})",
            operation.name()
        );
        FieldError::forbidden(place(operation), why)
    };
    let operations = Operation::ALL.into_iter().filter(|operation| *operation != Operation::Dependencies);
    operations.filter(both).map(conflict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn customization(name: &str, kind: &str, operation: Operation, text: &str) -> Value {
        json!({"metadata": {"name": name}, "spec": {"target": {"apiVersion": "example.io/v1", "kind": kind},
            "customizations": {operation.field(): {"luaScript": text}}}})
    }

    #[test]
    fn what_cannot_be_compiled_is_named_with_its_line() {
        let wrong = customization("a", "Set", Operation::Health, "function InterpretHealth(o)\n  return o.\nend");
        let errors = uncompiled(&wrong);
        assert_eq!(errors.len(), 1);
        let told = errors[0].to_string();
        assert!(
            told.starts_with("spec.customizations.healthInterpretation.luaScript: Forbidden: InterpreterOperation")
        );
        assert!(told.contains("line 3:"), "{told}");
        assert!(compile(&wrong, &Scripts::default()).is_err());
    }

    #[test]
    fn two_may_speak_of_one_kind_but_not_of_one_thing() {
        let of = |name: &str, kind: &str, operation| customization(name, kind, operation, "function F() end");
        let conflicting = |a: &Value, b: &Value| conflicts(a, b).len();
        let health = of("a", "Set", Operation::Health);
        assert_eq!(conflicting(&health, &of("b", "Set", Operation::Health)), 1);
        assert_eq!(conflicting(&health, &of("b", "Set", Operation::Revise)), 0);
        assert_eq!(conflicting(&health, &of("b", "Other", Operation::Health)), 0);
        let needs = of("a", "Set", Operation::Dependencies);
        assert_eq!(conflicting(&needs, &of("b", "Set", Operation::Dependencies)), 0);
    }
}
