//! Windows: what somebody sees of other workspaces from outside of them, of one or of all at once.

use crate::auth::{Attributes, Objects, User};
use crate::catalog::{Catalog, ResourceDef};
use crate::error::ApiError;
use crate::place::Workspace;
use crate::target::{Target, Verb};
use crate::view::Seeing;
use std::fmt;
use std::sync::Arc;

/// A window.
#[derive(Clone, Debug)]
pub struct Window {
    /// The workspace whose rules say who may look through it.
    pub home: Workspace,
    /// What these rules call it.
    pub called: Called,
    /// What it leads to.
    pub onto: Workspace,
    /// What can be seen there.
    pub catalog: Arc<Catalog>,
    pub pane: Arc<dyn Pane>,
}

/// A subresource of an object: whoever may do something to it, may do the same through the window.
#[derive(Clone, Debug)]
pub struct Called {
    pub group: &'static str,
    pub resource: &'static str,
    pub subresource: &'static str,
    pub name: String,
    /// What has to be permitted, if that is the same for everything.
    pub verb: Option<&'static str>,
}

impl Called {
    /// What rules have to permit.
    pub fn attributes<'a>(&'a self, verb: &'a str) -> Attributes<'a> {
        let Self { group, resource, subresource, name, .. } = self;
        let verb = self.verb.unwrap_or(verb);
        Attributes::objects(verb, Objects { group, resource, subresource, name, ..Objects::default() })
    }
}

/// What a window lets through.
pub trait Pane: fmt::Debug + Send + Sync {
    /// Refuses what those on the other side have not agreed to.
    fn admits(&self, target: &Target) -> Result<(), ApiError>;

    /// What is seen of a resource.
    fn view(&self, resource: &ResourceDef) -> Seeing;

    /// What of it somebody sees whom the rules do not let look; nothing, if it is closed to them.
    fn narrowed(&self, _: &Window, _: &Arc<User>, _: &Target) -> Option<Window> {
        None
    }
}

impl Window {
    /// Refuses what cannot be done to all workspaces at once: what is meant would not be clear.
    pub(crate) fn check(&self, target: Target) -> Result<Target, ApiError> {
        if !self.onto.is_everywhere() {
            return Ok(target);
        }
        match &target {
            Target::Objects { verb: Verb::List | Verb::Watch, at } if at.namespace.is_none() => Ok(target),
            Target::Objects { verb: Verb::List | Verb::Watch, .. } => {
                Err(ApiError::bad_request("objects of all workspaces are listed in all namespaces"))
            }
            Target::Objects { verb, at } => Err(ApiError::not_supported_everywhere(&at.resource, verb.word())),
            Target::Object { verb, at, .. } => Err(ApiError::not_supported_everywhere(at.resource(), verb.word())),
            _ => Ok(target),
        }
    }
}
