//! Making an object.

use super::owners::Author;
use super::sight::Sight;
use super::{Resources, Written};
use crate::admission::{self, Attempt};
use crate::allocate::{self, Beside, Givers};
use crate::ambient::Ambient;
use crate::auth::Authorized;
use crate::body::{Body, Decoded};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::{Object, timestamp};
use crate::options::WriteOptions;
use crate::place::Collection;
use crate::strategy::{self, Part};
use openapi::FieldError;
use openapi::builtin::Type;

/// An object to be made.
#[derive(Clone, Debug)]
pub struct Create {
    pub body: Body,
    pub options: WriteOptions,
}

/// Names that are tried before a generated one is given up.
const NAMES_MAX: usize = 8;

/// What is kept of a prefix, so that prefix and suffix fit into a DNS label.
const PREFIX_MAX: usize = 58;

impl Resources {
    pub async fn create(&self, at: &Authorized<Collection>, request: &Create) -> Result<Written, ApiError> {
        let place = at.get();
        let Decoded { object, warnings } = request.body.decode(&place.resource, request.options.validation)?;
        let object = crate::convert::to_storage(object, &place.resource);
        if !object.resource_version().is_empty() {
            return Err(ApiError::revision_on_create());
        }
        check_namespace(place, &object)?;
        self.await_account(place, &object).await?;
        let generated = object.name().is_empty();
        let mut tries = 1;
        loop {
            let author = Author::Named(&request.options.field_manager);
            match self.insert(at, &object, author, request.options.dry_run).await {
                Err(error) if error.reason() == "AlreadyExists" && generated => {
                    if tries == NAMES_MAX {
                        return Err(error.after_generated_name());
                    }
                    tries += 1;
                }
                Err(error) => return Err(error),
                Ok(bytes) => {
                    return Ok(Written { bytes: Self::shown(&place.resource, bytes)?, created: true, warnings });
                }
            }
        }
    }

    /// The object as it would be stored: named, stamped, defaulted, admitted, and found to be valid; and what is
    /// written together with it.
    pub(super) fn prepared(
        &self,
        by: &Authorized<Collection>,
        mut object: Object,
        author: Author<'_>,
        sight: &Sight<'_>,
    ) -> Result<(Object, Vec<Beside>), ApiError> {
        let (at, ambient) = (by.get(), &self.inner.ambient);
        stamp(&mut object, at, ambient);
        let ty = at.resource.stored_type();
        object.as_tree(|tree| openapi::defaults::apply(tree, ty));
        strategy::settle(&at.resource, &mut object);
        self.track(&at.resource, Part::Main, None, &mut object, author);
        let attempt = Attempt { resource: &at.resource, part: Part::Main, old: None, ambient, look: sight };
        admission::change(&mut object, &attempt)?;
        strategy::prepare_create(&at.resource, &mut object, &self.surroundings(), by.user());
        let mut beside = allocated(&mut object, &attempt)?;
        settle(&mut object, ty);
        validate_new(at, &mut object)?;
        admission::check(&object, &attempt)?;
        beside.extend(admission::charge(&object, &attempt)?.into_iter().map(Beside::Quota));
        Ok((object, beside))
    }
}

/// What the server says about an object, whatever its author said.
fn stamp(object: &mut Object, at: &Collection, ambient: &Ambient) {
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object.remove_metadata(field);
    }
    let prefix = object.text(&["metadata", "generateName"]).to_owned();
    if object.name().is_empty() && !prefix.is_empty() {
        let kept: String = prefix.chars().take(PREFIX_MAX).collect();
        object.set_metadata("name", kept + &ambient.suffix());
    }
    object.set_metadata("uid", ambient.uid());
    object.set_metadata("creationTimestamp", timestamp(ambient.now()));
    if at.resource.traits.generation {
        object.set_metadata("generation", 1);
    } else {
        object.remove_metadata("generation");
    }
    match &at.namespace {
        Some(namespace) => object.set_metadata("namespace", namespace.as_str()),
        None => drop(object.remove_metadata("namespace")),
    }
}

/// Gives the object the form in which it is read back: with defaults that follow from what it was completed with.
pub(super) fn settle(object: &mut Object, ty: &'static Type) {
    object.as_tree(|tree| {
        openapi::defaults::apply(tree, ty);
        openapi::normalize(tree, ty);
    });
}

/// What is given to the object, and what it takes by that from others.
pub(super) fn allocated(object: &mut Object, attempt: &Attempt<'_>) -> Result<Vec<Beside>, ApiError> {
    if !is_service(attempt.resource) || attempt.part != Part::Main {
        return Ok(Vec::new());
    }
    allocate::allocate(object, attempt.old, &Givers { ambient: attempt.ambient, look: attempt.look })
}

pub(super) fn is_service(resource: &ResourceDef) -> bool {
    resource.group.is_empty() && resource.plural == "services"
}

fn validate_new(at: &Collection, object: &mut Object) -> Result<(), ApiError> {
    let ty = at.resource.stored_type();
    let mut errors = object.as_tree(|tree| openapi::validation::create(tree, ty));
    if object.name().is_empty() {
        errors.retain(|error| error.field != "metadata.name");
        errors.insert(0, FieldError::required("metadata.name", "name or generateName is required"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let name = if object.name().is_empty() { object.text(&["metadata", "generateName"]) } else { object.name() };
    Err(ApiError::invalid(&at.resource.group, &at.resource.kind, name, &errors))
}

/// Where the object says it is must be where it was sent.
pub(super) fn check_namespace(at: &Collection, object: &Object) -> Result<(), ApiError> {
    let said = object.namespace();
    match &at.namespace {
        Some(namespace) if !said.is_empty() && said != namespace => Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        )),
        _ => Ok(()),
    }
}
