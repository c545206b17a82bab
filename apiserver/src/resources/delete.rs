//! Letting objects go: at once, when whatever holds them is done, or all that match.

use super::create::DEFINITIONS_MAX;
use super::gate::Question;
use super::mutate::{Change, Next, Outcome};
use super::owners::Author;
use super::update::check_uid;
use super::write::{How, Told};
use super::{Filter, Resources};
use crate::admission;
use crate::auth::Authorized;
use crate::catalog::{Collecting, ResourceDef};
use crate::error::ApiError;
use crate::hooks::Operation;
use crate::keyspace;
use crate::object::{Object, timestamp};
use crate::options::{DeleteOptions, ListOptions, Propagation};
use crate::place::{Collection, ObjectRef};
use crate::strategy::{self, Part};
use bytes::Bytes;
use openapi::FieldError;
use openapi::scalar::time::Instant;
use storage::Revision;

/// What a delete leaves.
#[derive(Clone, Debug)]
pub enum Deleted {
    /// It is gone.
    Gone { last: Bytes, uid: String },
    /// It goes when its finalizers are done, or its grace is over.
    Going { now: Bytes },
}

/// A deletion, and what its author should be told.
#[derive(Clone, Debug)]
pub struct Deletion {
    pub left: Deleted,
    pub warnings: Vec<String>,
}

/// The deletion of a collection: what was in it, as it was before.
#[derive(Clone, Debug)]
pub struct DeletedMany {
    pub revision: Revision,
    pub items: Vec<Bytes>,
    pub warnings: Vec<String>,
}

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The object should go.
struct Delete<'a> {
    resources: &'a Resources,
    by: &'a Authorized<ObjectRef>,
    how: How<'a>,
    options: &'a DeleteOptions,
    now: Instant,
}

impl Change for Delete<'_> {
    async fn next(&self, old: &Object) -> Result<Next, ApiError> {
        let at = self.by.get();
        check_preconditions(at, old, self.options)?;
        admission::may_delete(at.resource(), old, self.by.user())?;
        let question = Question {
            at: &at.within,
            part: Part::Main,
            operation: Operation::Delete,
            name: &at.name,
            old: Some(old),
            user: self.by.user(),
            how: self.how,
            attempt: None,
        };
        self.resources.permitted(question, None).await?;
        Ok(going(at.resource(), old, self.options, self.now))
    }
}

impl Resources {
    pub async fn delete(&self, at: &Authorized<ObjectRef>, options: &DeleteOptions) -> Result<Deletion, ApiError> {
        let mut at = at.clone();
        for _ in 0..DEFINITIONS_MAX {
            let tried = self.delete_once(&at, options).await;
            match self.redefined_since(&at, &tried)? {
                Some(now) => at = now,
                None => return tried,
            }
        }
        Err(ApiError::redefined())
    }

    async fn delete_once(&self, at: &Authorized<ObjectRef>, options: &DeleteOptions) -> Result<Deletion, ApiError> {
        let target = at.get();
        let resource = target.resource();
        strategy::may_delete(resource, &target.name)?;
        check_propagation(resource, options)?;
        let told = Told::about_delete(options);
        let warnings = strategy::warnings_of_delete(resource, options);
        let how =
            How { author: Author::Settled, dry_run: options.dry_run, options: told.options(), told: &told, view: None };
        let change = Delete { resources: self, by: at, how, options, now: self.inner.ambient.now() };
        let outcome = told.along(self.mutate(target, options.dry_run, &change).await);
        let left = match outcome.map_err(|error| error.with_warnings(warnings.clone()))? {
            Outcome::Removed { last, .. } => {
                let uid = crate::object::Peek::of(&last).text(&["metadata", "uid"]).unwrap_or_default().into_owned();
                Deleted::Gone { last: self.shown_new(&target.within, last).await?, uid }
            }
            Outcome::Same(now) => Deleted::Going { now: self.shown(&target.within, now).await? },
            Outcome::Written(now) => Deleted::Going { now: self.shown_new(&target.within, now).await? },
        };
        Ok(Deletion { left, warnings: [warnings, told.into_warnings()].concat() })
    }

    pub async fn delete_collection(
        &self,
        at: &Authorized<Collection>,
        list: ListOptions,
        options: &DeleteOptions,
    ) -> Result<DeletedMany, ApiError> {
        let (range, filter) = Filter::plan(at.get(), None, list.selection)?;
        let snapshot = self.inner.store.snapshot().await?;
        let (mut items, mut warnings) = (Vec::new(), Vec::new());
        for entry in snapshot.scan(range) {
            let entry = entry?;
            if list.limit > 0 && items.len() == list.limit {
                break;
            }
            if !filter.sees(&entry.key, &entry.version.value) {
                continue;
            }
            let Some(parts) = keyspace::parse(&entry.key) else { continue };
            let (namespace, name) = (parts.namespace.map(str::to_owned), parts.name.to_owned());
            let one = at.clone().narrow(|place| Collection { namespace, ..place }.object(&name));
            items.push(self.shown(&one.get().within, entry.version).await?);
            match self.delete(&one, options).await {
                // Whoever was faster did what was asked.
                Err(error) if error.code() == 404 => {}
                Err(error) => return Err(error),
                Ok(deletion) => warnings = deletion.warnings,
            }
        }
        if items.is_empty() {
            warnings = strategy::warnings_of_delete(&at.get().resource, options);
        }
        Ok(DeletedMany { revision: snapshot.revision(), items, warnings })
    }
}

fn check_propagation(resource: &ResourceDef, options: &DeleteOptions) -> Result<(), ApiError> {
    let unsupported = resource.traits.collecting == Collecting::Unsupported;
    if unsupported && matches!(options.propagation, Some(Propagation::Orphan | Propagation::Foreground)) {
        let error = FieldError::invalid("propagationPolicy", "", "nothing depends on objects of this kind");
        return Err(ApiError::invalid_options("DeleteOptions", &[error]));
    }
    Ok(())
}

fn check_preconditions(at: &ObjectRef, old: &Object, options: &DeleteOptions) -> Result<(), ApiError> {
    if let Some(uid) = &options.uid {
        check_uid(at, old, uid)?;
    }
    match &options.resource_version {
        Some(wanted) if wanted != old.resource_version() => {
            let found = old.resource_version();
            let why = format!(
                "Precondition failed: ResourceVersion in precondition: {wanted}, ResourceVersion in object meta: {found}"
            );
            Err(ApiError::conflict(at.resource(), &at.name, &why))
        }
        _ => Ok(()),
    }
}

/// What becomes of an object that is to go.
fn going(resource: &ResourceDef, old: &Object, options: &DeleteOptions, now: Instant) -> Next {
    let mut new = old.clone();
    new.set_finalizers(finalizers(resource, old, options));
    let grace_secs = if resource.traits.graceful { strategy::pods::grace_secs(old, options.grace_secs) } else { 0 };
    let unmarked = new.clone();
    mark(resource, &mut new, old, grace_secs, now);
    if strategy::is_let_go(&new) {
        // Where nothing could have held it, nobody sees it as going.
        let has_an_end = resource.traits.graceful || strategy::has_an_end(resource);
        return Next::Remove(if has_an_end { new } else { unmarked });
    }
    if new == *old { Next::Same } else { Next::Write(new) }
}

/// Marks an object as going. A grace that is running may be made shorter, never longer.
fn mark(resource: &ResourceDef, new: &mut Object, old: &Object, grace_secs: i64, now: Instant) {
    let running = old.pointer(&["metadata", "deletionGracePeriodSeconds"]).and_then(serde_json::Value::as_i64);
    let has_an_end = strategy::has_an_end(resource);
    if old.is_deleting() && (has_an_end || running.is_some_and(|running| running <= grace_secs)) {
        return;
    }
    let ends = Instant { seconds: now.seconds.saturating_add(grace_secs), ..now };
    new.set_metadata("deletionTimestamp", timestamp(ends));
    if !has_an_end {
        new.set_metadata("deletionGracePeriodSeconds", grace_secs);
    }
    if !old.is_deleting() && old.generation() > 0 && strategy::counts_its_end(resource) {
        new.set_metadata("generation", old.generation() + 1);
    }
    strategy::mark_deleted(resource, new, now);
}

/// The finalizers that keep the object until its dependents are dealt with as asked.
fn finalizers(resource: &ResourceDef, old: &Object, options: &DeleteOptions) -> Vec<String> {
    let has = |name: &str| old.finalizers().any(|finalizer| finalizer == name);
    let (orphan, foreground) = match (options.propagation, options.orphan_dependents) {
        (Some(Propagation::Orphan), _) | (None, Some(true)) => (true, false),
        (Some(Propagation::Foreground), _) => (false, true),
        (Some(Propagation::Background), _) | (None, Some(false)) => (false, false),
        (None, None) if has(ORPHAN) || has(FOREGROUND) => (has(ORPHAN), has(FOREGROUND)),
        (None, None) => (resource.traits.collecting == Collecting::Orphan, false),
    };
    let others = old.finalizers().filter(|name| *name != ORPHAN && *name != FOREGROUND).map(str::to_owned);
    let mut kept: Vec<String> = others.collect();
    if orphan {
        kept.push(ORPHAN.to_owned());
    }
    if foreground {
        kept.push(FOREGROUND.to_owned());
    }
    kept
}
