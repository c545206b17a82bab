//! Kinds that somebody looks after: who completes their objects, and says what is written together with them.

use crate::allocate::Beside;
use crate::ambient::Ambient;
use crate::auth::{Rules, User};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::place::{Collection, ObjectRef, Workspace};
use crate::strategy::Part;
use std::fmt;
use std::sync::Arc;

/// A write of an object that is looked after.
#[derive(Clone, Copy)]
pub struct Attending<'a> {
    pub at: &'a Collection,
    pub part: Part,
    /// What is being replaced. `None`: the object is made.
    pub old: Option<&'a Object>,
    pub user: &'a User,
    pub ambient: &'a Ambient,
    pub around: &'a dyn Around,
}

impl fmt::Debug for Attending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attending").field("at", self.at).field("part", &self.part).finish_non_exhaustive()
    }
}

/// All workspaces as they are at one revision.
pub trait Around: Sync {
    /// A resource that every workspace serves, by group and plural, in the version it is stored in.
    fn resource(&self, group: &str, plural: &str) -> Option<Arc<ResourceDef>>;

    /// One object, as it is stored.
    fn object(&self, at: &ObjectRef) -> Result<Option<Object>, ApiError>;
}

/// Looks after some kinds that came with the server.
pub trait Attendant: fmt::Debug + Send + Sync {
    /// Completes an object that is made or changed, after its author and all who are asked have had their say; and says
    /// what is written together with it, or not at all. May be asked several times about one write.
    fn attend(&self, object: &mut Object, write: &Attending<'_>) -> Result<Vec<Beside>, ApiError>;

    /// What is permitted in a workspace besides what its own roles and bindings permit.
    fn rules(&self, _: &Workspace) -> Option<Arc<Rules>> {
        None
    }
}

/// Leaves everything as it is.
#[derive(Clone, Copy, Debug)]
pub struct Nobody;

impl Attendant for Nobody {
    fn attend(&self, _: &mut Object, _: &Attending<'_>) -> Result<Vec<Beside>, ApiError> {
        Ok(Vec::new())
    }
}
