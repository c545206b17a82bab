//! `OwnerReferencesPermissionEnforcement`: an owner is a way to have an object deleted, or to keep its owner from going,
//! and for both one needs to be allowed to.

use super::Attempt;
use crate::auth::{Attributes, Objects};
use crate::error::ApiError;
use crate::object::Object;
use serde_json::Value;

/// Whose owners are protected by other means: whoever may write the status of a pod may not change them.
const EXEMPT: (&str, &str, &str) = ("", "pods", "status");

pub(super) fn check_owners(object: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let resource = attempt.resource;
    let exempt = (&*resource.group, &*resource.plural, attempt.part.subresource()) == EXEMPT;
    if exempt || owners(Some(object)) == owners(attempt.old) {
        return Ok(());
    }
    if attempt.old.is_some() {
        may_delete(object, attempt)?;
    }
    let blocking: Vec<&Value> = newly_blocking(object, attempt.old).collect();
    if blocking.is_empty() || may_finalize_anything(attempt)? {
        return Ok(());
    }
    blocking.into_iter().try_for_each(|owner| may_finalize(object, owner, attempt))
}

fn owners(object: Option<&Object>) -> Vec<&Value> {
    object.map(|object| object.items(&["metadata", "ownerReferences"]).collect()).unwrap_or_default()
}

fn newly_blocking<'a>(new: &'a Object, old: Option<&'a Object>) -> impl Iterator<Item = &'a Value> {
    let blocks = |owner: &Value| owner["blockOwnerDeletion"] == true;
    let before = owners(old);
    owners(Some(new)).into_iter().filter(move |owner| {
        let same = before.iter().rev().find(|old| old["uid"] == owner["uid"]);
        blocks(owner) && !same.is_some_and(|old| blocks(old))
    })
}

fn may_delete(object: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let wanted = Objects {
        group: &attempt.resource.group,
        resource: &attempt.resource.plural,
        subresource: attempt.part.subresource(),
        namespace: object.namespace(),
        name: object.name(),
    };
    let decision = attempt.look.decide(attempt.user, &Attributes::objects("delete", wanted))?;
    if decision.is_allowed() {
        return Ok(());
    }
    let why = format!("cannot set an ownerRef on a resource you can't delete: {}, <nil>", decision.reason());
    Err(attempt.forbidden(object, &why))
}

fn may_finalize_anything(attempt: &Attempt<'_>) -> Result<bool, ApiError> {
    let wanted = Objects { group: "*", resource: "*", subresource: "finalizers", namespace: "", name: "*" };
    Ok(attempt.look.decide(attempt.user, &Attributes::objects("update", wanted))?.is_allowed())
}

fn may_finalize(object: &Object, owner: &Value, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let word = |field: &str| owner[field].as_str().unwrap_or_default();
    let (version, kind) = (word("apiVersion"), word("kind"));
    let Some(resource) = attempt.look.resource_of(version, kind) else {
        let missing = format!("no matches for kind {kind:?} in version {version:?}");
        let why = format!(
            "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion {version} Kind \
             {kind}: {missing}"
        );
        return Err(attempt.forbidden(object, &why));
    };
    let wanted = Objects {
        group: &resource.group,
        resource: &resource.plural,
        subresource: "finalizers",
        namespace: if resource.namespaced { object.namespace() } else { "" },
        name: word("name"),
    };
    let decision = attempt.look.decide(attempt.user, &Attributes::objects("update", wanted))?;
    if decision.is_allowed() {
        return Ok(());
    }
    let why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on";
    Err(attempt.forbidden(object, &format!("{why}: {}, <nil>", decision.reason())))
}
