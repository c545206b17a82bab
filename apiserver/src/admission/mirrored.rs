//! Objects that only show what is elsewhere: a part of the server keeps them as they are there, and nobody else changes
//! or deletes them.

use super::Attempt;
use crate::auth::User;
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;

/// Says where an object is kept.
pub const MIRRORED: &str = "hanse.dev/mirrored-from";

pub(super) fn check(object: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let marked = attempt.old.and_then(origin).or_else(|| origin(object));
    refuse(attempt.resource, object.name(), marked, attempt.user)
}

/// Whether somebody may delete the object.
pub fn may_delete(resource: &ResourceDef, object: &Object, user: &User) -> Result<(), ApiError> {
    refuse(resource, object.name(), origin(object), user)
}

fn origin(object: &Object) -> Option<&str> {
    object.annotation(MIRRORED)
}

fn refuse(resource: &ResourceDef, name: &str, origin: Option<&str>, user: &User) -> Result<(), ApiError> {
    match origin {
        Some(origin) if !user.is_part_of_the_server() => {
            let why = format!("it shows what is in {origin}, and is changed and deleted only there");
            Err(ApiError::forbidden(resource, name, &why))
        }
        _ => Ok(()),
    }
}
