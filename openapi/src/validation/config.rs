//! ConfigMap, Secret, Namespace and ServiceAccount.

use serde_json::Value;

use super::meta;
use super::names;
use super::tree::{Errors, Node};
use crate::scalar::base64;

/// What a ConfigMap or a Secret may hold.
const BYTES_MAX: usize = 1024 * 1024;
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

pub(super) fn config_map(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let (data, binary) = (object.at("data"), object.at("binaryData"));
    let mut bytes = 0;
    for (key, value) in data.entries() {
        bytes += value.len();
        key_problems(errors, &value, key);
        if binary.value().get(key).is_some() {
            errors.invalid_value(&value, key, "duplicate of key present in binaryData");
        }
    }
    for (key, value) in binary.entries() {
        bytes += decoded_len(&value);
        key_problems(errors, &value, key);
    }
    if bytes > BYTES_MAX {
        errors.too_long(&Node::nowhere(""), BYTES_MAX);
    }
}

fn key_problems(errors: &mut Errors, at: &Node, key: &str) {
    for message in names::config_key(key) {
        errors.invalid_value(at, key, message);
    }
}

fn decoded_len(value: &Node) -> usize {
    value.text().trim_end_matches('=').len() * 3 / 4
}

pub(super) fn config_map_update(errors: &mut Errors, new: &Node, old: &Node) {
    frozen(errors, new, old, &["data", "binaryData"]);
}

fn frozen(errors: &mut Errors, new: &Node, old: &Node, fields: &[&'static str]) {
    if !old.at("immutable").is_true() {
        return;
    }
    if !new.at("immutable").is_true() {
        errors.forbidden(&new.at("immutable"), IMMUTABLE);
    }
    for name in fields {
        if !new.at(name).same(&old.at(name)) {
            errors.forbidden(&new.at(name), IMMUTABLE);
        }
    }
}

pub(super) fn secret(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let data = object.at("data");
    let mut bytes = 0;
    for (key, value) in data.entries() {
        bytes += decoded_len(&value);
        key_problems(errors, &value, key);
    }
    if bytes > BYTES_MAX {
        errors.too_long(&data, BYTES_MAX);
    }
    secret_type(errors, object);
}

fn secret_type(errors: &mut Errors, object: &Node) {
    let data = object.at("data");
    let missing = |key: &str| data.value().get(key).is_none();
    match object.at("type").text() {
        "kubernetes.io/service-account-token" => {
            let account = object.at("metadata").at("annotations").key("kubernetes.io/service-account.name");
            if account.is_empty() {
                errors.required(&account, "");
            }
        }
        "kubernetes.io/dockercfg" => document(errors, &data.key(".dockercfg")),
        "kubernetes.io/dockerconfigjson" => document(errors, &data.key(".dockerconfigjson")),
        "kubernetes.io/basic-auth" if missing("username") && missing("password") => {
            errors.required(&data.key("username"), "");
            errors.required(&data.key("password"), "");
        }
        "kubernetes.io/ssh-auth" if data.key("ssh-privatekey").is_empty() => {
            errors.required(&data.key("ssh-privatekey"), "");
        }
        "kubernetes.io/tls" => {
            for key in ["tls.crt", "tls.key"].into_iter().filter(|key| missing(key)) {
                errors.required(&data.key(key), "");
            }
        }
        _ => {}
    }
}

/// A JSON object in base64. Its contents are not repeated.
fn document(errors: &mut Errors, at: &Node) {
    if !at.exists() {
        return errors.required(at, "");
    }
    let bytes = base64::decode(at.text()).unwrap_or_default();
    let problem = match serde_json::from_slice::<Value>(&bytes) {
        Ok(Value::Object(_) | Value::Null) => return,
        Ok(other) => {
            let word = match other {
                Value::Array(_) => "array",
                Value::String(_) => "string",
                Value::Bool(_) => "bool",
                _ => "number",
            };
            format!("json: cannot unmarshal {word} into Go value of type map[string]interface {{}}")
        }
        Err(error) if error.is_eof() => "unexpected end of JSON input".to_owned(),
        Err(error) => {
            let line = bytes.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
            let c = line.get(error.column().saturating_sub(1)).copied().map_or('\0', char::from);
            format!("invalid character {c:?} looking for beginning of value")
        }
    };
    errors.invalid_value(at, "<secret contents redacted>", problem);
}

pub(super) fn secret_update(errors: &mut Errors, new: &Node, old: &Node) {
    errors.immutable(&new.at("type"), &old.at("type"));
    frozen(errors, new, old, &["data"]);
}

pub(super) fn namespace(errors: &mut Errors, object: &Node, _old: Option<&Node>) {
    let finalizers = object.at("spec").at("finalizers");
    for finalizer in finalizers.items() {
        for message in names::qualified_name(finalizer.text()) {
            errors.invalid_value(&finalizers, finalizer.text(), message);
        }
        meta::finalizer_name(errors, &finalizers, finalizer.text());
    }
}

pub(super) fn namespace_status(errors: &mut Errors, new: &Node, _old: &Node) {
    let deleting = new.at("metadata").at("deletionTimestamp").exists();
    let phase = new.at("status").at("phase");
    let (expected, state) = if deleting { ("Terminating", "not empty") } else { ("Active", "empty") };
    if !phase.is(expected) {
        let detail = format!("may only be '{expected}' if `deletionTimestamp` is {state}");
        errors.invalid_value(&phase.called("Phase"), phase.text(), detail);
    }
}

/// What may not change when a namespace's own finalizers do.
pub(super) fn namespace_finalize(errors: &mut Errors, new: &Node, old: &Node) {
    meta::update(errors, new, old);
    for finalizer in new.at("spec").at("finalizers").items() {
        errors.refuse(&finalizer, names::qualified_name(finalizer.text()));
        meta::finalizer_name(errors, &finalizer, finalizer.text());
    }
}
