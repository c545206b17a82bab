//! From the bytes of a request to an object: JSON, YAML or protobuf in, a tree out, and every field that was said
//! twice.

mod json;

use crate::catalog::{ResourceDef, Schema};
use crate::custom::{CustomSchema, envelope};
use crate::error::ApiError;
use crate::media::Encoding;
use crate::object::Object;
use crate::options::FieldValidation;
use bytes::Bytes;
use openapi::builtin::{Element, Type};
use openapi::{FieldError, Problem, protobuf};
use serde_json::{Map, Value, json};

/// An object on its way in.
#[derive(Clone, Debug)]
pub enum Body {
    Encoded {
        bytes: Bytes,
        encoding: Encoding,
    },
    Tree(Value),
    /// What became of an object that somebody applied to. Nobody says null of a field by applying: it is no field less.
    Applied(Value),
    /// What a patch has made of an object: `complaints` are about the patch, and `shown` is what its author is shown of
    /// it if the object cannot be read; the object itself if it is nothing.
    Patched {
        tree: Value,
        complaints: Vec<String>,
        shown: Option<Value>,
    },
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
        match &resource.schema {
            Schema::Builtin(ty) => self.decode_as(&resource.api_version(), &resource.kind, ty, validation),
            Schema::Custom(custom) => self.decode_custom(resource, &custom.schema, validation),
        }
    }

    fn decode_custom(
        &self,
        resource: &ResourceDef,
        schema: &CustomSchema,
        validation: FieldValidation,
    ) -> Result<Decoded, ApiError> {
        if matches!(self, Self::Encoded { encoding: Encoding::Protobuf, .. }) {
            return Err(ApiError::unsupported_media_type(&["application/json", "application/yaml"]));
        }
        let (api_version, kind) = (&*resource.api_version(), &*resource.kind);
        let Read { mut tree, complaints } = self.read(api_version, kind)?;
        expect_version(&mut tree, api_version).map_err(|why| self.refusal(why))?;
        match self {
            Self::Patched { .. } => expect_kind(&mut tree, api_version, kind).map_err(|why| self.refusal(why))?,
            _ => expect_custom_kind(&mut tree, resource)?,
        }
        let judge = Judge { api_version, kind, validation };
        let warnings = judge.custom(&mut tree, complaints, schema, self)?;
        let object = Object::try_from(tree).map_err(|error| ApiError::bad_request(error.to_string()))?;
        Ok(Decoded { object, warnings })
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
        expect_kind(&mut tree, api_version, kind).map_err(|why| self.refusal(why))?;
        let judge = Judge { api_version, kind, validation };
        let warnings = judge.builtin(&mut tree, complaints, ty, self)?;
        let object = Object::try_from(tree).map_err(|error| ApiError::bad_request(error.to_string()))?;
        Ok(Decoded { object, warnings })
    }

    fn read(&self, api_version: &str, kind: &str) -> Result<Read, ApiError> {
        let (bytes, encoding) = match self {
            Self::Tree(tree) | Self::Applied(tree) => {
                return Ok(Read { tree: tree.clone(), complaints: Vec::new() });
            }
            Self::Patched { tree, complaints, .. } => {
                return Ok(Read { tree: tree.clone(), complaints: complaints.clone() });
            }
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

    /// The object cannot be read. What a patch has made unreadable was readable before: the patch is not valid.
    fn refusal(&self, why: String) -> ApiError {
        match self {
            Self::Patched { tree, shown, .. } => {
                ApiError::invalid_patch(&shown.as_ref().unwrap_or(tree).to_string(), why)
            }
            Self::Encoded { .. } | Self::Tree(_) | Self::Applied(_) => ApiError::bad_request(why),
        }
    }

    /// Brings complaints into the order in which their fields stand in the text.
    pub fn sort(&self, complaints: &mut [String]) {
        if let (Self::Encoded { bytes, encoding: Encoding::Json }, [_, _, ..]) = (self, &*complaints) {
            let places = json::places(bytes);
            complaints.sort_by_key(|complaint| places.get(complaint).copied().unwrap_or(usize::MAX));
        }
    }

    /// Reads a tree of no particular kind: a patch, or options.
    pub fn tree(&self) -> Result<Value, ApiError> {
        self.read("", "object").map(|read| read.tree)
    }

    /// The same, with what stands in it twice.
    pub fn tree_and_complaints(&self) -> Result<(Value, Vec<String>), ApiError> {
        self.read("", "object").map(|read| (read.tree, read.complaints))
    }
}

/// JSON of no particular kind, and what stands in it twice.
pub fn json(bytes: &[u8]) -> Result<(Value, Vec<String>), serde_json::Error> {
    json::read(bytes).map(|read| (read.tree, read.complaints))
}

/// What stands before the complaints about a text, where they are an error.
const YAML_ERRORS: &str = "yaml: unmarshal errors:\n  ";

/// A key that stands twice is a complaint; the last one counts.
fn yaml(bytes: &[u8]) -> Result<Read, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let refused = match serde_saphyr::from_str(text) {
        Ok(tree) => return Ok(Read { tree, complaints: Vec::new() }),
        Err(error) => error,
    };
    // The error wraps the text around it, for people.
    let serde_saphyr::Error::DuplicateMappingKey { key, location } = refused.without_snippet() else {
        return Err(refused.to_string());
    };
    let (line, key) = (location.line(), key.clone().unwrap_or_default());
    let options = serde_saphyr::options! { duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins };
    let tree = serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())?;
    let complaint = format!("{YAML_ERRORS}line {line}: key {key:?} already set in map");
    Ok(Read { tree, complaints: vec![complaint] })
}

/// The body may leave out what it is; it may not say something else.
fn expect_kind(tree: &mut Value, api_version: &str, kind: &str) -> Result<(), String> {
    expect_version(tree, api_version)?;
    expect(tree, "kind", kind).map_err(|found| unexpected("kind", &found, kind))
}

fn expect_version(tree: &mut Value, api_version: &str) -> Result<(), String> {
    expect(tree, "apiVersion", api_version).map_err(|found| unexpected("API version", &found, api_version))
}

/// Another kind of the right version is a mistake in the object.
fn expect_custom_kind(tree: &mut Value, resource: &ResourceDef) -> Result<(), ApiError> {
    let Err(found) = expect(tree, "kind", &resource.kind) else { return Ok(()) };
    let name = tree.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let error = FieldError::invalid("kind", &*found, format!("must be {}", resource.kind));
    Err(ApiError::invalid(&resource.group, &found, name, &[error]))
}

fn unexpected(what: &str, found: &str, expected: &str) -> String {
    format!("the {what} in the data ({found}) does not match the expected {what} ({expected})")
}

/// Fills in a text that is missing; the error is another one that stands in its place.
fn expect(tree: &mut Value, field: &str, expected: &str) -> Result<(), String> {
    let Some(map) = tree.as_object_mut() else { return Ok(()) };
    match map.get(field).and_then(Value::as_str).filter(|found| !found.is_empty()) {
        Some(found) if found != expected => Err(found.to_owned()),
        _ => {
            map.insert(field.to_owned(), expected.into());
            Ok(())
        }
    }
}

const OWNERS: &str = "/metadata/managedFields";

/// What is held against an object that comes in.
struct Judge<'a> {
    api_version: &'a str,
    kind: &'a str,
    validation: FieldValidation,
}

impl Judge<'_> {
    /// Refuses what no kind of the table can hold, takes out what it does not know, and brings the rest into normal form.
    fn builtin(
        &self,
        tree: &mut Value,
        mut complaints: Vec<String>,
        ty: &'static Type,
        body: &Body,
    ) -> Result<Vec<String>, ApiError> {
        self.check(tree, ty, &mut complaints, body)?;
        body.sort(&mut complaints);
        self.refuse_or_keep(&mut complaints, body)?;
        let forgets = forgets_owners(tree);
        openapi::prune(tree, ty);
        openapi::normalize(tree, ty);
        if forgets {
            forget_owners(tree);
        }
        Ok(complaints)
    }

    /// The same for an object that a definition describes. Only its metadata has a normal form.
    fn custom(
        &self,
        tree: &mut Value,
        mut complaints: Vec<String>,
        schema: &CustomSchema,
        body: &Body,
    ) -> Result<Vec<String>, ApiError> {
        let ty = envelope().ok_or_else(|| ApiError::internal("there is no PartialObjectMetadata"))?;
        let mut outside = envelope_of(tree);
        for problem in metadata_problems(&outside, ty) {
            match problem {
                Problem::WrongValue { message, .. } => return Err(self.refusal(&message, body)),
                Problem::UnknownField { path } => {
                    complaints.push(Problem::UnknownField { path: format!("metadata.{path}") }.to_string());
                }
            }
        }
        if matches!(body, Body::Applied(_)) {
            schema.prune_unknown(tree);
        } else {
            let unknown = schema.prune(tree).into_iter().filter(|path| !path.starts_with("metadata."));
            complaints.extend(unknown.map(|path| Problem::UnknownField { path }.to_string()));
        }
        self.refuse_or_keep(&mut complaints, body)?;
        let forgets = forgets_owners(tree);
        openapi::prune(&mut outside, ty);
        openapi::normalize(&mut outside, ty);
        if let (Some(map), Some(metadata)) = (tree.as_object_mut(), outside.get_mut("metadata")) {
            map.insert("metadata".to_owned(), metadata.take());
        }
        if forgets {
            forget_owners(tree);
        }
        Ok(complaints)
    }

    fn check(
        &self,
        tree: &Value,
        ty: &'static Type,
        complaints: &mut Vec<String>,
        body: &Body,
    ) -> Result<(), ApiError> {
        for problem in openapi::check(tree, ty) {
            match problem {
                Problem::WrongValue { message, .. } => return Err(self.refusal(&message, body)),
                unknown @ Problem::UnknownField { .. } => complaints.push(unknown.to_string()),
            }
        }
        Ok(())
    }

    /// What the author has to hear, as warnings if not as an error.
    fn refuse_or_keep(&self, complaints: &mut Vec<String>, body: &Body) -> Result<(), ApiError> {
        match self.validation {
            FieldValidation::Strict if !complaints.is_empty() => {
                Err(self.refusal(&format!("strict decoding error: {}", complaints.join(", ")), body))
            }
            FieldValidation::Warn => {
                for complaint in complaints {
                    *complaint = complaint.strip_prefix(YAML_ERRORS).unwrap_or(complaint).to_owned();
                }
                Ok(())
            }
            FieldValidation::Strict | FieldValidation::Ignore => {
                complaints.clear();
                Ok(())
            }
        }
    }

    fn refusal(&self, why: &str, body: &Body) -> ApiError {
        if matches!(body, Body::Patched { .. }) {
            return body.refusal(why.to_owned());
        }
        let (kind, version) = (self.kind, self.api_version.rsplit('/').next().unwrap_or_default());
        body.refusal(format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"))
    }
}

/// What is wrong with metadata, read by itself.
fn metadata_problems(outside: &Value, envelope: &'static Type) -> Vec<Problem> {
    let of_metadata = envelope.field("metadata").map(|field| field.element);
    match (of_metadata, outside.get("metadata")) {
        (Some(Element::Struct(ty)), Some(metadata)) => openapi::check(metadata, ty.get()),
        _ => Vec::new(),
    }
}

/// What every object has, without the rest.
fn envelope_of(tree: &Value) -> Value {
    let parts = ["apiVersion", "kind", "metadata"].into_iter();
    parts.filter_map(|part| Some((part.to_owned(), tree.get(part)?.clone()))).collect::<Map<_, _>>().into()
}

/// An empty list of owners says something that its normal form would not: forget them. So does an empty owner.
fn forgets_owners(tree: &Value) -> bool {
    tree.pointer(OWNERS).and_then(Value::as_array).is_some_and(Vec::is_empty)
}

fn forget_owners(tree: &mut Value) {
    if let Some(metadata) = tree.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.insert("managedFields".to_owned(), json!([{}]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_yaml_is_too_strange(text in "\\PC{0,60}|([{}\\[\\]:,\"a-c0-9 \n&*!|>'#%@~-]|a: |- |<<: |\n  ){0,60}") {
            if let Ok(read) = yaml(text.as_bytes()) {
                // Whatever it was, it can be said in JSON.
                let again: Value = serde_json::from_str(&read.tree.to_string()).unwrap();
                prop_assert_eq!(again, read.tree);
            }
        }
    }
}
