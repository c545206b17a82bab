//! Requests for certificates are forgotten: soon when all is said about them, after a day when nobody cared.

use super::signing::{REQUESTS, has};
use crate::controller::{Action, Controller, Reconciler};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::object::Object;
use apiserver::options::DeleteOptions;
use openapi::scalar::base64;
use openapi::scalar::time::{Instant, Precision};
use std::time::Duration;

/// Kubernetes' own: settled ones have been picked up by then, others will not be settled any more.
const SETTLED_SECS: i64 = 3600;
const PENDING_SECS: i64 = 24 * 3600;

pub(super) fn controller(client: &Client, sweep: Duration) -> Controller<Requests> {
    Controller::new(Requests { client: client.clone(), sweep }).first([()])
}

pub(super) struct Requests {
    client: Client,
    sweep: Duration,
}

impl Reconciler for Requests {
    type Key = ();

    fn name(&self) -> &'static str {
        "requests"
    }

    async fn reconcile(&self, (): &()) -> Result<Action, ApiError> {
        let (group, version, plural) = REQUESTS;
        let resource = self.client.builtin().find(group, version, plural).ok_or_else(ApiError::no_such_path)?;
        let now = self.client.ambient().now();
        for entry in self.client.scan_everywhere(resource) {
            let entry = entry?;
            let Ok(request) = Object::parse(&entry.version.value) else { continue };
            let Some(place) = self.client.place_of(&entry.key).filter(|_| is_over(&request, now)) else { continue };
            // One that was approved meanwhile stays.
            let resource_version = Some(entry.version.modified.to_string());
            let how = DeleteOptions { resource_version, ..DeleteOptions::default() };
            match self.client.delete(&place, &how).await {
                Err(error) if !matches!(error.code(), 404 | 409) => return Err(error),
                _ => {}
            }
        }
        Ok(Action::After(self.sweep))
    }
}

fn is_over(request: &Object, now: Instant) -> bool {
    let older = |text: &str, secs: i64| {
        Instant::parse(text, Precision::Seconds).is_ok_and(|then| then.seconds < now.seconds - secs)
    };
    let since = |kind: &str| {
        let mut conditions = request.items(&["status", "conditions"]);
        let found = conditions.find(|condition| condition["type"] == kind);
        found.and_then(|condition| condition["lastUpdateTime"].as_str()).unwrap_or_default()
    };
    let settled = |kind: &str| has(request, kind) && older(since(kind), SETTLED_SECS);
    let issued = request.text(&["status", "certificate"]);
    if !issued.is_empty() {
        return settled("Approved") || is_expired(issued, now);
    }
    settled("Denied") || settled("Failed") || older(request.text(&["metadata", "creationTimestamp"]), PENDING_SECS)
}

fn is_expired(certificate: &str, now: Instant) -> bool {
    base64::decode(certificate).ok().and_then(|pem| certs::expires(&pem)).is_some_and(|end| end < now.seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const NOW: i64 = 1_800_000_000;

    fn at(seconds: i64) -> Value {
        apiserver::object::timestamp(Instant { seconds, nanos: 0 })
    }

    #[track_caller]
    fn check(made: i64, verdict: Option<(&str, i64)>, certificate: &str, over: bool) {
        let conditions: Vec<Value> = verdict
            .iter()
            .map(|(kind, when)| json!({ "type": kind, "status": "True", "lastUpdateTime": at(*when) }))
            .collect();
        let request = json!({
            "metadata": { "creationTimestamp": at(made) },
            "status": { "conditions": conditions, "certificate": certificate },
        });
        let request = Object::try_from(request).unwrap();
        assert_eq!(is_over(&request, Instant { seconds: NOW, nanos: 0 }), over, "{request:?}");
    }

    #[test]
    fn requests_are_forgotten_in_time() {
        let (hour, day) = (SETTLED_SECS, PENDING_SECS);
        check(NOW - day, None, "", false);
        check(NOW - day - 1, None, "", true);
        for verdict in ["Denied", "Failed"] {
            check(NOW - hour, Some((verdict, NOW - hour)), "", false);
            check(NOW - hour, Some((verdict, NOW - hour - 1)), "", true);
        }
        check(NOW - hour - 1, Some(("Approved", NOW - hour - 1)), "", false);
        check(NOW - hour - 1, Some(("Approved", NOW - hour - 1)), "Y2VydA==", true);
        check(NOW - hour - 1, Some(("Approved", NOW - hour)), "Y2VydA==", false);
    }
}
