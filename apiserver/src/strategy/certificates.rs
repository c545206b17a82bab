//! Requests for certificates: who asks is what the server saw, and approval has a door of its own.

use crate::auth::User;
use crate::object::Object;
use serde_json::{Value, json};

pub(super) fn prepare_create(object: &mut Object, user: &User) {
    if let Some(Value::Object(spec)) = object.map_mut().get_mut("spec") {
        for field in ["uid", "extra"] {
            spec.remove(field);
        }
        spec.insert("username".to_owned(), user.name.as_str().into());
        spec.insert("groups".to_owned(), json!(user.groups));
        if !user.uid.is_empty() {
            spec.insert("uid".to_owned(), user.uid.as_str().into());
        }
    }
}

fn is_verdict(condition: &Value) -> bool {
    matches!(condition.get("type").and_then(Value::as_str), Some("Approved" | "Denied"))
}

fn conditions(object: &Object) -> Vec<Value> {
    object.pointer(&["status", "conditions"]).and_then(Value::as_array).cloned().unwrap_or_default()
}

fn set_conditions(object: &mut Object, conditions: Vec<Value>) {
    let status = object.map_mut().entry("status").or_insert_with(|| json!({}));
    if let Value::Object(status) = status {
        status.insert("conditions".to_owned(), Value::Array(conditions));
    }
}

/// Whoever writes the status cannot approve by it.
pub(super) fn keep_approval(new: &mut Object, old: &Object) {
    let theirs = conditions(old).into_iter().filter(is_verdict);
    let ours = conditions(new).into_iter().filter(|condition| !is_verdict(condition));
    let all: Vec<Value> = theirs.chain(ours).collect();
    if !all.is_empty() {
        set_conditions(new, all);
    }
}

/// Whoever approves changes nothing but conditions.
pub(super) fn keep_all_but_approval(new: &mut Object, old: &Object) {
    let wanted = conditions(new);
    new.take_from(old, "spec");
    new.take_from(old, "status");
    if !wanted.is_empty() {
        set_conditions(new, wanted);
    }
}
