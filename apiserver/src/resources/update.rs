//! Replacing an object, or one part of it.

use super::create::{DEFINITIONS_MAX, check_namespace};
use super::gate::Question;
use super::mutate::{Change, Next, Outcome};
use super::write::{self, By, How, Told};
use super::{Create, Resources, Written};
use crate::admission::{self, Attempt};
use crate::allocate::Beside;
use crate::auth::{Access, Authorized};
use crate::body::Decoded;
use crate::error::ApiError;
use crate::hooks::Operation;
use crate::managed_fields;
use crate::object::Object;
use crate::place::{Collection, ObjectRef};
use crate::strategy::{self, Part};
use crate::target::Verb;
use openapi::FieldError;

/// The object should be what its author says.
struct Update<'a> {
    resources: &'a Resources,
    at: &'a Authorized<ObjectRef>,
    part: Part,
    new: Object,
    warnings: Vec<String>,
    how: How<'a>,
}

impl Change for Update<'_> {
    async fn next(&self, old: &Object) -> Result<Next, ApiError> {
        self.how.told.restart(&self.warnings);
        check_version(self.at.get(), old, &self.new)?;
        self.resources.replaced(self.at, self.part, old, self.new.clone(), self.how).await
    }
}

impl Resources {
    /// Replaces `part` of the object by what the request says.
    pub async fn update(&self, at: &Authorized<ObjectRef>, part: Part, request: &Create) -> Result<Written, ApiError> {
        let mut at = at.clone();
        for _ in 0..DEFINITIONS_MAX {
            let tried = self.update_once(&at, part, request).await;
            match self.redefined_since(&at, &tried)? {
                Some(now) => at = now,
                None => return tried,
            }
        }
        Err(ApiError::redefined())
    }

    async fn update_once(&self, at: &Authorized<ObjectRef>, part: Part, request: &Create) -> Result<Written, ApiError> {
        let (target, resource) = (at.get(), at.get().resource().clone());
        let Decoded { object: new, warnings } = request.body.decode(&resource, request.options.validation)?;
        let new = crate::convert::to_storage(new, &resource);
        check_identity(target, &new)?;
        let told = Told::about("UpdateOptions", &request.options);
        let how = How::of(&request.options, &told);
        told.restart(&warnings);
        if part == Part::Main && resource.traits.create_on_update && self.find(target)?.is_none() {
            return self.create_by_update(at, how, new).await;
        }
        let change = Update { resources: self, at, part, new, warnings, how };
        let outcome = told.along(self.mutate(target, how.dry_run, &change).await)?;
        self.written(&target.within, outcome, told).await
    }

    async fn create_by_update(
        &self,
        at: &Authorized<ObjectRef>,
        how: How<'_>,
        mut new: Object,
    ) -> Result<Written, ApiError> {
        let target = at.get();
        // Whoever names a revision has seen an object that is gone.
        if !new.resource_version().is_empty() {
            return Err(ApiError::not_found(target.resource(), &target.name));
        }
        new.set_metadata("name", target.name.as_str());
        let access = Access::Object { verb: Verb::Create, at: target.clone(), subresource: None };
        let place = self.authorizer().permit_now(at.user(), access).await?.narrow(|_| target.within.clone());
        let bytes = self.insert(&place, &new, how).await?;
        let bytes = self.shown_new(&target.within, bytes).await?;
        Ok(Written { bytes, created: true, warnings: how.told.warnings() })
    }

    /// What an object becomes when its author wants it to be `new`.
    pub(super) async fn replaced(
        &self,
        by: &Authorized<ObjectRef>,
        part: Part,
        old: &Object,
        mut new: Object,
        how: How<'_>,
    ) -> Result<Next, ApiError> {
        let (at, resource) = (by.get(), by.get().resource());
        // Whoever does not say which version is replaced means the one that is there.
        new.take_metadata_from(old, "resourceVersion");
        write::complete(resource, &mut new);
        strategy::settle(resource, &mut new);
        self.track(resource, part, Some(old), &mut new, how.author);
        let (sight, ambient) = (self.sight(at.workspace()), &self.inner.ambient);
        let attempt = Attempt { resource, part, old: Some(old), user: by.user(), ambient, look: &sight };
        admission::change(&mut new, &attempt)?;
        let question = Question {
            at: &at.within,
            part,
            operation: Operation::Update,
            name: &at.name,
            old: Some(old),
            user: by.user(),
            how,
            attempt: Some(&attempt),
        };
        how.require(&mut new, Some(old))?;
        new = self.consulted(question, new).await?;
        let unmoved = self.may_grant(by.user(), &at.within, &at.name, (&new, Some(old)))?;
        strategy::prepare_update(resource, part, &mut new, old, &self.surroundings());
        let who = By { at: &at.within, user: by.user(), through_window: how.view.is_some() };
        let mut beside = self.beside(&mut new, &attempt, who)?;
        write::settle(resource, &mut new);
        let mut errors = strategy::check_change(resource, part, &new, old);
        errors.extend(write::errors_of_change(resource, part, &mut new, old, how.told));
        if !errors.is_empty() {
            return Err(ApiError::invalid(write::group_of_errors(resource), &resource.kind, new.name(), &errors));
        }
        if part == Part::Main {
            how.told.add(write::warnings(resource, &mut new, Some(old)));
        }
        admission::check(&new, &attempt)?;
        self.permitted(question, Some(&new)).await?;
        self.foretell(&new, &attempt, who, how)?;
        self.room_to_grow(&at.within, (old, &new), by.user())?;
        beside.extend(unmoved);
        beside.extend(admission::charge(&new, &attempt)?.into_iter().map(Beside::Quota));
        Ok(match decide(old, new) {
            Next::Write(object) => Next::With(object, beside),
            other => other,
        })
    }

    pub(super) async fn written(&self, at: &Collection, outcome: Outcome, told: Told) -> Result<Written, ApiError> {
        let bytes = match outcome {
            Outcome::Same(version) => self.shown(at, version).await?,
            Outcome::Written(bytes) | Outcome::Removed { asked: bytes, .. } => self.shown_new(at, bytes).await?,
        };
        Ok(Written { bytes, created: false, warnings: told.into_warnings() })
    }
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
        // Kubernetes names the resource here, and the kind everywhere else.
        return Err(ApiError::invalid(&resource.group, &resource.plural, &at.name, &[error]));
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
