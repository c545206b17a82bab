//! `ResourceQuota`: a namespace uses no more than it may, or a whole workspace.
//!
//! What is used is counted from the objects that are there, at the revision that the write is decided on or later. Each
//! quota that an object counts against is written together with it, and only if nobody else did in the meantime: of two
//! writers that would both fit alone, the second one counts again.

use super::Attempt;
use super::usage;
use crate::amount::{Amounts, add, amounts, to_value};
use crate::error::ApiError;
use crate::object::{Object, child};
use crate::strategy::Part;
use serde_json::Value;

/// The annotation of a quota that is for the whole workspace, and the namespace that such quotas are in.
const WIDE: &str = "experimental.quota.kcp.io/cluster-scoped";
pub const WIDE_IN: &str = "admin";

/// Whether a quota counts what is in all namespaces of its workspace, and in none.
pub fn is_wide(quota: &Object) -> bool {
    quota.namespace() == WIDE_IN && quota.annotation(WIDE) == Some("true")
}

/// The quotas as they are once the object is written; empty where none is about it.
pub fn charge(object: &Object, attempt: &Attempt<'_>) -> Result<Vec<Object>, ApiError> {
    if attempt.resource.plural == "events" || !counts(object, attempt) {
        return Ok(Vec::new());
    }
    let in_namespace = |namespace: &str| attempt.look.all(("", "resourcequotas"), namespace);
    let own = Some(object.namespace()).filter(|namespace| attempt.resource.namespaced && *namespace != WIDE_IN);
    let mut quotas = own.map_or_else(|| Ok(Vec::new()), in_namespace)?;
    let is_here = attempt.resource.namespaced && object.namespace() == WIDE_IN;
    quotas.extend(in_namespace(WIDE_IN)?.into_iter().filter(|quota| is_here || is_wide(quota)));
    let mut concerned: Vec<(Object, Amounts)> = Vec::new();
    for quota in quotas {
        let mut hard = amounts(quota.pointer(&["spec", "hard"]));
        hard.retain(|name, _| usage::concerns(attempt.resource, name));
        if !hard.is_empty() && usage::is_in_scope(&quota, attempt.resource, object) {
            check_said(&quota, &hard, object, attempt)?;
            concerned.push((quota, hard));
        }
    }
    let mut charged = Vec::new();
    for (mut quota, hard) in concerned {
        if charge_one(&mut quota, &hard, object, attempt)? {
            charged.push(quota);
        }
    }
    Ok(charged)
}

/// Some changes cannot use any more than before.
fn counts(object: &Object, attempt: &Attempt<'_>) -> bool {
    let Some(old) = attempt.old else { return true };
    if !attempt.resource.group.is_empty() {
        return false;
    }
    let has_deadline = |pod: &Object| pod.pointer(&["spec", "activeDeadlineSeconds"]).is_some();
    match (&*attempt.resource.plural, attempt.part) {
        ("pods", Part::Main) => has_deadline(object) != has_deadline(old),
        ("pods", part) => part == Part::Resize,
        ("services" | "persistentvolumeclaims", part) => part == Part::Main,
        _ => false,
    }
}

fn check_said(quota: &Object, hard: &Amounts, object: &Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    let names: Vec<&str> = hard.keys().map(String::as_str).collect();
    let is_pod = attempt.is_about("", "pods");
    match is_pod.then(|| usage::unsaid(object, &names)).flatten() {
        Some(why) => Err(attempt.forbidden(object, &format!("failed quota: {}: {why}", quota.name()))),
        None => Ok(()),
    }
}

fn charge_one(quota: &mut Object, hard: &Amounts, object: &Object, attempt: &Attempt<'_>) -> Result<bool, ApiError> {
    let requested = requested(quota, object, attempt, hard);
    if requested.is_empty() {
        return Ok(false);
    }
    let used = attempt.look.used(quota, attempt.resource, attempt.ambient.now())?.into_used();
    let exceeded: Vec<&String> =
        requested.iter().filter(|(name, more)| used[*name].plus(**more) > hard[*name]).map(|(name, _)| name).collect();
    if !exceeded.is_empty() {
        let list = |of: &Amounts| {
            let parts: Vec<String> = exceeded.iter().map(|name| format!("{name}={}", of[*name])).collect();
            parts.join(",")
        };
        let (wanted, used, hard) = (list(&requested), list(&used), list(hard));
        let why = format!("exceeded quota: {}, requested: {wanted}, used: {used}, limited: {hard}", quota.name());
        return Err(attempt.forbidden(object, &why));
    }
    record(quota, used, &requested);
    Ok(true)
}

/// What the write adds, of what is limited.
fn requested(quota: &Object, object: &Object, attempt: &Attempt<'_>, hard: &Amounts) -> Amounts {
    let (resource, now) = (attempt.resource, attempt.ambient.now());
    let mut requested = usage::of(resource, object, now);
    if let Some(old) = attempt.old.filter(|old| usage::is_in_scope(quota, resource, old)) {
        for (name, before) in usage::of(resource, old, now) {
            requested.entry(name).and_modify(|amount| *amount = amount.minus(before));
        }
    }
    requested.retain(|name, amount| hard.contains_key(name) && !amount.is_zero());
    requested
}

fn record(quota: &mut Object, mut used: Amounts, requested: &Amounts) {
    add(&mut used, requested);
    let hard = quota.pointer(&["spec", "hard"]).cloned().unwrap_or_default();
    let status = child(quota.map_mut(), "status");
    status.insert("hard".to_owned(), hard);
    let Value::Object(used) = to_value(&used) else { return };
    child(status, "used").extend(used);
}
