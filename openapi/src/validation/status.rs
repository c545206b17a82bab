//! Conditions, as many kinds report them.

use std::collections::HashSet;

use super::tree::{Errors, Node};
use super::{names, selector};

const REASON_BYTES_MAX: usize = 1024;
const MESSAGE_BYTES_MAX: usize = 32 * 1024;
const STATES: [&str; 3] = ["False", "True", "Unknown"];

/// Conditions of the form that all kinds should have.
pub(super) fn conditions(errors: &mut Errors, list: &Node) {
    let mut seen = HashSet::new();
    for condition in list.items() {
        let (kind, status, reason) = (condition.at("type"), condition.at("status"), condition.at("reason"));
        if !seen.insert(kind.text()) {
            errors.duplicate(&condition, kind.text());
        }
        if kind.is_empty() {
            errors.required(&kind, "is required");
        } else {
            selector::label_name(errors, &kind);
        }
        errors.one_of(&status, &STATES);
        if condition.at("observedGeneration").int() < 0 {
            errors.invalid(&condition.at("observedGeneration"), "must be greater than or equal to zero");
        }
        if !condition.at("lastTransitionTime").exists() {
            errors.required(&condition.at("lastTransitionTime"), "");
        }
        if reason.is_empty() {
            errors.required(&reason, "");
        } else {
            errors.refuse(&reason, names::condition_reason(reason.text()));
            if reason.len() > REASON_BYTES_MAX {
                errors.too_long(&reason, REASON_BYTES_MAX);
            }
        }
        if condition.at("message").len() > MESSAGE_BYTES_MAX {
            errors.too_long(&condition.at("message"), MESSAGE_BYTES_MAX);
        }
    }
}

/// Conditions of which only the type counts.
pub(super) fn typed_conditions(errors: &mut Errors, new: &Node, _old: &Node) {
    let mut seen = HashSet::new();
    for kind in new.at("status").at("conditions").items().map(|condition| condition.at("type")) {
        if !seen.insert(kind.text()) {
            errors.duplicate(&kind, kind.text());
        }
        if kind.is_empty() {
            errors.required(&kind, "");
        }
    }
}
