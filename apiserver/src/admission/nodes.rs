//! `TaintNodesByCondition`: nothing is put on a new node before somebody has found it ready.

use super::Attempt;
use crate::error::ApiError;
use crate::object::{Object, list};
use serde_json::json;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const EFFECT: &str = "NoSchedule";

pub(super) fn taint_new(node: &mut Object, attempt: &Attempt<'_>) -> Result<(), ApiError> {
    if attempt.makes("", "nodes") {
        let taints = list(node.spec_mut(), "taints");
        if !taints.iter().any(|taint| taint["key"] == NOT_READY && taint["effect"] == EFFECT) {
            taints.push(json!({ "key": NOT_READY, "effect": EFFECT }));
        }
    }
    Ok(())
}
