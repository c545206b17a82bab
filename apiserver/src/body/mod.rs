//! From the bytes of a request to an object: JSON, YAML or protobuf in, a tree out, and every field that was said
//! twice.

mod json;

use crate::catalog::{ResourceDef, Schema};
use crate::error::ApiError;
use crate::media::Encoding;
use crate::object::Object;
use crate::options::FieldValidation;
use bytes::Bytes;
use openapi::builtin::Type;
use openapi::{Problem, protobuf};
use serde_json::{Value, json};

/// An object on its way in.
#[derive(Clone, Debug)]
pub enum Body {
    Encoded { bytes: Bytes, encoding: Encoding },
    Tree(Value),
}

/// A tree, and what would be lost or overwritten by taking it.
#[derive(Debug)]
struct Read {
    tree: Value,
    /// Complaints that are errors when a client is strict, and warnings otherwise.
    complaints: Vec<String>,
}

/// An object that can be stored, and what its author should be told.
#[derive(Debug)]
pub struct Decoded {
    pub object: Object,
    pub warnings: Vec<String>,
}

impl Body {
    /// Reads an object of a resource.
    pub fn decode(&self, resource: &ResourceDef, validation: FieldValidation) -> Result<Decoded, ApiError> {
        let Schema::Builtin(ty) = resource.schema;
        self.decode_as(&resource.api_version(), &resource.kind, ty, validation)
    }

    /// Reads an object of one kind.
    pub fn decode_as(
        &self,
        api_version: &str,
        kind: &str,
        ty: &'static Type,
        validation: FieldValidation,
    ) -> Result<Decoded, ApiError> {
        let Read { mut tree, complaints } = self.read(api_version, kind)?;
        expect_kind(&mut tree, api_version, kind)?;
        let warnings = accept(&mut tree, complaints, api_version, kind, ty, validation, self)?;
        let object = Object::try_from(tree).map_err(|error| ApiError::bad_request(error.to_string()))?;
        Ok(Decoded { object, warnings })
    }

    fn read(&self, api_version: &str, kind: &str) -> Result<Read, ApiError> {
        let (bytes, encoding) = match self {
            Self::Tree(tree) => return Ok(Read { tree: tree.clone(), complaints: Vec::new() }),
            Self::Encoded { bytes, encoding } => (bytes, encoding),
        };
        // Clients that know the kind from the path say it in the body all the same; few do not.
        let failed = |why: &dyn std::fmt::Display| {
            let version = api_version.rsplit('/').next().unwrap_or_default();
            let text = format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}");
            ApiError::bad_request(text)
        };
        match encoding {
            Encoding::Json => json::read(bytes).map_err(|why| failed(&why)),
            Encoding::Yaml => yaml(bytes).map_err(|why| failed(&why)),
            Encoding::Protobuf => {
                let tree = protobuf::decode(bytes).map_err(|why| failed(&why))?;
                Ok(Read { tree, complaints: Vec::new() })
            }
        }
    }

    /// Brings complaints into the order in which their fields stand in the text.
    fn sort(&self, complaints: &mut [String]) {
        if let (Self::Encoded { bytes, encoding: Encoding::Json }, [_, _, ..]) = (self, &*complaints) {
            let places = json::places(bytes);
            complaints.sort_by_key(|complaint| places.get(complaint).copied().unwrap_or(usize::MAX));
        }
    }

    /// Reads a tree of no particular kind: a patch, or options.
    pub fn tree(&self) -> Result<Value, ApiError> {
        self.read("", "object").map(|read| read.tree)
    }
}

fn yaml(bytes: &[u8]) -> Result<Read, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let tree = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    Ok(Read { tree, complaints: Vec::new() })
}

/// The body may leave out what it is; it may not say something else.
fn expect_kind(tree: &mut Value, api_version: &str, kind: &str) -> Result<(), ApiError> {
    let Some(map) = tree.as_object_mut() else { return Ok(()) };
    for (field, expected, what) in [("apiVersion", api_version, "API version"), ("kind", kind, "kind")] {
        match map.get(field).and_then(Value::as_str).filter(|found| !found.is_empty()) {
            Some(found) if found != expected => {
                let said = format!("the {what} in the data ({found}) does not match the expected {what} ({expected})");
                return Err(ApiError::bad_request(said));
            }
            _ => map.insert(field.to_owned(), expected.into()),
        };
    }
    Ok(())
}

const OWNERS: &str = "/metadata/managedFields";

/// Refuses what no kind of the table can hold, takes out what it does not know, and brings the rest into normal form.
fn accept(
    tree: &mut Value,
    mut complaints: Vec<String>,
    api_version: &str,
    kind: &str,
    ty: &'static Type,
    validation: FieldValidation,
    body: &Body,
) -> Result<Vec<String>, ApiError> {
    let version = api_version.rsplit('/').next().unwrap_or_default();
    let handled = |why: &str| {
        ApiError::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    };
    for problem in openapi::check(tree, ty) {
        match problem {
            Problem::WrongValue { message, .. } => return Err(handled(&message)),
            unknown @ Problem::UnknownField { .. } => complaints.push(unknown.to_string()),
        }
    }
    body.sort(&mut complaints);
    if !complaints.is_empty() && validation == FieldValidation::Strict {
        return Err(handled(&format!("strict decoding error: {}", complaints.join(", "))));
    }
    // An empty list of owners says something that its normal form would not: forget them. So does an empty owner.
    let forgets = tree.pointer(OWNERS).and_then(Value::as_array).is_some_and(Vec::is_empty);
    openapi::prune(tree, ty);
    openapi::normalize(tree, ty);
    if let (true, Some(metadata)) = (forgets, tree.pointer_mut("/metadata").and_then(Value::as_object_mut)) {
        metadata.insert("managedFields".to_owned(), json!([{}]));
    }
    Ok(if validation == FieldValidation::Warn { complaints } else { Vec::new() })
}
