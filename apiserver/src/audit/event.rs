//! One line of the record: who wanted what, and what became of it.

use super::policy::{Level, Stage, Verdict};
use crate::auth::{Attributes, User, What};
use crate::object::precise;
use bytes::Bytes;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};

/// Bodies that are longer are left out: a record that can be filled at will is no record.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// A request that is being written down.
#[derive(Debug)]
pub struct Record {
    pub(super) verdict: Verdict,
    event: Value,
    secret: bool,
}

/// What is known of a request before it is answered.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    pub id: &'a str,
    /// As it was asked for, the workspace included.
    pub uri: &'a str,
    pub agent: &'a str,
    pub user: &'a User,
    /// Who they act as.
    pub acting: Option<&'a User>,
    pub wanted: &'a Attributes<'a>,
    pub version: &'a str,
    pub received: Instant,
}

impl Record {
    pub(super) fn new(verdict: Verdict, about: About<'_>) -> Self {
        let About { id, uri, agent, user, acting, wanted, version, received } = about;
        let mut event = json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": verdict.level.word(), "auditID": id,
            "requestURI": uri, "verb": wanted.verb, "user": described(user), "userAgent": agent,
            "requestReceivedTimestamp": precise(received),
        });
        if let Some(acting) = acting {
            event["impersonatedUser"] = described(acting);
        }
        let mut secret = false;
        if let What::Objects(objects) = &wanted.what {
            let mut place = json!({ "resource": objects.resource, "apiVersion": version });
            let parts = [
                ("namespace", objects.namespace),
                ("name", objects.name),
                ("apiGroup", objects.group),
                ("subresource", objects.subresource),
            ];
            for (field, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
                place[field] = value.into();
            }
            event["objectRef"] = place;
            secret = is_secret(objects.group, objects.resource, objects.subresource);
        }
        Self { verdict, event, secret }
    }

    /// Whether what was sent is to be kept until then.
    pub fn wants_request(&self) -> bool {
        self.verdict.level >= Level::Request && !self.secret
    }

    pub fn wants_response(&self) -> bool {
        self.verdict.level >= Level::RequestResponse && !self.secret
    }

    pub fn request(&mut self, body: &Bytes) {
        self.body("requestObject", body);
    }

    pub fn response(&mut self, body: &Bytes) {
        self.body("responseObject", body);
    }

    fn body(&mut self, field: &str, body: &Bytes) {
        if body.is_empty() || body.len() > BODY_BYTES_MAX {
            return;
        }
        // What is not JSON is not written down: nobody could read it.
        let Ok(mut object) = serde_json::from_slice::<Value>(body) else { return };
        if self.verdict.without_owners
            && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("managedFields");
        }
        self.event[field] = object;
    }

    /// The line for a stage; nothing if nobody wants it.
    pub(super) fn line(&self, stage: Stage, code: Option<u16>, now: Instant) -> Option<String> {
        if self.verdict.omitted.contains(&stage) {
            return None;
        }
        let mut event = self.event.clone();
        event["stage"] = json!(match stage {
            Stage::RequestReceived => "RequestReceived",
            Stage::ResponseStarted => "ResponseStarted",
            Stage::ResponseComplete => "ResponseComplete",
            Stage::Panic => "Panic",
        });
        event["stageTimestamp"] = precise(now);
        if let Some(code) = code {
            event["responseStatus"] = json!({ "metadata": {}, "code": code });
        }
        Some(event.to_string())
    }
}

/// What is never written down, whatever the policy says.
fn is_secret(group: &str, resource: &str, subresource: &str) -> bool {
    matches!((group, resource, subresource), ("", "secrets", _) | ("", "serviceaccounts", "token"))
        || (group, resource) == ("authentication.k8s.io", "tokenreviews")
}

fn described(user: &User) -> Value {
    let mut told = json!({ "username": user.name, "groups": user.groups });
    if !user.uid.is_empty() {
        told["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        told["extra"] = json!(user.extra);
    }
    told
}
