//! Certificates for those whose request was approved: signed, or said why not.

use super::signers::{Signer, lasts};
use crate::controller::{Action, Controller, Reconciler, changes_of};
use apiserver::auth::uri_of_workspace;
use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::object::{Object, timestamp};
use apiserver::place::Workspace;
use apiserver::strategy::Part;
use certs::{Authority, Request, RequestFlaw, Validity};
use openapi::scalar::base64;
use openapi::scalar::time::Instant;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(super) const REQUESTS: (&str, &str, &str) = ("certificates.k8s.io", "v1", "certificatesigningrequests");

/// Who signs, and for how long at most.
#[derive(Clone, Debug)]
pub struct Signing {
    pub authority: Arc<Authority>,
    pub lasts_max: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RequestKey {
    workspace: Workspace,
    name: String,
}

impl RequestKey {
    fn of(seen: &Seen) -> Option<Self> {
        let Parts { workspace, name, .. } = keyspace::parse(&seen.key)?;
        Some(Self { workspace: Workspace::new(workspace), name: name.to_owned() })
    }
}

pub(super) fn controller(client: &Client, signing: Signing) -> Controller<Signatures> {
    let reconciler = Signatures { client: client.clone(), signing };
    Controller::new(reconciler).source(changes_of(client, REQUESTS, RequestKey::of))
}

pub(super) struct Signatures {
    client: Client,
    signing: Signing,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// It is not for us, or there is nothing to do.
    Leave,
    Sign(Box<(Request, certs::Grant, Duration)>),
    Fail(String),
}

pub(super) fn has(request: &Object, kind: &str) -> bool {
    request.items(&["status", "conditions"]).any(|condition| condition["type"] == kind && condition["status"] == "True")
}

fn decide(request: &Object, workspace: &Workspace, lasts_max: Duration) -> Verdict {
    let Some(signer) = Signer::named(request.text(&["spec", "signerName"])) else { return Verdict::Leave };
    let waits = has(request, "Approved") && !has(request, "Denied") && !has(request, "Failed");
    if !waits || !request.text(&["status", "certificate"]).is_empty() || request.is_deleting() {
        return Verdict::Leave;
    }
    let pem = base64::decode(request.text(&["spec", "request"])).unwrap_or_default();
    let asked = match Request::parse(&pem) {
        Ok(asked) => asked,
        Err(flaw) => return Verdict::Fail(RequestFlaw::to_string(&flaw)),
    };
    let usages: Vec<&str> = request.items(&["spec", "usages"]).filter_map(Value::as_str).collect();
    let secs = request.pointer(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
    match signer.judge(&asked, &usages, &uri_of_workspace(workspace)) {
        Ok(grant) => Verdict::Sign(Box::new((asked, grant, lasts(secs, lasts_max)))),
        Err(why) => Verdict::Fail(why),
    }
}

fn failed(request: &Object, why: &str, now: Instant) -> Value {
    let mut conditions: Vec<Value> = request.items(&["status", "conditions"]).cloned().collect();
    conditions.push(json!({
        "type": "Failed", "status": "True", "reason": "SignerValidationFailure", "message": why,
        "lastUpdateTime": timestamp(now),
    }));
    json!({ "conditions": conditions })
}

impl Signatures {
    /// What is written into the status; nothing if it stays.
    fn status(&self, request: &Object, workspace: &Workspace) -> Option<Value> {
        let now = self.client.ambient().now();
        let (asked, grant, lasts) = match decide(request, workspace, self.signing.lasts_max) {
            Verdict::Leave => return None,
            Verdict::Fail(why) => return Some(failed(request, &why, now)),
            Verdict::Sign(granted) => *granted,
        };
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(now.seconds).unwrap_or_default());
        match self.signing.authority.sign(&asked, &grant, Validity { now: at, lasts }) {
            Ok(certificate) => Some(json!({ "certificate": base64::encode(certificate.as_bytes()) })),
            Err(error) => Some(failed(request, &error.to_string(), now)),
        }
    }
}

impl Reconciler for Signatures {
    type Key = RequestKey;

    fn name(&self) -> &'static str {
        "signing"
    }

    async fn reconcile(&self, key: &RequestKey) -> Result<Action, ApiError> {
        let place = self.client.at(REQUESTS, &key.workspace, None)?.object(&key.name);
        let Some(request) = self.client.get(&place).await? else { return Ok(Action::Done) };
        let Some(status) = self.status(&request, &key.workspace) else { return Ok(Action::Done) };
        let patch = json!({
            "metadata": { "uid": request.uid(), "resourceVersion": request.resource_version() },
            "status": status,
        });
        match self.client.merge(&place, Part::Status, &patch).await {
            Err(error) if error.code() != 404 => Err(error),
            _ => Ok(Action::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl Fn(&mut Value), expected: &Verdict) {
        let mut tree = json!({
            "metadata": { "name": "r" },
            "spec": { "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"], "request": "" },
            "status": { "conditions": [{ "type": "Approved", "status": "True" }] },
        });
        change(&mut tree);
        let request = Object::try_from(tree).unwrap();
        assert_eq!(&decide(&request, &Workspace::new("w"), Duration::from_hours(1)), expected, "{request:?}");
    }

    #[test]
    fn only_approved_requests_to_our_own_signers_are_looked_at() {
        check(|_| {}, &Verdict::Fail("PEM block type must be CERTIFICATE REQUEST".to_owned()));
        check(|tree| tree["spec"]["signerName"] = "example.com/other".into(), &Verdict::Leave);
        check(|tree| tree["status"] = json!({}), &Verdict::Leave);
        check(|tree| tree["status"]["conditions"][0]["status"] = "False".into(), &Verdict::Leave);
        check(|tree| tree["status"]["certificate"] = "YQ==".into(), &Verdict::Leave);
        for verdict in ["Denied", "Failed"] {
            let more = json!({ "type": verdict, "status": "True" });
            let add = |tree: &mut Value| tree["status"]["conditions"].as_array_mut().unwrap().push(more.clone());
            check(add, &Verdict::Leave);
        }
    }
}
