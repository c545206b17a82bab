//! Custom resources: what a definition says of their objects, made ready for use.
//!
//! A [`CustomSchema`] is one version of a definition, compiled. Equal ones are one: see [`Interned`]. [`Custom`] adds
//! what the workspace it is defined in knows of it.

mod intern;
mod rules;
mod scale;
mod schema;

pub use intern::Interned;
pub use rules::{Judged, check_rules};
pub use schema::{CustomSchema, envelope};

use crate::object::Object;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::Revision;

/// A version of a custom resource, as one workspace has it.
#[derive(Debug)]
pub struct Custom {
    pub schema: Arc<CustomSchema>,
    /// The same resource in all of its versions, this one included.
    pub versions: Arc<BTreeMap<String, Arc<CustomSchema>>>,
    pub conversion: Conversion,
    pub definition: Definition,
    /// Whatever was written later is in the form that the definition asks for.
    pub since: Revision,
    pub served: bool,
    /// The definition is going: no more objects of it are made.
    pub terminating: bool,
    /// What those are told who use this version.
    pub warning: Option<String>,
}

/// What says what the objects look like.
#[derive(Clone, Debug)]
pub enum Definition {
    /// An object of the workspace, as it was read. It is a condition of every write.
    Kept { name: String, revision: Revision },
    /// It came with the server, and is the same in every workspace.
    Given(Arc<Object>),
}

impl Definition {
    /// The revision of an object; nothing is older than what was given.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Kept { revision, .. } => *revision,
            Self::Given(_) => Revision::ZERO,
        }
    }
}

/// How objects get from one version to another.
#[derive(Clone, Debug, PartialEq)]
pub enum Conversion {
    /// All versions look the same.
    Rename,
    /// Somebody else knows how; this is what the definition says of them.
    Webhook(serde_json::Value),
}
