//! Which policy speaks for an object: exactly one, and it keeps it.

use super::policy::Policy;
use crate::scheduler::rule::Strength;
use serde_json::Value;
use std::cmp::Reverse;

/// `held` are the names of rules that had the object before. One of them that is a policy keeps it for as long as it speaks
/// for it, unless another may take it. Policies of the object's namespace come before those of the whole cluster; then the
/// higher priority, the closer description, the first name.
pub fn claim<'p>(
    object: &Value,
    policies: impl Iterator<Item = &'p Policy> + Clone,
    held: &[&str],
) -> Option<&'p Policy> {
    let matching = || policies.clone().filter_map(|policy| Some((policy, policy.rule.strength(object, "")?)));
    let holder = matching().map(|(policy, _)| policy).find(|policy| held.contains(&policy.rule.name.as_str()));
    let Some(holder) = holder else { return matching().min_by_key(rank).map(|(policy, _)| policy) };
    let taker = matching().filter(|(policy, _)| takes(policy, holder)).min_by_key(rank);
    Some(taker.map_or(holder, |(policy, _)| policy))
}

fn rank<'p>((policy, strength): &(&'p Policy, Strength)) -> (bool, Reverse<i64>, Reverse<Strength>, &'p str) {
    (policy.namespace.is_none(), Reverse(policy.priority), Reverse(*strength), &policy.name)
}

/// One of a namespace takes from any of the whole cluster; otherwise the priority has to be higher.
fn takes(policy: &Policy, holder: &Policy) -> bool {
    let above = match (&policy.namespace, &holder.namespace) {
        (Some(_), None) => true,
        (None, Some(_)) => false,
        _ => policy.priority > holder.priority,
    };
    policy.preempts && above
}
