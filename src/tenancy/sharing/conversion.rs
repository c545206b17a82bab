//! Conversions of shared kinds: checked against the schema of the same name when they are written, and part of the copy
//! that is made of it for those who bind it.

use super::export::revision;
use super::schema;
use super::words::{CONVERSIONS, SCHEMAS};
use crate::tenancy::words::collection;
use apiserver::allocate::Beside;
use apiserver::attend::{Around, Attending};
use apiserver::custom::{self, check_conversions};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::Workspace;
use openapi::FieldError;
use serde_json::Value;
use sha2::{Digest, Sha256};
use storage::Revision;

/// Bytes of a hash that tell conversions of one schema apart.
const HASH_BYTES: usize = 8;

/// Refuses rules that could not be followed. What they are checked against is part of the condition.
pub(super) fn attend(object: &Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
    let resource = &write.at.resource;
    let refused = |errors: &[FieldError]| ApiError::invalid(&resource.group, &resource.kind, object.name(), errors);
    let at = collection(write.around, SCHEMAS, &write.at.workspace)?.object(object.name());
    let Some(described) = write.around.object(&at)? else {
        let why = "there is no APIResourceSchema of this name beside it";
        return Err(refused(&[FieldError::invalid("metadata.name", object.name(), why)]));
    };
    let errors = match described.text(&["spec", "conversion", "strategy"]) {
        "Webhook" => vec![FieldError::forbidden("spec.conversions", "the APIResourceSchema is converted by a webhook")],
        _ => check_conversions(said(object), &schema::named(&described)),
    };
    if !errors.is_empty() {
        return Err(refused(&errors));
    }
    Ok(vec![Beside::Unchanged(Box::new(at), revision(&described))])
}

/// What an object of this kind says.
fn said(object: &Object) -> &Value {
    object.pointer(&["spec", "conversions"]).unwrap_or(&Value::Null)
}

/// How a schema is converted, as it was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Converted {
    /// When that was said; zero, if it was not.
    pub(super) revision: Revision,
    /// The rules, and a hash of them.
    pub(super) rules: Option<(String, String)>,
}

impl Converted {
    /// What an object says that has the name of a schema.
    pub(super) fn by(object: Option<&Object>) -> Self {
        let Some(object) = object else { return Self::default() };
        let said = said(object).to_string();
        let hash: String = Sha256::digest(&said)[..HASH_BYTES].iter().map(|byte| format!("{byte:02x}")).collect();
        Self { revision: revision(object), rules: Some((hash, said)) }
    }

    /// What a copy of a schema says that was kept under a name.
    pub(super) fn kept(name: &str, definition: &Object) -> Option<Self> {
        let (hash, said) = (name.rsplit('-').next()?, definition.annotation(custom::CONVERSIONS)?);
        Some(Self { revision: Revision::ZERO, rules: Some((hash.to_owned(), said.to_owned())) })
    }

    pub(super) fn of(schema: &Object, home: &Workspace, around: &dyn Around) -> Result<Self, ApiError> {
        if !needs_any(schema) {
            return Ok(Self::default());
        }
        let at = collection(around, CONVERSIONS, home)?.object(schema.name());
        Ok(Self::by(around.object(&at)?.as_ref()))
    }

    pub(super) fn hash(&self) -> &str {
        self.rules.as_ref().map_or("", |(hash, _)| hash)
    }

    /// Makes the rules part of the definition that a schema amounts to.
    pub(super) fn join(&self, definition: &mut Object) {
        if let Some((_, said)) = &self.rules {
            definition.set_annotation(custom::CONVERSIONS, said);
        }
    }
}

/// What is only in one version is never converted.
pub(super) fn needs_any(schema: &Object) -> bool {
    schema.items(&["spec", "versions"]).count() > 1
}

/// Under which name a schema is kept together with what is said of its conversion. What has this name never changes.
pub(super) fn kept_as(uid: &str, hash: &str) -> String {
    if hash.is_empty() { uid.to_owned() } else { format!("{uid}-{hash}") }
}

/// `cowboys.wild.west=hash,...`: what is bound, and how it is converted.
pub(super) fn recorded<'a>(text: &'a str, kind: &str) -> &'a str {
    let mut all = text.split(',').filter_map(|one| one.split_once('='));
    all.find(|(name, _)| *name == kind).map_or("", |(_, hash)| hash)
}
