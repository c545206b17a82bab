//! Making an object.

use super::gate::Question;
use super::sight::Sight;
use super::write::{self, By, How, Told};
use super::{Resources, Written};
use crate::admission::{self, Attempt};
use crate::allocate::Beside;
use crate::ambient::Ambient;
use crate::auth::Authorized;
use crate::body::{Body, Decoded};
use crate::error::ApiError;
use crate::hooks::Operation;
use crate::object::{Object, timestamp};
use crate::options::WriteOptions;
use crate::place::Collection;
use crate::strategy::{self, Part};
use bytes::Bytes;
use openapi::FieldError;

/// An object to be made.
#[derive(Clone, Debug)]
pub struct Create {
    pub body: Body,
    pub options: WriteOptions,
}

/// Names that are tried before a generated one is given up.
const NAMES_MAX: usize = 8;

/// How often a write is tried anew because the definition of its object has changed meanwhile. Somebody who writes a
/// definition again and again is as fast as whoever writes objects: a few tries in a row can be in vain by chance.
pub(super) const DEFINITIONS_MAX: usize = 32;

/// What is kept of a prefix, so that prefix and suffix fit into a DNS label.
const PREFIX_MAX: usize = 58;

impl Resources {
    pub async fn create(&self, at: &Authorized<Collection>, request: &Create) -> Result<Written, ApiError> {
        let mut at = at.clone();
        for _ in 0..DEFINITIONS_MAX {
            let tried = self.create_once(&at, request).await;
            let refused = tried.as_ref().err().is_some_and(|error| error.reason() == "Conflict");
            match self.redefined(at.get())? {
                // Its definition has changed meanwhile, and so has what the object should look like.
                Some(resource) if refused => at = at.narrow(|place| Collection { resource, ..place }),
                _ => return tried,
            }
        }
        Err(ApiError::redefined())
    }

    async fn create_once(&self, at: &Authorized<Collection>, request: &Create) -> Result<Written, ApiError> {
        let place = at.get();
        let Decoded { object, warnings } = request.body.decode(&place.resource, request.options.validation)?;
        let object = crate::convert::to_storage(object, &place.resource);
        if !object.resource_version().is_empty() {
            return Err(ApiError::revision_on_create());
        }
        check_namespace(place, &object)?;
        self.await_account(place, &object).await?;
        let (told, generated) = (Told::about("CreateOptions", &request.options), object.name().is_empty());
        let how = How::of(&request.options, &told);
        for tries in 1.. {
            told.restart(&warnings);
            match told.along(self.insert(at, &object, how).await) {
                Err(error) if error.reason() == "AlreadyExists" && generated => {
                    if tries == NAMES_MAX {
                        return Err(error.after_generated_name());
                    }
                }
                Err(error) => return Err(error),
                Ok(bytes) => return self.written_new(place, bytes, told).await,
            }
        }
        Err(ApiError::internal("there is no end to trying names"))
    }

    pub(super) async fn written_new(&self, at: &Collection, bytes: Bytes, told: Told) -> Result<Written, ApiError> {
        Ok(Written { bytes: self.shown_new(at, bytes).await?, created: true, warnings: told.into_warnings() })
    }

    /// The object as it would be stored: named, stamped, defaulted, admitted, and found to be valid; and what is
    /// written together with it.
    pub(super) async fn prepared(
        &self,
        by: &Authorized<Collection>,
        mut object: Object,
        how: How<'_>,
        sight: &Sight<'_>,
    ) -> Result<(Object, Vec<Beside>), ApiError> {
        let (at, ambient) = (by.get(), &self.inner.ambient);
        check_defined(at, &object)?;
        // What follows from a name that the server makes up is nobody's.
        write::complete(&at.resource, &mut object);
        stamp(&mut object, at, ambient);
        strategy::settle(&at.resource, &mut object);
        self.track(&at.resource, Part::Main, None, &mut object, how.author);
        let attempt =
            Attempt { resource: &at.resource, part: Part::Main, old: None, user: by.user(), ambient, look: sight };
        admission::change(&mut object, &attempt)?;
        let name = object.name().to_owned();
        let question = Question {
            at,
            part: Part::Main,
            operation: Operation::Create,
            name: &name,
            old: None,
            user: by.user(),
            how,
            attempt: Some(&attempt),
        };
        how.require(&mut object, None)?;
        object = self.consulted(question, object).await?;
        let unmoved = self.may_grant(by.user(), at, "", (&object, None))?;
        strategy::prepare_create(&at.resource, &mut object, &self.surroundings(), by.user());
        let who = By { at, user: by.user(), through_window: how.view.is_some() };
        let mut beside = self.beside(&mut object, &attempt, who)?;
        write::settle(&at.resource, &mut object);
        validate_new(at, &mut object)?;
        how.told.add(write::warnings(&at.resource, &mut object, None));
        admission::check(&object, &attempt)?;
        self.permitted(question, Some(&object)).await?;
        self.foretell(&object, &attempt, who, how)?;
        beside.extend(unmoved);
        beside.extend(admission::charge(&object, &attempt)?.into_iter().map(Beside::Quota));
        Ok((object, beside))
    }
}

/// Nothing is made of a definition that is going.
fn check_defined(at: &Collection, object: &Object) -> Result<(), ApiError> {
    if at.resource.custom().is_some_and(|custom| custom.terminating) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(ApiError::forbidden(&at.resource, object.name(), why));
    }
    Ok(())
}

/// What the server says about an object, whatever its author said.
pub(super) fn stamp(object: &mut Object, at: &Collection, ambient: &Ambient) {
    for field in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"] {
        object.remove_metadata(field);
    }
    let prefix = object.text(&["metadata", "generateName"]).to_owned();
    if object.name().is_empty() && !prefix.is_empty() {
        let kept: String = prefix.chars().take(PREFIX_MAX).collect();
        object.set_metadata("name", if has_fixed_names(at) { prefix } else { kept + &ambient.suffix() });
    }
    object.set_metadata("uid", ambient.uid());
    object.set_metadata("creationTimestamp", timestamp(ambient.now()));
    if at.resource.traits.generation {
        object.set_metadata("generation", 1);
    }
    match &at.namespace {
        Some(namespace) => object.set_metadata("namespace", namespace.as_str()),
        None => drop(object.remove_metadata("namespace")),
    }
}

/// Addresses are called what they are: nothing can be made up.
fn has_fixed_names(at: &Collection) -> bool {
    (&*at.resource.group, &*at.resource.plural) == ("networking.k8s.io", "ipaddresses")
}

fn validate_new(at: &Collection, object: &mut Object) -> Result<(), ApiError> {
    let mut errors = write::errors_of_new(&at.resource, object);
    if errors.is_empty() && object.name().is_empty() {
        errors.push(FieldError::required("metadata.name", "name or generateName is required"));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let name = if object.name().is_empty() { object.text(&["metadata", "generateName"]) } else { object.name() };
    Err(ApiError::invalid(write::group_of_errors(&at.resource), &at.resource.kind, name, &errors))
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
