//! Changing an object by saying what should be different.

use super::mutate::{Change, Next};
use super::update::{check_uid, check_version};
use super::write::{How, Told};
use super::{Resources, Written};
use crate::auth::Authorized;
use crate::body::Body;
use crate::catalog::{ResourceDef, Schema};
use crate::error::ApiError;
use crate::object::Object;
use crate::options::WriteOptions;
use crate::patch::{self, PatchError};
use crate::place::ObjectRef;
use crate::strategy::Part;
use bytes::Bytes;
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
enum Difference {
    Json(Bytes),
    Tree { kind: PatchKind, tree: Value },
}

impl Difference {
    fn apply(&self, mut tree: Value, schema: &Schema, about: &ResourceDef, name: &str) -> Result<Value, ApiError> {
        let refused = |error: PatchError| refusal(about, name, &error);
        match (self, schema) {
            (Self::Json(bytes), _) => return patch::json(&tree, bytes).map_err(refused),
            (Self::Tree { kind: PatchKind::Strategic, tree: change }, Schema::Builtin(ty)) => {
                patch::strategic(&mut tree, change, ty).map_err(refused)?;
            }
            // Nobody says how the lists of a custom resource are merged.
            (Self::Tree { kind: PatchKind::Strategic, .. }, Schema::Custom(_)) => {
                return Err(ApiError::unsupported_media_type(&CUSTOM));
            }
            (Self::Tree { tree: change, .. }, _) => patch::merge(&mut tree, change),
        }
        Ok(tree)
    }
}

/// Applies a patch to a tree that is not stored itself.
pub(super) fn apply_to_tree(
    at: &ObjectRef,
    body: &PatchBody,
    tree: Value,
    ty: &'static Type,
) -> Result<Value, ApiError> {
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
        let tree = change.apply(tree, &resource.schema, resource, old.name())?;
        let decoded = Body::Tree(tree).decode(resource, options.validation)?;
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
        return Ok(Difference::Json(body.bytes.clone()));
    }
    let tree: Value = serde_json::from_slice(&body.bytes)
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    if !tree.is_object() {
        return Err(ApiError::bad_request("error decoding patch: a patch has to be a JSON object"));
    }
    Ok(Difference::Tree { kind: body.kind, tree })
}

/// A patch may say which object, and which version of it, it is meant for.
pub(super) fn check_patched(at: &ObjectRef, old: &Object, patched: &Object) -> Result<(), ApiError> {
    if patched.name() != at.name {
        let (found, url) = (patched.name(), &at.name);
        let message = format!("the name of the object ({found}) does not match the name on the URL ({url})");
        return Err(ApiError::bad_request(message));
    }
    if patched.resource_version().is_empty() {
        return check_uid(at, old, patched.uid());
    }
    check_version(at, old, patched)
}

fn refusal(resource: &ResourceDef, name: &str, error: &PatchError) -> ApiError {
    match error {
        PatchError::TooManyOperations { .. } => ApiError::too_large(error.to_string()),
        PatchError::Malformed(_) => ApiError::bad_request(error.to_string()),
        PatchError::Unprocessable(_) => ApiError::unprocessable(resource, name, &error.to_string()),
    }
}
