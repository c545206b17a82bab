//! Changing an object by saying what one wants of it.

use super::create::check_namespace;
use super::mutate::{Change, Next};
use super::patch::{PatchBody, check_patched};
use super::write::{How, Told};
use super::{Resources, Written};
use crate::auth::{Access, Authorized};
use crate::body::{Body, Decoded};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::managed_fields::{ApplyError, Force};
use crate::media::Encoding;
use crate::object::Object;
use crate::options::{FieldValidation, WriteOptions};
use crate::place::ObjectRef;
use crate::strategy::Part;
use crate::target::Verb;
use serde_json::Value;

/// How often an object may come and go while somebody applies to it.
const TRIES: usize = 4;

/// What somebody wants of an object.
struct Wanted<'a> {
    part: Part,
    config: Value,
    /// What stands twice in it.
    complaints: Vec<String>,
    options: &'a WriteOptions,
}

impl Wanted<'_> {
    fn force(&self) -> Force {
        force(self.options)
    }
}

pub(super) fn force(options: &WriteOptions) -> Force {
    if options.force == Some(true) { Force::Yes } else { Force::No }
}

/// The object should be what is wanted of it, and otherwise what it is.
struct Applied<'a> {
    resources: &'a Resources,
    at: &'a Authorized<ObjectRef>,
    wanted: &'a Wanted<'a>,
    how: How<'a>,
}

impl Change for Applied<'_> {
    async fn next(&self, old: &Object) -> Result<Next, ApiError> {
        let Self { resources, at, wanted, how } = *self;
        let target = at.get();
        let live = Value::from(crate::convert::from_storage(old.clone(), target.resource()));
        let Decoded { object: new, warnings } = resources.applied(target.resource(), &live, wanted)?;
        how.told.restart(&warnings);
        check_patched(target, old, &new)?;
        check_namespace(&target.within, &new)?;
        resources.replaced(at, wanted.part, old, new, how).await
    }
}

impl Resources {
    /// Makes the object what `body` says of it, and makes it if there is none.
    pub(super) async fn apply(
        &self,
        at: &Authorized<ObjectRef>,
        part: Part,
        body: &PatchBody,
        options: &WriteOptions,
    ) -> Result<Written, ApiError> {
        let target = at.get();
        let (config, complaints) = read(body)?;
        let wanted = Wanted { part, config, complaints, options };
        check_kind(&target.resource().api_version(), &target.resource().kind, &wanted.config)?;
        for _ in 0..TRIES {
            let tried = match self.find(target)? {
                Some(_) => self.apply_to_existing(at, &wanted).await,
                None => self.create_by_apply(at, &wanted).await,
            };
            match tried {
                Err(error) if part == Part::Main && is_overtaken(&error, target) => {}
                tried => return tried,
            }
        }
        Err(ApiError::modified(target))
    }

    async fn apply_to_existing(&self, at: &Authorized<ObjectRef>, wanted: &Wanted<'_>) -> Result<Written, ApiError> {
        let target = at.get();
        let told = Told::about("PatchOptions", wanted.options);
        let how = How::of(wanted.options, &told).settled();
        let change = Applied { resources: self, at, wanted, how };
        let outcome = told.along(self.mutate(target, wanted.options.dry_run, &change).await)?;
        self.written(&target.within, outcome, told).await
    }

    async fn create_by_apply(&self, at: &Authorized<ObjectRef>, wanted: &Wanted<'_>) -> Result<Written, ApiError> {
        let (target, resource) = (at.get(), at.get().resource());
        if wanted.part != Part::Main {
            return Err(ApiError::not_found(resource, &target.name));
        }
        let access = Access::Object { verb: Verb::Create, at: target.clone(), subresource: None };
        let permit = self.authorizer().permit_now(at.user(), access).await?.narrow(|_| target.within.clone());
        let live = self.ownership(resource, Part::Main, "").nothing();
        let Decoded { mut object, warnings } = self.applied(resource, &live, wanted)?;
        check_new(target, &object)?;
        // Whoever has seen the object before it went may still want it.
        object.remove_metadata("resourceVersion");
        let told = Told::about("PatchOptions", wanted.options);
        told.restart(&warnings);
        let bytes = told.along(self.insert(&permit, &object, How::of(wanted.options, &told).settled()).await)?;
        self.written_new(&target.within, bytes, told).await
    }

    /// What is applied laid over what there is, as it is stored.
    fn applied(&self, resource: &ResourceDef, live: &Value, wanted: &Wanted<'_>) -> Result<Decoded, ApiError> {
        let (part, name) = (wanted.part, &*wanted.options.field_manager);
        let ownership = self.ownership(resource, part, name);
        let tree = ownership.writer().apply(live, &wanted.config, wanted.force()).map_err(|error| refusal(&error))?;
        let twice = wanted.complaints.iter().map(|twice| format!("error converting YAML to JSON: {twice}")).collect();
        let warnings: Vec<String> = match wanted.options.validation {
            FieldValidation::Ignore => Vec::new(),
            _ => twice,
        };
        if let (FieldValidation::Strict, Some(first)) = (wanted.options.validation, warnings.first()) {
            return Err(ApiError::bad_request(format!("error strict decoding YAML: {first}")));
        }
        let Decoded { object, .. } = Body::Applied(tree).decode(resource, FieldValidation::Ignore)?;
        Ok(Decoded { object: crate::convert::to_storage(object, resource), warnings })
    }
}

/// JSON is YAML, but for how it writes some characters.
pub(super) fn read(body: &PatchBody) -> Result<(Value, Vec<String>), ApiError> {
    let is_json = body.bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let read = |encoding| Body::Encoded { bytes: body.bytes.clone(), encoding }.tree_and_complaints();
    let as_json = if is_json { read(Encoding::Json).ok() } else { None };
    let tree = match as_json {
        Some(tree) => tree,
        None => read(Encoding::Yaml)
            .map_err(|error| ApiError::bad_request(format!("error decoding patch: {}", error.message())))?,
    };
    if tree.0.is_object() {
        return Ok(tree);
    }
    Err(ApiError::bad_request("error decoding patch: an applied object has to be an object"))
}

/// The body must say what it is.
pub(super) fn check_kind(api_version: &str, kind: &str, config: &Value) -> Result<(), ApiError> {
    let word = |field: &str| config.get(field).and_then(Value::as_str).unwrap_or_default();
    let said = (word("apiVersion"), word("kind"));
    if said == (api_version, kind) {
        return Ok(());
    }
    let slash = if said.0.contains('/') { "" } else { "/" };
    Err(ApiError::bad_request(format!("invalid object type: {slash}{}, Kind={}", said.0, said.1)))
}

/// An object that is made must be the one that the path names.
fn check_new(at: &ObjectRef, object: &Object) -> Result<(), ApiError> {
    let (name, url) = (object.name(), &at.name);
    if !object.uid().is_empty() {
        let uid = object.uid();
        let why = format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found");
        return Err(ApiError::conflict(at.resource(), &at.name, &why));
    }
    check_namespace(&at.within, object)?;
    if name.is_empty() {
        let message = format!("the name of the object ({url} based on URL) was undeterminable: name must be provided");
        return Err(ApiError::bad_request(message));
    }
    if name != url {
        let message = format!("the name of the object ({name}) does not match the name on the URL ({url})");
        return Err(ApiError::bad_request(message));
    }
    Ok(())
}

/// The object came or went while it was looked at.
fn is_overtaken(error: &ApiError, at: &ObjectRef) -> bool {
    let there = ApiError::already_exists(at.resource(), &at.name);
    *error == ApiError::not_found(at.resource(), &at.name) || *error == there || *error == there.while_deleted()
}

pub(super) fn refusal(error: &ApplyError) -> ApiError {
    match error {
        ApplyError::Conflicts(conflicts) => ApiError::apply_conflict(conflicts),
        ApplyError::Entries => ApiError::bad_request(error.to_string()),
        ApplyError::Untyped { .. } | ApplyError::Unconvertible(_) => ApiError::untyped(error.to_string()),
        ApplyError::Unreadable(_) => ApiError::internal(error.to_string()),
    }
}
