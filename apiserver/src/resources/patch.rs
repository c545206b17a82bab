//! Changing an object by saying what should be different.

use super::create::{DEFINITIONS_MAX, check_namespace};
use super::mutate::{Change, Next};
use super::write::{How, Told};
use super::{Resources, Written};
use crate::auth::Authorized;
use crate::body::{self, Body};
use crate::catalog::{ResourceDef, Schema};
use crate::error::ApiError;
use crate::media::Encoding;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::patch::{self, PatchError};
use crate::place::ObjectRef;
use crate::strategy::Part;
use bytes::Bytes;
use openapi::FieldError;
use openapi::builtin::Type;
use serde_json::Value;

/// The ways to say what should be different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatchKind {
    Json,
    Merge,
    Strategic,
    Apply,
}

impl PatchKind {
    const ACCEPTED: [&'static str; 4] = [
        "application/json-patch+json",
        "application/merge-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ];

    pub fn of_content_type(content_type: Option<&str>) -> Result<Self, ApiError> {
        match crate::media::bare(content_type.unwrap_or_default()) {
            "application/json-patch+json" => Ok(Self::Json),
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/strategic-merge-patch+json" => Ok(Self::Strategic),
            "application/apply-patch+yaml" | "application/apply-patch+json" => Ok(Self::Apply),
            _ => Err(ApiError::unsupported_media_type(&Self::ACCEPTED)),
        }
    }
}

const CUSTOM: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// What should be different.
#[derive(Clone, Debug)]
pub struct PatchBody {
    pub kind: PatchKind,
    pub bytes: Bytes,
}

/// A patch that was read.
struct Difference {
    change: PatchChange,
    /// What its author should hear about the patch itself.
    complaints: Vec<String>,
}

enum PatchChange {
    Json(Bytes),
    Tree { kind: PatchKind, tree: Value },
}

impl Difference {
    /// The object as the patch would have it, still to be read.
    fn apply(&self, mut tree: Value, schema: &Schema, about: &ResourceDef, name: &str) -> Result<Body, ApiError> {
        let refused = |error: PatchError| refusal(about, name, &error);
        let mut shown = None;
        match (&self.change, schema) {
            (PatchChange::Json(bytes), _) => tree = patch::json(&tree, bytes).map_err(refused)?,
            (PatchChange::Tree { kind: PatchKind::Strategic, tree: change }, Schema::Builtin(ty)) => {
                patch::strategic(&mut tree, change, ty).map_err(refused)?;
                shown = Some(change.clone());
            }
            // Nobody says how the lists of a custom resource are merged.
            (PatchChange::Tree { kind: PatchKind::Strategic, .. }, Schema::Custom(_)) => {
                return Err(ApiError::unsupported_media_type(&CUSTOM));
            }
            (PatchChange::Tree { tree: change, .. }, _) => patch::merge(&mut tree, change),
        }
        Ok(Body::Patched { tree, complaints: self.complaints.clone(), shown })
    }
}

/// Applies a patch to a tree that is not stored itself.
pub(super) fn apply_to_tree(
    at: &ObjectRef,
    body: &PatchBody,
    tree: Value,
    ty: &'static Type,
) -> Result<Body, ApiError> {
    read(body)?.apply(tree, &Schema::Builtin(ty), at.resource(), &at.name)
}

/// The object should be what it is, but for the patch.
struct Patched<'a> {
    resources: &'a Resources,
    at: &'a Authorized<ObjectRef>,
    part: Part,
    difference: Difference,
    options: &'a WriteOptions,
    how: How<'a>,
}

impl Change for Patched<'_> {
    async fn next(&self, old: &Object) -> Result<Next, ApiError> {
        let Self { resources, at, part, how, .. } = *self;
        let resource = at.get().resource();
        let patched = resources.patched(resource, &self.difference, old, self.options, how.told)?;
        check_patched(at.get(), old, &patched)?;
        check_namespace(&at.get().within, &patched)?;
        resources.replaced(at, part, old, patched, how).await
    }
}

impl Resources {
    pub async fn patch(
        &self,
        at: &Authorized<ObjectRef>,
        part: Part,
        body: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        let mut at = at.clone();
        for _ in 0..DEFINITIONS_MAX {
            let tried = self.patch_once(&at, part, body, options).await;
            match self.redefined_since(&at, &tried)? {
                Some(now) => at = now,
                None => return tried,
            }
        }
        Err(ApiError::redefined())
    }

    async fn patch_once(
        &self,
        at: &Authorized<ObjectRef>,
        part: Part,
        body: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        if body.kind == PatchKind::Apply {
            return self.apply(at, part, body, options).await;
        }
        let target = at.get();
        let told = Told::about("PatchOptions", options);
        let how = How::of(options, &told);
        let change = Patched { resources: self, at, part, difference: read(body)?, options, how };
        let outcome = told.along(self.mutate(target, options.dry_run, &change).await)?;
        self.written(&target.within, outcome, told).await
    }

    /// The object with the patch applied, as its author sees it: in the version of the request.
    fn patched(
        &self,
        resource: &ResourceDef,
        change: &Difference,
        old: &Object,
        options: &WriteOptions,
        told: &Told,
    ) -> Result<Object, ApiError> {
        let tree = Value::from(crate::convert::from_storage(old.clone(), resource));
        let uid = old.uid().to_owned();
        let body = change.apply(tree, &resource.schema, resource, old.name())?;
        let decoded = body.decode(resource, options.validation)?;
        let mut object = crate::convert::to_storage(decoded.object, resource);
        if object.uid().is_empty() {
            object.set_metadata("uid", uid);
        }
        told.restart(&decoded.warnings);
        Ok(object)
    }
}

fn read(body: &PatchBody) -> Result<Difference, ApiError> {
    if body.kind == PatchKind::Apply {
        return Err(ApiError::unsupported_media_type(&PatchKind::ACCEPTED[..3]));
    }
    if body.kind == PatchKind::Json {
        let change = PatchChange::Json(body.bytes.clone());
        return Ok(Difference { change, complaints: complaints_about_operations(&body.bytes) });
    }
    let (tree, complaints) =
        body::json(&body.bytes).map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    if !tree.is_object() {
        return Err(ApiError::bad_request("error decoding patch: a patch has to be a JSON object"));
    }
    Ok(Difference { change: PatchChange::Tree { kind: body.kind, tree }, complaints })
}

/// What stands twice in a JSON patch, or is no field of an operation. A text that is no patch is refused elsewhere.
fn complaints_about_operations(bytes: &Bytes) -> Vec<String> {
    const FIELDS: [&str; 4] = ["op", "path", "from", "value"];
    let Ok((tree, mut complaints)) = body::json(bytes) else { return Vec::new() };
    for (at, operation) in tree.as_array().into_iter().flatten().enumerate() {
        let fields = operation.as_object().into_iter().flat_map(|operation| operation.keys());
        let unknown = fields.filter(|field| !FIELDS.contains(&field.as_str()));
        complaints.extend(unknown.map(|field| format!("unknown field {:?}", format!("[{at}].{field}"))));
    }
    Body::Encoded { bytes: bytes.clone(), encoding: Encoding::Json }.sort(&mut complaints);
    complaints.into_iter().map(|complaint| format!("json patch {complaint}")).collect()
}

/// A patch may say which object, and which version of it, it is meant for.
pub(super) fn check_patched(at: &ObjectRef, old: &Object, patched: &Object) -> Result<(), ApiError> {
    if patched.name() != at.name {
        let (found, url) = (patched.name(), &at.name);
        let message = format!("the name of the object ({found}) does not match the name on the URL ({url})");
        return Err(ApiError::bad_request(message));
    }
    if !patched.resource_version().is_empty() && patched.resource_version() != old.resource_version() {
        return Err(ApiError::modified(at));
    }
    if patched.uid().is_empty() || patched.uid() == old.uid() {
        return Ok(());
    }
    let error = FieldError::invalid("metadata.uid", patched.uid(), "field is immutable");
    Err(ApiError::invalid(&at.resource().group, &at.resource().kind, &at.name, &[error]))
}

fn refusal(resource: &ResourceDef, name: &str, error: &PatchError) -> ApiError {
    match error {
        PatchError::TooManyOperations { .. } => ApiError::too_large(error.to_string()),
        PatchError::Malformed(_) => ApiError::bad_request(error.to_string()),
        PatchError::Unprocessable(_) => ApiError::unprocessable(resource, name, &error.to_string()),
    }
}
