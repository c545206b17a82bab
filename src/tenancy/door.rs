//! Who may enter a workspace at all: the verb `access` on `/`, and the groups that a workspace requires.

use super::identity::is_local_account;
use super::words::{HOME, ITSELF, LOGICAL_CLUSTERS, REQUIRED_GROUPS, collection};
use apiserver::attend::Visit;
use apiserver::auth::{Attributes, User};
use apiserver::error::ApiError;
use apiserver::object::Peek;
use std::borrow::Cow;

const LOGICAL_CLUSTER_ADMIN: &str = "system:kcp:logical-cluster-admin";
const EXTERNAL_ADMIN: &str = "system:kcp:external-logical-cluster-admin";
/// These need not be in the groups that a workspace requires.
const ALWAYS: [&str; 3] = ["system:kcp:admin", "system:kcp:tenancy:workspace-bootstrapper", EXTERNAL_ADMIN];

/// Phases in which there is nothing to enter yet.
const SHUT: [&str; 2] = ["", "Scheduling"];

/// Whether somebody may enter.
pub(super) fn admits(visit: &Visit<'_>) -> Result<bool, ApiError> {
    // The workspace of those who name none is like any Kubernetes: its rules alone decide.
    if visit.workspace.as_str() == HOME || is_any_in(visit.standing, LOGICAL_CLUSTER_ADMIN) {
        return Ok(true);
    }
    let itself = collection(visit.around, LOGICAL_CLUSTERS, visit.workspace)?.object(ITSELF);
    let Some(bytes) = visit.around.bytes(&itself)? else { return Ok(false) };
    let itself = Peek::of(&bytes);
    if SHUT.contains(&&*itself.text(&["status", "phase"]).unwrap_or_default()) {
        return Ok(false);
    }
    let required = itself.text(&["metadata", "annotations", REQUIRED_GROUPS]);
    if required.is_some_and(|required| !belongs(visit.standing, &required)) {
        return Ok(false);
    }
    let access = Attributes::path("access", "/");
    Ok(visit.standing.iter().any(|user| is_local_account(user) || visit.rules.allows(user, &access)))
}

fn is_any_in(standing: &[Cow<'_, User>], group: &str) -> bool {
    standing.iter().any(|user| user.is_in(group))
}

/// `a,b;c`: members of both `a` and `b`, or of `c`. Accounts are nobody's members.
fn belongs(standing: &[Cow<'_, User>], required: &str) -> bool {
    let is_account =
        |user: &Cow<'_, User>| is_local_account(user) || user.name.starts_with("system:kcp:serviceaccount:");
    standing.iter().any(is_account)
        || ALWAYS.iter().any(|group| is_any_in(standing, group))
        || required.split(';').any(|all| all.split(',').all(|group| is_any_in(standing, group)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_required_together_or_instead_of_each_other() {
        let check = |groups: &[&str], required: &str, expected: bool| {
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            let standing = [Cow::Owned(User::authenticated("ada", groups))];
            assert_eq!(belongs(&standing, required), expected, "{required}");
        };
        check(&["a", "b"], "a,b;c", true);
        check(&["c"], "a,b;c", true);
        check(&["a"], "a,b;c", false);
        check(&[], "", false);
        check(&["system:kcp:admin"], "a", true);
        let account = [Cow::Owned(User::authenticated("system:serviceaccount:n:a", Vec::new()))];
        assert!(belongs(&account, "a"));
    }
}
