//! Schemas of shared kinds: what a definition says, under a name of their own, and for ever.

use super::words::DEFINITIONS;
use crate::tenancy::path;
use apiserver::attend::{Around, Attending};
use apiserver::error::ApiError;
use apiserver::object::Object;
use openapi::FieldError;
use serde_json::{Value, json};

/// Refuses a schema that no definition could have, and one that is not what it was.
pub(super) fn attend(object: &Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let errors = match write.old {
        Some(old) if old.pointer(&["spec"]) != object.pointer(&["spec"]) => {
            vec![FieldError::invalid("spec", Value::Null, "spec is immutable")]
        }
        Some(_) => Vec::new(),
        None => [wrong_name(object), defined(object, write.around).err().unwrap_or_default()].concat(),
    };
    if errors.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(&write.at.resource.group, &write.at.resource.kind, object.name(), &errors))
}

/// The definition that a schema amounts to, or what is wrong with it, in terms of the schema.
pub(super) fn defined(schema: &Object, around: &dyn Around) -> Result<Object, Vec<FieldError>> {
    let (group, _, plural) = DEFINITIONS;
    around.judged((group, plural), definition(schema)).map_err(|errors| {
        let own = |error: &FieldError| !error.field.starts_with("metadata");
        let renamed = errors.into_iter().filter(own).map(|mut error| {
            let told = error.field.replacen(".schema.openAPIV3Schema", ".schema", 1);
            // What all versions have in common is said of none of them, be there only one.
            error.field = told.replacen("spec.validation.openAPIV3Schema", "spec.versions[0].schema", 1);
            error
        });
        renamed.collect()
    })
}

/// The same in the form of a definition.
fn definition(schema: &Object) -> Value {
    let mut spec = schema.pointer(&["spec"]).cloned().unwrap_or_default();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("nameValidation");
    }
    if let Some(versions) = spec.get_mut("versions").and_then(Value::as_array_mut) {
        for version in versions {
            let schema = version["schema"].take();
            version["schema"] = json!({ "openAPIV3Schema": schema });
        }
    }
    let name = format!("{}.{}", schema.text(&["spec", "names", "plural"]), schema.text(&["spec", "group"]));
    let meta = json!({ "name": name, "annotations": { "api-approved.kubernetes.io": "unapproved, shared" } });
    // What a definition comes to know of itself when it is written.
    let stored: Vec<Value> = schema
        .items(&["spec", "versions"])
        .filter(|version| version["storage"] == true)
        .map(|version| version["name"].clone())
        .collect();
    let status = json!({ "acceptedNames": spec["names"], "storedVersions": stored, "conditions": [] });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": meta, "spec": spec,
        "status": status,
    })
}

/// The same with the names that nobody has to say.
pub(super) fn named(schema: &Object) -> Object {
    let mut definition = Object::try_from(definition(schema)).unwrap_or_default();
    let kind = definition.text(&["spec", "names", "kind"]).to_owned();
    if let Some(Value::Object(names)) = definition.spec_mut().get_mut("names") {
        names.entry("singular").or_insert_with(|| kind.to_lowercase().into());
        names.entry("listKind").or_insert_with(|| format!("{kind}List").into());
    }
    definition
}

/// `today.cowboys.wildwest.dev`
fn wrong_name(schema: &Object) -> Vec<FieldError> {
    let group = match schema.text(&["spec", "group"]) {
        "" => "core",
        group => group,
    };
    let suffix = format!(".{}.{group}", schema.text(&["spec", "names", "plural"]));
    let prefix = schema.name().strip_suffix(&suffix);
    if prefix.is_some_and(path::is_name) {
        return Vec::new();
    }
    let why = format!("must be a DNS label followed by {suffix:?}");
    vec![FieldError::invalid("metadata.name", schema.name(), why)]
}
