//! Replacing an object, or one part of it.

use super::create::{allocated, check_namespace, settle};
use super::mutate::{Next, Outcome};
use super::owners::Author;
use super::{Create, Resources, Written};
use crate::admission::{self, Attempt};
use crate::allocate::Beside;
use crate::auth::Authorized;
use crate::body::Decoded;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::managed_fields;
use crate::object::Object;
use crate::place::ObjectRef;
use crate::strategy::{self, Part};
use openapi::FieldError;
use openapi::builtin::Type;
use serde_json::Value;

impl Resources {
    /// Replaces `part` of the object by what the request says.
    pub async fn update(&self, at: &Authorized<ObjectRef>, part: Part, request: &Create) -> Result<Written, ApiError> {
        let (target, resource) = (at.get(), at.get().resource().clone());
        let Decoded { object: new, warnings } = request.body.decode(&resource, request.options.validation)?;
        let new = crate::convert::to_storage(new, &resource);
        check_identity(target, &new)?;
        if part == Part::Main && resource.traits.create_on_update && self.find(target)?.is_none() {
            return self.create_by_update(at, request, new, warnings).await;
        }
        let change = |old: &Object| {
            check_version(target, old, &new)?;
            self.replaced(target, part, old, new.clone(), Author::Named(&request.options.field_manager))
        };
        let outcome = self.mutate(target, request.options.dry_run, change).await?;
        Self::written(&resource, outcome, warnings)
    }

    async fn create_by_update(
        &self,
        at: &Authorized<ObjectRef>,
        request: &Create,
        mut new: Object,
        warnings: Vec<String>,
    ) -> Result<Written, ApiError> {
        let target = at.get();
        // Whoever names a revision has seen an object that is gone.
        if !new.resource_version().is_empty() {
            return Err(ApiError::not_found(target.resource(), &target.name));
        }
        new.set_metadata("name", target.name.as_str());
        let place = at.clone().narrow(|target| target.within);
        let author = Author::Named(&request.options.field_manager);
        let bytes = self.insert(&place, &new, author, request.options.dry_run).await?;
        Ok(Written { bytes: Self::shown(target.resource(), bytes)?, created: true, warnings })
    }

    /// What an object becomes when its author wants it to be `new`.
    pub(super) fn replaced(
        &self,
        at: &ObjectRef,
        part: Part,
        old: &Object,
        mut new: Object,
        author: Author<'_>,
    ) -> Result<Next, ApiError> {
        let (resource, ty) = (at.resource(), at.resource().stored_type());
        // Whoever does not say which version is replaced means the one that is there.
        new.take_metadata_from(old, "resourceVersion");
        new.as_tree(|tree| openapi::defaults::apply(tree, ty));
        strategy::settle(resource, &mut new);
        self.track(resource, part, Some(old), &mut new, author);
        let (sight, ambient) = (self.sight(at.workspace()), &self.inner.ambient);
        let attempt = Attempt { resource, part, old: Some(old), ambient, look: &sight };
        admission::change(&mut new, &attempt)?;
        strategy::prepare_update(resource, part, &mut new, old, &self.surroundings());
        let mut beside = allocated(&mut new, &attempt)?;
        settle(&mut new, ty);
        let mut errors = strategy::check_change(resource, part, &new, old);
        errors.extend(validated(&mut new, part, old, ty));
        if !errors.is_empty() {
            return Err(ApiError::invalid(&resource.group, &resource.kind, new.name(), &errors));
        }
        admission::check(&new, &attempt)?;
        beside.extend(admission::charge(&new, &attempt)?.into_iter().map(Beside::Quota));
        Ok(match decide(old, new) {
            Next::Write(object) => Next::With(object, beside),
            other => other,
        })
    }

    pub(super) fn written(
        resource: &ResourceDef,
        outcome: Outcome,
        warnings: Vec<String>,
    ) -> Result<Written, ApiError> {
        Ok(Written { bytes: Self::shown(resource, outcome.into_bytes())?, created: false, warnings })
    }
}

/// What is wrong with an object in the place of another.
fn validated(new: &mut Object, part: Part, old: &Object, ty: &'static Type) -> Vec<FieldError> {
    // A part that has rules of its own has been held against the old object.
    let old = Value::from(if strategy::has_own_rules(part) { new.clone() } else { old.clone() });
    new.as_tree(|tree| match part {
        Part::Status => openapi::validation::update_status(tree, &old, ty),
        _ => openapi::validation::update(tree, &old, ty),
    })
}

/// A write that changes nothing is none, and one that takes away the last thing that held a deleted object lets it go.
fn decide(old: &Object, new: Object) -> Next {
    if new == *old || managed_fields::differ_in_times_only(old.map(), new.map()) {
        Next::Same
    } else if strategy::is_let_go(&new) {
        Next::Remove(new)
    } else {
        Next::Write(new)
    }
}

/// The body must be about the object that the path names.
fn check_identity(at: &ObjectRef, new: &Object) -> Result<(), ApiError> {
    check_namespace(&at.within, new)?;
    match new.name() {
        "" => Err(ApiError::bad_request("the name of the object must be specified")),
        name if name != at.name => {
            let url = &at.name;
            let message = format!("the name of the object ({name}) does not match the name on the URL ({url})");
            Err(ApiError::bad_request(message))
        }
        _ => Ok(()),
    }
}

/// The author must have seen the object as it is now, or not claim to.
pub(super) fn check_version(at: &ObjectRef, old: &Object, new: &Object) -> Result<(), ApiError> {
    let (seen, resource) = (new.resource_version(), at.resource());
    if seen.is_empty() && !resource.traits.unconditional_update {
        let error = FieldError::invalid("metadata.resourceVersion", 0, "must be specified for an update");
        return Err(ApiError::invalid(&resource.group, &resource.kind, &at.name, &[error]));
    }
    check_uid(at, old, new.uid())?;
    if !seen.is_empty() && seen != old.resource_version() {
        return Err(ApiError::modified(at));
    }
    Ok(())
}

pub(super) fn check_uid(at: &ObjectRef, old: &Object, uid: &str) -> Result<(), ApiError> {
    if uid.is_empty() || uid == old.uid() {
        return Ok(());
    }
    let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {}", old.uid());
    Err(ApiError::conflict(at.resource(), &at.name, &why))
}
