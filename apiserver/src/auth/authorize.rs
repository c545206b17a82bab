//! Permission as a type: nobody but the authorizer can make an `Authorized`.

use super::{MASTERS, User};
use crate::error::ApiError;
use crate::place::{Collection, ObjectRef};
use crate::target::{Target, Verb};
use std::sync::Arc;

/// Something that its user may do.
#[derive(Clone, Debug)]
pub struct Authorized<T> {
    what: T,
    user: Arc<User>,
}

impl<T> Authorized<T> {
    pub fn get(&self) -> &T {
        &self.what
    }

    pub fn user(&self) -> &Arc<User> {
        &self.user
    }

    /// Looks closer at what was permitted. `narrow` must not lead outside of it.
    pub(crate) fn narrow<U>(self, narrow: impl FnOnce(T) -> U) -> Authorized<U> {
        Authorized { what: narrow(self.what), user: self.user }
    }
}

/// What somebody wants to do: a verb, and where.
#[derive(Clone, Debug)]
pub enum Access {
    Objects { verb: Verb, at: Collection },
    Object { verb: Verb, at: ObjectRef, subresource: Option<String> },
}

/// Decides who may do what. Until rules are kept in workspaces it knows one: masters may do everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authorizer;

impl Authorizer {
    pub fn authorize(self, user: &Arc<User>, target: Target) -> Result<Authorized<Target>, ApiError> {
        // Load balancers and clients look at these before they have shown who they are.
        let public = matches!(target, Target::Version | Target::Health(..));
        if public || user.is_in(MASTERS) {
            return Ok(Authorized { what: target, user: user.clone() });
        }
        Err(refusal(user, &target))
    }

    /// The same question, asked from inside.
    pub fn permit(self, user: &Arc<User>, access: Access) -> Result<Authorized<Access>, ApiError> {
        let target = match &access {
            Access::Objects { verb, at } => Target::Objects { verb: *verb, at: at.clone() },
            Access::Object { verb, at, subresource } => {
                Target::Object { verb: *verb, at: at.clone(), subresource: subresource.clone() }
            }
        };
        self.authorize(user, target).map(|permit| permit.narrow(|_| access))
    }
}

fn refusal(user: &User, target: &Target) -> ApiError {
    match target {
        Target::Objects { verb, at } => refused(user, *verb, at, None, ""),
        Target::Object { verb, at, subresource } => refused(user, *verb, &at.within, subresource.as_deref(), &at.name),
        _ => ApiError::forbidden_path("/", &format!("User {:?} cannot get", user.name)),
    }
}

fn refused(user: &User, verb: Verb, at: &Collection, subresource: Option<&str>, name: &str) -> ApiError {
    let resource = &at.resource;
    let what = subresource.map_or_else(|| resource.plural.clone(), |sub| format!("{}/{sub}", resource.plural));
    let place = match &at.namespace {
        Some(namespace) => format!("in the namespace {namespace:?}"),
        None => "at the cluster scope".to_owned(),
    };
    let (user, verb, group) = (&user.name, verb.word(), &resource.group);
    let why = format!("User {user:?} cannot {verb} resource {what:?} in API group {group:?} {place}");
    ApiError::forbidden(resource, name, &why)
}
