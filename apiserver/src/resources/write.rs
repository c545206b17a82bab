//! What all writes have in common: how they are asked for, what completes an object, and what is written beside it.

use super::Resources;
use super::owners::Author;
use crate::admission::Attempt;
use crate::allocate::{self, Beside, Givers};
use crate::attend::Attending;
use crate::auth::User;
use crate::catalog::{ResourceDef, Schema};
use crate::custom::{Definition, check_rules};
use crate::error::ApiError;
use crate::keyspace::{self, Mark};
use crate::object::Object;
use crate::options::{Deadline, DeleteOptions, WriteOptions};
use crate::place::{Collection, ObjectRef, Workspace};
use crate::policy;
use crate::strategy::{self, Part, definitions};
use crate::view::View;
use openapi::FieldError;
use openapi::builtin::Type;
use parking_lot::Mutex;
use serde_json::Value;
use std::sync::Arc;
use storage::{Expect, Revision, Txn};

/// How something is written: in whose name, and whether it counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    pub(super) author: Author<'a>,
    pub(super) dry_run: bool,
    /// The same as those are told who are asked about it.
    pub(super) options: &'a Value,
    pub(super) told: &'a Told,
    pub(super) view: Option<&'a Arc<dyn View>>,
}

impl<'a> How<'a> {
    pub(super) fn of(options: &'a WriteOptions, told: &'a Told) -> Self {
        let author = if options.unowned { Author::Settled } else { Author::Named(&options.field_manager) };
        Self { author, dry_run: options.dry_run, options: &told.options, told, view: options.view.as_ref() }
    }

    /// Makes sure that whoever writes an object can see it.
    pub(super) fn require(&self, object: &mut Object, old: Option<&Object>) -> Result<(), ApiError> {
        self.view.map_or(Ok(()), |view| view.require(object, old))
    }

    /// The same for an object that names its owners already.
    pub(super) fn settled(self) -> Self {
        Self { author: Author::Settled, ..self }
    }
}

/// What the author of a write should know.
#[derive(Debug)]
pub(super) struct Told {
    warnings: Mutex<Vec<String>>,
    options: Value,
    deadline: Option<Deadline>,
}

impl Told {
    /// `kind`: of the options that the write came with.
    pub(super) fn about(kind: &str, options: &WriteOptions) -> Self {
        Self { warnings: Mutex::default(), options: options.told(kind), deadline: options.deadline }
    }

    pub(super) fn about_delete(options: &DeleteOptions) -> Self {
        Self { warnings: Mutex::default(), options: options.told(), deadline: options.deadline }
    }

    pub(super) fn options(&self) -> &Value {
        &self.options
    }

    /// When the author does not wait any more.
    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.deadline
    }

    pub(super) fn add(&self, warnings: Vec<String>) {
        self.warnings.lock().extend(warnings);
    }

    /// Another try begins: what was found out in the last one does not count.
    pub(super) fn restart(&self, warnings: &[String]) {
        *self.warnings.lock() = warnings.to_vec();
    }

    /// Whoever is refused is told the same.
    pub(super) fn along<T>(&self, tried: Result<T, ApiError>) -> Result<T, ApiError> {
        tried.map_err(|error| error.with_warnings(self.warnings()))
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().clone()
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner()
    }
}

/// Where something is written, and by whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct By<'a> {
    pub(super) at: &'a Collection,
    pub(super) user: &'a User,
    pub(super) through_window: bool,
}

/// Fills in what the author of an object did not say.
pub(super) fn complete(resource: &ResourceDef, object: &mut Object) {
    match (&resource.schema, resource.stored_type()) {
        (Schema::Builtin(_), Some(ty)) => object.as_tree(|tree| openapi::defaults::apply(tree, ty)),
        (Schema::Custom(custom), _) => object.as_tree(|tree| custom.schema.complete(tree)),
        (Schema::Builtin(_), None) => {}
    }
}

/// Gives the object the form in which it is read back: with defaults that follow from what it was completed with.
pub(super) fn settle(resource: &ResourceDef, object: &mut Object) {
    complete(resource, object);
    if let Some(ty) = resource.stored_type() {
        object.as_tree(|tree| openapi::normalize(tree, ty));
    }
}

/// Events are known by the group that they were in first, through whichever they come.
const EVENTS: &str = "events.k8s.io";

pub(super) fn group_of_errors(resource: &ResourceDef) -> &str {
    if resource.group == EVENTS { "" } else { &resource.group }
}

/// The type by which an object is judged as its author sees it; nothing for those that are judged as they are stored.
fn judged_as_sent(resource: &ResourceDef) -> Option<&'static Type> {
    match resource.schema {
        Schema::Builtin(ty) if resource.group == EVENTS => Some(ty),
        _ => None,
    }
}

fn as_sent(object: &Object, resource: &ResourceDef) -> Value {
    Value::from(crate::convert::from_storage(object.clone(), resource))
}

/// What is wrong with a new object.
pub(super) fn errors_of_new(resource: &ResourceDef, object: &mut Object) -> Vec<FieldError> {
    if let Some(ty) = judged_as_sent(resource) {
        return openapi::validation::create(&as_sent(object, resource), ty);
    }
    match (resource.custom(), resource.stored_type()) {
        (Some(custom), _) => custom.schema.validate(object, None, resource.namespaced).errors,
        (None, Some(ty)) => {
            let expressions = policy::check(object);
            let request = is(resource, "certificates.k8s.io", "certificatesigningrequests");
            let unreadable = Some(&*object).filter(|_| request).and_then(strategy::check_request);
            let mut errors = object.as_tree(|tree| {
                let mut errors = openapi::validation::create_knowing(tree, ty, expressions);
                if is_definition(resource) {
                    errors.extend(check_rules(tree, None, &errors));
                }
                errors
            });
            // What is wrong on the outside is said once.
            let said = errors.iter().any(|error| error.field == "spec.request");
            errors.extend(unreadable.filter(|_| !said));
            errors
        }
        (None, None) => Vec::new(),
    }
}

/// What the author of a valid object should be told about it.
pub(super) fn warnings(resource: &ResourceDef, object: &mut Object, old: Option<&Object>) -> Vec<String> {
    if resource.custom().is_some() {
        return Vec::new();
    }
    let old = old.map(|old| Value::from(old.clone()));
    object.as_tree(|tree| openapi::validation::warnings(tree, old.as_ref()))
}

/// What is wrong with the expressions of an object. What was accepted once is not refused for having been there.
fn new_mistakes(new: &Object, old: &Object) -> Vec<FieldError> {
    let mut wrong = policy::check(new);
    if !wrong.is_empty() {
        let before = policy::check(old);
        wrong.retain(|error| !before.contains(error));
    }
    wrong
}

/// What is wrong with an object in the place of another.
pub(super) fn errors_of_change(
    resource: &ResourceDef,
    part: Part,
    new: &mut Object,
    old: &Object,
    told: &Told,
) -> Vec<FieldError> {
    if let Some(ty) = judged_as_sent(resource) {
        return openapi::validation::update(&as_sent(new, resource), &as_sent(old, resource), ty);
    }
    let ty = match (resource.custom(), resource.stored_type()) {
        (Some(custom), _) => {
            let judged = match part {
                Part::Status => custom.schema.validate_status(new, old, resource.namespaced),
                _ => custom.schema.validate(new, Some(old), resource.namespaced),
            };
            told.add(judged.forgiven.iter().map(ToString::to_string).collect());
            return judged.errors;
        }
        (None, Some(ty)) => ty,
        (None, None) => return Vec::new(),
    };
    let expressions = new_mistakes(new, old);
    // A part that has rules of its own has been held against the old object.
    let old = Value::from(if strategy::has_own_rules(part) { new.clone() } else { old.clone() });
    new.as_tree(|tree| match part {
        Part::Status => openapi::validation::update_status(tree, &old, ty),
        _ => {
            let mut errors = openapi::validation::update_knowing(tree, &old, ty, expressions);
            if is_definition(resource) {
                errors.extend(check_rules(tree, Some(&old), &errors));
            }
            errors
        }
    })
}

fn is(resource: &ResourceDef, group: &str, plural: &str) -> bool {
    resource.group == group && resource.plural == plural
}

fn is_definition(resource: &ResourceDef) -> bool {
    is(resource, "apiextensions.k8s.io", "customresourcedefinitions")
}

/// What has to be made anew when an object of the resource changes.
pub(super) fn mark_of(resource: &ResourceDef) -> Option<Mark> {
    match &*resource.group {
        "apiextensions.k8s.io" => Some(Mark::Definitions),
        "admissionregistration.k8s.io" => Some(Mark::Policies),
        "rbac.authorization.k8s.io" => Some(Mark::Rules),
        "flowcontrol.apiserver.k8s.io" => Some(Mark::Flows),
        "apiregistration.k8s.io" => Some(Mark::Backends),
        _ => resource.traits.defines.then_some(Mark::Definitions),
    }
}

impl Resources {
    /// Completes an object with what only the whole workspace can tell, and says what is written together with it.
    pub(super) fn beside(
        &self,
        object: &mut Object,
        attempt: &Attempt<'_>,
        by: By<'_>,
    ) -> Result<Vec<Beside>, ApiError> {
        let workspace = &by.at.workspace;
        self.keep(object, attempt, by)?;
        if is(attempt.resource, "", "services") && attempt.part == Part::Main {
            return allocate::allocate(object, attempt.old, &Givers { ambient: attempt.ambient, look: attempt.look });
        }
        if is_definition(attempt.resource) {
            let (beside, used) = self.names_in(workspace, object.text(&["spec", "group"]), object.name())?;
            definitions::accept(object, &used, attempt.ambient.now());
            return Ok(beside);
        }
        match attempt.resource.custom().map(|custom| &custom.definition) {
            Some(Definition::Given(_)) => return self.attend(object, attempt, by),
            Some(Definition::Shared(_)) => self.inner.attendant.brand(object, workspace),
            _ => {}
        }
        self.moved(attempt.resource, workspace)
    }

    /// What in the metadata is not its author's stays as it was, and what is made finds room in its workspace.
    fn keep(&self, object: &mut Object, attempt: &Attempt<'_>, by: By<'_>) -> Result<(), ApiError> {
        let is_made = attempt.old.is_none();
        if by.user.is_master() && (by.user.is_part_of_the_server() || !is_made) {
            return Ok(());
        }
        let around = self.sight(&by.at.workspace);
        let Attempt { part, old, ambient, .. } = *attempt;
        let By { at, user, through_window } = by;
        let write = Attending { at, part, old, user, through_window, ambient, around: &around };
        let allowance = self.inner.attendant.keep(object, &write)?;
        if is_made { self.room_for_another(at, object.name(), allowance) } else { Ok(()) }
    }

    fn attend(&self, object: &mut Object, attempt: &Attempt<'_>, by: By<'_>) -> Result<Vec<Beside>, ApiError> {
        let around = self.sight(&by.at.workspace);
        let Attempt { part, old, ambient, .. } = *attempt;
        let By { at, user, through_window } = by;
        let write = Attending { at, part, old, user, through_window, ambient, around: &around };
        self.inner.attendant.attend(object, &write)
    }

    /// Tells whoever only asks what would happen.
    pub(super) fn foretell(
        &self,
        object: &Object,
        attempt: &Attempt<'_>,
        by: By<'_>,
        how: How<'_>,
    ) -> Result<(), ApiError> {
        let given = matches!(attempt.resource.custom().map(|custom| &custom.definition), Some(Definition::Given(_)));
        if !how.dry_run || !given {
            return Ok(());
        }
        let around = self.sight(&by.at.workspace);
        let Attempt { part, old, ambient, .. } = *attempt;
        let By { at, user, through_window } = by;
        let write = Attending { at, part, old, user, through_window, ambient, around: &around };
        how.told.add(self.inner.attendant.foretell(object, &write)?);
        Ok(())
    }

    /// What is written together with the end of an object.
    pub(super) fn given_up(&self, at: &ObjectRef, object: &Object) -> Result<Vec<Beside>, ApiError> {
        if is(at.resource(), "", "services") {
            return Ok(allocate::release(object));
        }
        self.moved(at.resource(), at.workspace())
    }

    /// What is written together with any change of an object.
    pub(super) fn moved(&self, resource: &ResourceDef, workspace: &Workspace) -> Result<Vec<Beside>, ApiError> {
        Ok(match mark_of(resource) {
            None => Vec::new(),
            // Whether its author may write it is a condition of its own; nothing else depends on other roles. And no flow
            // schema depends on another.
            Some(mark @ (Mark::Rules | Mark::Flows | Mark::Backends)) => vec![Beside::Touch(mark)],
            Some(mark) => vec![Beside::Move(mark, self.marked(workspace, mark)?)],
        })
    }

    fn marked(&self, workspace: &Workspace, mark: Mark) -> Result<Revision, ApiError> {
        let found = self.inner.store.recent().get(keyspace::mark(workspace, mark)?.as_bytes())?;
        Ok(found.map_or(Revision::ZERO, |version| version.modified))
    }

    /// An object is written as its definition says only for as long as that says the same.
    pub(super) fn under_definition(&self, txn: Txn, at: &Collection) -> Result<Txn, ApiError> {
        match at.resource.custom().map(|custom| &custom.definition) {
            Some(Definition::Kept { name, revision }) => {
                let key = keyspace::key(&self.definitions(&at.workspace)?.object(name))?;
                Ok(txn.expect(key, Expect::At(*revision)))
            }
            // No other is called the same for as long as it is there: see `Resources::added`.
            Some(Definition::Lent { by, name, revision }) => {
                let key = keyspace::key(&self.definitions(&Workspace::new(by))?.object(name))?;
                Ok(txn.expect(key, Expect::At(*revision)))
            }
            // What is shared is the same for all with whom it is; that it still is, the mark of the workspace says.
            Some(Definition::Shared(_)) => {
                let marked = self.still_shared(at)?;
                Ok(txn.expect(keyspace::mark(&at.workspace, Mark::Definitions)?, Expect::At(marked)))
            }
            Some(Definition::Given(_)) | None => Ok(txn),
        }
    }
}
