//! Nobody gives what they do not have: what is asked of those who write roles and bindings.

use super::attributes::{Attributes, Objects};
use super::binding::RoleRef;
use super::cover::{described, missing, quoted};
use super::rule::Rule;
use super::rules::{RoleError, Rules, aggregate};
use super::{MASTERS, User};
use crate::object::Object;
use serde::Deserialize;
use serde_json::Value;

pub const GROUP: &str = "rbac.authorization.k8s.io";

/// A role or binding that somebody wants to write.
#[derive(Clone, Copy, Debug)]
pub struct Grant<'a> {
    /// The plural of the resource.
    pub resource: &'a str,
    pub namespace: Option<&'a str>,
    /// As the path of the request says it: nothing for one that is made.
    pub name: &'a str,
    pub new: &'a Object,
    pub old: Option<&'a Object>,
}

/// Why somebody may not write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Escalation {
    #[error("{0}")]
    NotHeld(String),
    #[error("must have cluster-admin privileges to use the aggregationRule")]
    Aggregation,
    #[error(transparent)]
    Role(#[from] RoleError),
}

/// Whether what a role or binding would give is the user's to give.
pub fn confirm(rules: &Rules, user: &User, grant: &Grant<'_>) -> Result<(), Escalation> {
    if user.is_in(MASTERS) || grant.old.is_some_and(|old| is_about_collection_only(grant.new, old)) {
        return Ok(());
    }
    match grant.resource {
        "roles" | "clusterroles" => confirm_role(rules, user, grant),
        "rolebindings" | "clusterrolebindings" => confirm_binding(rules, user, grant),
        _ => Ok(()),
    }
}

fn confirm_role(rules: &Rules, user: &User, grant: &Grant<'_>) -> Result<(), Escalation> {
    let namespace = grant.namespace.unwrap_or_default();
    let role = Objects { group: GROUP, resource: grant.resource, namespace, name: grant.name, subresource: "" };
    if rules.allows(user, &Attributes::objects("escalate", role)) {
        return Ok(());
    }
    let wanted: Vec<Rule> = read(grant.new, "rules");
    held(rules, user, namespace, &wanted)?;
    // It can gather anything.
    if [Some(grant.new), grant.old].into_iter().flatten().any(aggregates) {
        held(rules, user, namespace, &Rule::full_authority()).map_err(|_| Escalation::Aggregation)?;
    }
    Ok(())
}

fn confirm_binding(rules: &Rules, user: &User, grant: &Grant<'_>) -> Result<(), Escalation> {
    let namespace = grant.namespace.unwrap_or_default();
    let role: RoleRef = read(grant.new, "roleRef");
    let resource = match &*role.kind {
        "ClusterRole" => "clusterroles",
        "Role" => "roles",
        _ => "",
    };
    let group = if role.group.is_empty() { GROUP } else { &role.group };
    let bound = Objects { group, resource, namespace, name: &role.name, subresource: "" };
    if !resource.is_empty() && rules.allows(user, &Attributes::objects("bind", bound)) {
        return Ok(());
    }
    held(rules, user, namespace, &rules.role(&role, grant.namespace)?)
}

fn held(rules: &Rules, user: &User, namespace: &str, wanted: &[Rule]) -> Result<(), Escalation> {
    let (own, trouble) = rules.held(user, namespace);
    let missing = missing(&own, wanted);
    if missing.is_empty() {
        return Ok(());
    }
    let (name, groups, lines) = (&user.name, quoted(&user.groups), described(&missing).join("\n"));
    let mut told =
        format!("user {name:?} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{lines}");
    if !trouble.is_empty() {
        told.push_str(&format!("; resolution errors: [{}]", aggregate(&trouble)));
    }
    Err(Escalation::NotHeld(told))
}

/// A part of an object that may not be valid yet: what cannot be read gives nothing, and is refused later.
fn read<T: Default + for<'de> Deserialize<'de>>(object: &Object, field: &str) -> T {
    object.get(field).and_then(|tree| T::deserialize(tree).ok()).unwrap_or_default()
}

fn aggregates(role: &Object) -> bool {
    role.items(&["aggregationRule", "clusterRoleSelectors"]).next().is_some()
}

/// Only what lets an object go, or go with others, is different.
fn is_about_collection_only(new: &Object, old: &Object) -> bool {
    let mut new = new.clone();
    for field in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
        new.take_metadata_from(old, field);
    }
    let rest = |object: &Object| -> Vec<(String, Value)> {
        let all = object.map().iter().filter(|(_, value)| !is_nothing(value));
        all.map(|(key, value)| (key.clone(), value.clone())).collect()
    };
    rest(&new) == rest(old)
}

fn is_nothing(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}
