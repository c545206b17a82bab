//! Resources of which nothing is stored: their objects are made of others whenever somebody looks, and nobody writes
//! them.

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
}
