//! What the built-in plugins do to an object on its way in, and what they refuse.
//!
//! One plugin is one file, and pure: the object, what it was before, what it looks up. Read [`CHANGES`] and [`CHECKS`]
//! top to bottom; so does an object.

mod accounts;
mod certificates;
mod ingress_class;
mod limits;
mod mirrored;
mod nodes;
mod owners;
mod priority;
mod protection;
mod quota;
mod resize;
mod runtimes;
mod storage_class;
mod tally;
mod tolerations;
mod usage;

pub use mirrored::{MIRRORED, may_delete};
pub use quota::{WIDE_IN, charge, is_wide};
pub use tally::Tally;

use crate::ambient::Ambient;
use crate::auth::{Attributes, Decision, User};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::strategy::Part;
use openapi::scalar::time::Instant;
use std::sync::Arc;

/// What a plugin may look at besides the object: the workspace as it is, at one revision.
pub trait Look: Sync {
    /// One object of a resource, named by group and plural. The namespace is empty for a resource that has none.
    fn one(&self, resource: (&str, &str), namespace: &str, name: &str) -> Result<Option<Object>, ApiError>;

    /// All objects of a resource in a namespace.
    fn all(&self, resource: (&str, &str), namespace: &str) -> Result<Vec<Object>, ApiError>;

    /// What the objects of a resource use of a quota of their namespace.
    fn used(&self, quota: &Object, resource: &ResourceDef, now: Instant) -> Result<Tally, ApiError>;

    /// A port is given to some service.
    fn is_port_taken(&self, port: u16) -> Result<bool, ApiError>;

    /// The resource of a kind, if it is served.
    fn resource_of(&self, api_version: &str, kind: &str) -> Option<Arc<ResourceDef>>;

    /// Whether a user may do something besides.
    fn decide(&self, user: &User, wanted: &Attributes<'_>) -> Result<Decision, ApiError>;
}

/// A write that is being admitted.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    pub resource: &'a ResourceDef,
    pub part: Part,
    /// What is being replaced. `None`: the object is made.
    pub old: Option<&'a Object>,
    pub user: &'a User,
    pub ambient: &'a Ambient,
    pub look: &'a dyn Look,
}

impl Attempt<'_> {
    fn is_about(&self, group: &str, plural: &str) -> bool {
        self.resource.group == group && self.resource.plural == plural
    }

    fn makes(&self, group: &str, plural: &str) -> bool {
        self.old.is_none() && self.is_about(group, plural)
    }

    fn forbidden(&self, object: &Object, why: &str) -> ApiError {
        ApiError::forbidden(self.resource, object.name(), why)
    }
}

impl std::fmt::Debug for Attempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Attempt").field("resource", &self.resource.qualified()).field("part", &self.part).finish()
    }
}

type Change = fn(&mut Object, &Attempt<'_>) -> Result<(), ApiError>;
type Check = fn(&Object, &Attempt<'_>) -> Result<(), ApiError>;

/// Before the object is completed and validated.
const CHANGES: [Change; 9] = [
    limits::fill_in,
    accounts::give_account,
    nodes::taint_new,
    priority::resolve,
    tolerations::wait_for_nodes,
    storage_class::choose,
    protection::protect,
    runtimes::apply,
    ingress_class::choose,
];

/// After it was found to be valid. Quota comes last, and is charged together with the write: see [`charge`].
const CHECKS: [Check; 10] = [
    mirrored::check,
    limits::enforce,
    accounts::check_secrets,
    priority::check_default,
    resize::check,
    runtimes::check_overhead,
    certificates::check_approval,
    certificates::check_signing,
    certificates::check_subject,
    owners::check_owners,
];

pub fn change(object: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    CHANGES.iter().try_for_each(|plugin| plugin(object, attempt))
}

pub fn check(object: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    CHECKS.iter().try_for_each(|plugin| plugin(object, attempt))
}
