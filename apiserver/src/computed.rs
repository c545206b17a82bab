//! Resources of which nothing is stored: their objects are made of others whenever somebody looks. Nobody writes them,
//! or who does writes the one object that they are made of.

use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::place::Workspace;
use serde_json::Value;
use std::fmt;
use storage::Snapshot;

/// Makes the objects of computed resources.
pub trait Compute: fmt::Debug + Send + Sync {
    /// What the objects of a resource are made of: groups and plurals of the same workspace.
    fn made_of(&self, resource: &ResourceDef) -> &'static [(&'static str, &'static str)];

    /// All objects of a resource in a workspace, as they are at one revision: whole, with a UID and the revision at
    /// which they came to be so.
    fn objects(
        &self,
        resource: &ResourceDef,
        workspace: &Workspace,
        snapshot: &Snapshot,
    ) -> Result<Vec<Value>, ApiError>;

    /// What is shown of the one object that an object of a resource is made of; `None` for what is no such object.
    fn shown(&self, _resource: &ResourceDef, _kept: &Value) -> Option<Value> {
        None
    }

    /// What somebody says of an object of a resource, whole or as a patch, as it is said of the one that it is made of.
    fn kept(&self, _resource: &ResourceDef, said: Value) -> Value {
        said
    }
}
