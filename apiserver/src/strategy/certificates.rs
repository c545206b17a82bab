//! Requests for certificates: who asks is what the server saw, and approval has a door of its own.

use crate::auth::User;
use crate::object::{Object, child, timestamp};
use openapi::FieldError;
use openapi::scalar::base64;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::pem::Pem;
use x509_parser::prelude::FromDer;

pub(super) fn prepare_create(object: &mut Object, user: &User) {
    let spec = object.spec_mut();
    for field in ["uid", "extra"] {
        spec.remove(field);
    }
    if !user.extra.is_empty() {
        spec.insert("extra".to_owned(), json!(user.extra));
    }
    spec.insert("username".to_owned(), user.name.as_str().into());
    spec.insert("groups".to_owned(), json!(user.groups));
    if !user.uid.is_empty() {
        spec.insert("uid".to_owned(), user.uid.as_str().into());
    }
}

/// What is wrong with a request that has the right words around it, but is none.
pub fn check_request(object: &Object) -> Option<FieldError> {
    let pem = base64::decode(object.text(&["spec", "request"])).unwrap_or_default();
    let block = Pem::iter_from_buffer(&pem).next()?.ok();
    let is_one = |der: &[u8]| X509CertificationRequest::from_der(der).is_ok_and(|(rest, _)| rest.is_empty());
    if block.is_some_and(|block| block.label == "CERTIFICATE REQUEST" && is_one(&block.contents)) {
        return None;
    }
    Some(FieldError::invalid("spec.request", "<PEM>", "it is not a certificate request (PKCS#10)"))
}

fn conditions(object: &Object) -> Vec<Value> {
    object.items(&["status", "conditions"]).cloned().collect()
}

fn set_conditions(object: &mut Object, conditions: Vec<Value>) {
    if !conditions.is_empty() {
        child(object.map_mut(), "status").insert("conditions".to_owned(), Value::Array(conditions));
    }
}

/// Whoever writes the status changes no verdict that is there; one that is added or taken away is for validation to
/// refuse.
pub(super) fn keep_approval(new: &mut Object, old: &Object, now: Instant) {
    let (mut ours, theirs) = (conditions(new), conditions(old));
    for verdict in ["Approved", "Denied"] {
        let of_kind = |condition: &&Value| condition["type"] == verdict;
        let kept: Vec<Value> = theirs.iter().filter(of_kind).cloned().collect();
        if kept.len() == ours.iter().filter(of_kind).count() {
            let places = ours.iter_mut().filter(|condition| condition["type"] == verdict);
            places.zip(kept).for_each(|(place, kept)| *place = kept);
        }
    }
    set_times(&mut ours, &theirs, now);
    set_conditions(new, ours);
}

/// Whoever approves changes nothing but conditions.
pub(super) fn keep_all_but_approval(new: &mut Object, old: &Object, now: Instant) {
    let mut wanted = conditions(new);
    set_times(&mut wanted, &conditions(old), now);
    new.take_from(old, "spec");
    new.take_from(old, "status");
    child(new.map_mut(), "status").remove("conditions");
    set_conditions(new, wanted);
}

/// A condition without times is of now; it began with the last one of its kind and status.
fn set_times(conditions: &mut [Value], before: &[Value], now: Instant) {
    let is_unset = |condition: &Value, field: &str| condition[field].as_str().unwrap_or_default().is_empty();
    for condition in conditions.iter_mut().filter(|condition| condition.is_object()) {
        if is_unset(condition, "lastUpdateTime") {
            condition["lastUpdateTime"] = timestamp(now);
        }
        if is_unset(condition, "lastTransitionTime") {
            let mut same = before.iter().filter(|old| {
                old["type"] == condition["type"]
                    && old["status"] == condition["status"]
                    && !is_unset(old, "lastTransitionTime")
            });
            condition["lastTransitionTime"] =
                same.next().map_or_else(|| timestamp(now), |old| old["lastTransitionTime"].clone());
        }
    }
}
