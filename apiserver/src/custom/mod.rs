//! Custom resources: what a definition says of their objects, made ready for use.
//!
//! A [`CustomSchema`] is one version of a definition, compiled. Equal ones are one: see [`Interned`]. [`Custom`] adds
//! what the workspace it is defined in knows of it.

mod conversion;
mod intern;
mod rules;
mod scale;
mod schema;

pub use conversion::{ANSWER_COST, CONVERSIONS, Conversions, Failure, KEPT, check_conversions};
pub use intern::Interned;
pub use rules::{Judged, check_rules};
pub use schema::{CustomSchema, envelope};

use crate::object::Object;
use std::collections::BTreeMap;
use std::sync::Arc;
use storage::Revision;

/// A version of a custom resource, as one workspace has it.
#[derive(Clone, Debug)]
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
    /// From where it is to be seen; from everywhere, if nothing is said.
    pub contexts: Vec<String>,
}

impl Custom {
    pub fn is_seen_from(&self, context: &str) -> bool {
        self.contexts.is_empty() || self.contexts.iter().any(|one| one == context)
    }
}

/// What says what the objects look like.
#[derive(Clone, Debug)]
pub enum Definition {
    /// An object of the workspace, as it was read. It is a condition of every write.
    Kept { name: String, revision: Revision },
    /// It came with the server, and is the same in every workspace.
    Given(Arc<Object>),
    /// It is kept elsewhere, never changes, and is shared with the workspace.
    Shared(Arc<Elsewhere>),
    /// An object of the workspace with this id, as it was read there: what that one defines, this one serves too.
    Lent { by: Arc<str>, name: String, revision: Revision },
}

/// A definition that is not the workspace's own. Where all of this is the same, so are the resources made of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Elsewhere {
    /// The id of the workspace that keeps it, and the name that it has there.
    pub kept_in: Arc<str>,
    pub name: String,
    /// What tells objects of it from others that are called the same.
    pub identity: Arc<str>,
    /// The id of the workspace that shares it, and the name of the object there that does.
    pub home: Arc<str>,
    pub by: Arc<str>,
    /// It will not be shared much longer: no more objects of it are made.
    pub going: bool,
    /// Whatever was written later is in the form that it asks for.
    pub since: Revision,
}

impl Definition {
    /// The revision of an object; nothing is older than what was given.
    pub fn revision(&self) -> Revision {
        match self {
            Self::Kept { revision, .. } | Self::Lent { revision, .. } => *revision,
            Self::Given(_) | Self::Shared(_) => Revision::ZERO,
        }
    }

    /// What tells objects of it from others that are called the same, if there can be any.
    pub fn identity(&self) -> Option<Arc<str>> {
        match self {
            Self::Shared(elsewhere) => Some(elsewhere.identity.clone()),
            Self::Lent { by, .. } => Some(by.clone()),
            Self::Kept { .. } | Self::Given(_) => None,
        }
    }

    /// The id of the workspace that lends it, if it is lent.
    pub fn lender(&self) -> Option<&str> {
        match self {
            Self::Lent { by, .. } => Some(by),
            Self::Kept { .. } | Self::Given(_) | Self::Shared(_) => None,
        }
    }

    /// Objects that were held to the one are as the other asks for.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Shared(one), Self::Shared(other)) => one == other,
            (Self::Shared(_), _) | (_, Self::Shared(_)) => false,
            _ => self.revision() == other.revision(),
        }
    }
}

/// Makes an object what another version asks for. Its `apiVersion` is not its business.
pub type Converter = fn(&mut Object, version: &str);

/// How objects get from one version to another.
#[derive(Clone, Debug)]
pub enum Conversion {
    /// All versions look the same.
    Rename,
    /// The server knows how.
    Given(Converter),
    /// Rules say how.
    Rules(Arc<Conversions>),
    /// Somebody else knows how; this is what the definition says of them.
    Webhook(serde_json::Value),
}
