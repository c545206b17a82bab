//! Scripts of applies and updates: after each step the object and its owners, or the words of the refusal.

use apiserver::managed_fields::{ApplyError, FieldSet, Force, Kind, Schema, Writer};
use openapi::builtin::{Type, kind_in};
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::borrow::Cow;

/// The moment of the first step: 2001-01-01. Each later one is a second younger.
const EPOCH_SECS: i64 = 978_307_200;

struct OneVersion {
    ty: &'static Type,
    api_version: String,
    kind: String,
}

impl Kind for OneVersion {
    fn schema(&self, api_version: &str) -> Option<Schema<'_>> {
        (api_version == self.api_version).then(|| Schema::of_kind(self.ty))
    }

    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Cow<'a, Value>> {
        (api_version == self.api_version).then_some(Cow::Borrowed(object))
    }

    fn empty(&self, _: &str) -> Value {
        let mut empty = json!({"apiVersion": self.api_version, "kind": self.kind});
        openapi::normalize(&mut empty, self.ty);
        empty
    }
}

fn word<'a>(step: &'a Value, field: &str) -> &'a str {
    step[field].as_str().unwrap_or_default()
}

fn played(kind: &OneVersion, live: &Value, step: &Value, at: i64) -> Result<Value, ApplyError> {
    let subresource = word(step, "subresource");
    let reset = FieldSet::of(if subresource.is_empty() { &[&["status"]] } else { &[&["spec"]] });
    let now = Instant { seconds: EPOCH_SECS + at, nanos: 0 };
    let writer =
        Writer { kind, name: word(step, "manager"), api_version: &kind.api_version, subresource, reset: &reset, now };
    let mut new = step["object"].clone();
    if step["op"] == "apply" {
        let force = if step["force"] == true { Force::Yes } else { Force::No };
        new = writer.apply(live, &new, force)?;
    } else {
        // An empty list of owners would be lost, and an empty owner says the same.
        let reset = new["metadata"]["managedFields"].as_array().is_some_and(Vec::is_empty);
        openapi::normalize(&mut new, kind.ty);
        if reset {
            new["metadata"]["managedFields"] = json!([{}]);
        }
        writer.update(live, &mut new);
    }
    openapi::normalize(&mut new, kind.ty);
    if new["metadata"]["uid"].is_null() {
        new["metadata"]["uid"] = json!("u");
    }
    Ok(new)
}

/// Go tells several errors of one object in any order; in the texts beside this file they are sorted.
fn in_order(message: &str) -> String {
    let Some((first, rest)) = message.split_once("errors:\n") else { return message.to_owned() };
    let mut lines: Vec<&str> = rest.split('\n').collect();
    lines.sort_unstable();
    format!("{first}errors:\n{}", lines.join("\n"))
}

/// The words of a refusal, with its causes in the order of the texts beside this file.
fn refusal(error: &ApplyError) -> (String, Vec<[String; 2]>) {
    let mut causes: Vec<[String; 2]> = match error {
        ApplyError::Conflicts(found) => {
            found.causes.iter().map(|cause| [cause.field.clone(), cause.message.clone()]).collect()
        }
        _ => Vec::new(),
    };
    causes.sort_by_key(|[field, message]| format!("{message}{field}"));
    (in_order(&error.to_string()), causes)
}

#[test]
fn objects_are_applied_as_in_go() {
    let (mut wrong, mut steps_seen) = (Vec::new(), 0);
    for [what, steps] in super::lines("applies.txt") {
        let (api_version, kind) = what.split_once(' ').expect("a version and a kind");
        let ty = kind_in(api_version, kind).expect("a built-in kind");
        let kind = OneVersion { ty, api_version: api_version.to_owned(), kind: kind.to_owned() };
        let steps: Vec<Value> = serde_json::from_str(&steps).expect("JSON");
        let mut live = kind.empty(api_version);
        for (at, step) in (0..).zip(&steps) {
            steps_seen += 1;
            let (found, expected) = match played(&kind, &live, step, at) {
                Ok(object) => (object, step["result"].clone()),
                Err(error) => {
                    let (message, causes) = refusal(&error);
                    let expected = json!([step["message"], step.get("causes").unwrap_or(&json!([]))]);
                    (json!([message, causes]), expected)
                }
            };
            if found != expected {
                wrong.push(format!("{what} {at}\n  {live}\n  {step}\n  {found}\n  {expected}, expected"));
            }
            if step["result"].is_object() {
                live = step["result"].clone();
            }
        }
    }
    assert!(steps_seen > 500, "only {steps_seen}");
    assert!(wrong.is_empty(), "{}\n{} in all of {steps_seen}", wrong.join("\n"), wrong.len());
}
