//! Cells that are workspaces. The server writes into them as itself, so nobody names one as a cell who could not do
//! everything there.

use super::path;
use super::types::Types;
use apiserver::attend::Attending;
use apiserver::auth::{Attributes, Objects};
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::place::Workspace;

pub(super) const CELLS: (&str, &str, &str) = ("federation.hanse.dev", "v1alpha1", "cells");

/// Refuses a cell that leads where its author may not go. Whether there is such a workspace is not told.
pub(super) fn check(cell: &Object, write: &Attending<'_>) -> Result<(), ApiError> {
    let named = cell.text(&["spec", "workspace"]);
    let as_before = write.old.is_some_and(|old| old.text(&["spec", "workspace"]) == named);
    if named.is_empty() || as_before || write.user.is_master() {
        return Ok(());
    }
    let everything = Attributes::objects("*", Objects { group: "*", resource: "*", ..Objects::default() });
    let permitted = match path::resolve(named, &Types { around: write.around }) {
        Some(id) => write.around.allows(write.user, &Workspace::new(&id), &everything)?,
        None => false,
    };
    if permitted {
        return Ok(());
    }
    let why = format!("spec.workspace: you may not do everything in workspace {named:?}, or it does not exist");
    Err(ApiError::forbidden(&write.at.resource, cell.name(), &why))
}
