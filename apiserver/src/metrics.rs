//! What Prometheus is told. The number of series depends on what is served, never on who uses it; and of what users
//! define, only so much is told by name.

use crate::custom::Definition;
use crate::target::{Target, Verb};
use http::StatusCode;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Kubernetes' own buckets, thinned out: what the service level objectives ask about is among them.
const BUCKETS: [f64; 12] = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 2.0, 5.0, 30.0, 60.0];

/// Kinds of users that are told by name, in the order in which they are first asked for. There may be thousands in as many
/// workspaces, and series are never forgotten.
const NAMED_MAX: usize = 200;

/// What all others are called.
const OTHERS: &str = "others";

/// What a request was about.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    asked: Asked,
    /// By whoever uses the server, and so not known beforehand.
    defined: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
    subresource: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    verb: &'static str,
    group: String,
    version: String,
    resource: String,
    subresource: String,
    code: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InFlight {
    request_kind: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Turned {
    reason: &'static str,
}

#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Asked, Histogram>,
    /// Group and plural of kinds that users define. Nothing else is locked while this is held.
    named: Mutex<HashSet<(String, String)>>,
    in_flight: Family<InFlight, Gauge>,
    turned: Family<Turned, Counter>,
    waiting: Gauge,
    unrecorded: Counter,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::default();
        let requests = Family::<Answered, Counter>::default();
        let durations = Family::<Asked, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let in_flight = Family::<InFlight, Gauge>::default();
        registry.register("apiserver_request", "Requests answered", requests.clone());
        let help = "Seconds from a request to its answer";
        registry.register("apiserver_request_duration_seconds", help, durations.clone());
        registry.register("apiserver_current_inflight_requests", "Requests being answered", in_flight.clone());
        let (turned, waiting) = (Family::<Turned, Counter>::default(), Gauge::default());
        let help = "Requests that found no seat and no place to wait for one";
        registry.register("apiserver_flowcontrol_rejected_requests", help, turned.clone());
        registry.register("apiserver_flowcontrol_current_inqueue_requests", "Requests that wait", waiting.clone());
        let unrecorded = Counter::default();
        registry.register("apiserver_audit_error", "Audit events that nobody will ever read", unrecorded.clone());
        Self { registry, requests, durations, named: Mutex::default(), in_flight, turned, waiting, unrecorded }
    }

    pub(crate) fn answered(&self, request: Request, code: StatusCode, took: Duration) {
        let asked = if !request.defined || self.is_named(&request.asked) {
            request.asked
        } else {
            let Asked { verb, subresource, .. } = request.asked;
            Asked { verb, group: OTHERS.to_owned(), version: String::new(), resource: OTHERS.to_owned(), subresource }
        };
        let Asked { verb, group, version, resource, subresource } = asked.clone();
        let labels = Answered { verb, group, version, resource, subresource, code: code.as_u16() };
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&asked).observe(took.as_secs_f64());
    }

    /// Whether a kind that somebody defined is told by name.
    fn is_named(&self, asked: &Asked) -> bool {
        let mut named = self.named.lock();
        let name = (asked.group.clone(), asked.resource.clone());
        named.contains(&name) || (named.len() < NAMED_MAX && named.insert(name))
    }

    pub(crate) fn in_flight(&self, mutating: bool, change: i64) {
        let request_kind = if mutating { "mutating" } else { "readOnly" };
        self.in_flight.get_or_create(&InFlight { request_kind }).inc_by(change);
    }

    pub(crate) fn turned(&self, reason: &'static str) {
        self.turned.get_or_create(&Turned { reason }).inc();
    }

    pub(crate) fn waiting(&self, count: usize) {
        self.waiting.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// All of it, as Prometheus reads it. The audit record itself knows what it has lost.
    pub(crate) fn text(&self, unrecorded: u64) -> String {
        self.unrecorded.inner().store(unrecorded, Ordering::Relaxed);
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

impl Request {
    /// Its answer goes on for as long as the client likes.
    pub(crate) fn is_watch(&self) -> bool {
        self.asked.verb == upper(Verb::Watch)
    }

    pub(crate) fn about(target: &Target) -> Self {
        if let Target::Remote(remote) = target {
            // What is served there is not known for sure, and anything can be asked for.
            let (group, version) = (remote.backend.group.clone(), remote.backend.version.clone());
            let (resource, subresource) = (String::new(), String::new());
            let asked = Asked { verb: upper(remote.verb), group, version, resource, subresource };
            return Self { asked, defined: true };
        }
        let (verb, resource, subresource) = match target {
            Target::Objects { verb, at } => (*verb, Some(&at.resource), String::new()),
            Target::Object { verb, at, subresource } => {
                (*verb, Some(&at.within.resource), subresource.clone().unwrap_or_default())
            }
            _ => (Verb::Get, None, String::new()),
        };
        let word = |pick: fn(&crate::catalog::ResourceDef) -> &str| {
            resource.map(|resource| pick(resource).to_owned()).unwrap_or_default()
        };
        let custom = resource.and_then(|resource| resource.custom());
        let defined = custom.is_some_and(|custom| !matches!(custom.definition, Definition::Given(_)));
        let asked = Asked {
            verb: upper(verb),
            group: word(|resource| &resource.group),
            version: word(|resource| &resource.version),
            resource: word(|resource| &resource.plural),
            subresource,
        };
        Self { asked, defined }
    }
}

/// As the queries that people have already expect it.
fn upper(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch => "PATCH",
        Verb::Delete => "DELETE",
        Verb::DeleteCollection => "DELETECOLLECTION",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(metrics: &Metrics, resource: &str, defined: bool) {
        let word = |text: &str| text.to_owned();
        let (group, version) = (word("g"), word("v1"));
        let asked = Asked { verb: "GET", group, version, resource: word(resource), subresource: String::new() };
        metrics.answered(Request { asked, defined }, StatusCode::OK, Duration::from_millis(1));
    }

    #[test]
    fn kinds_that_users_define_have_an_end_as_series() {
        let metrics = Metrics::new();
        for number in 0..NAMED_MAX {
            ask(&metrics, &format!("kind{number}"), true);
        }
        let before = metrics.text(0).lines().count();
        ask(&metrics, "one-too-many", true);
        let full = metrics.text(0).lines().count();
        for number in 0..10 * NAMED_MAX {
            ask(&metrics, &format!("more{number}"), true);
        }
        ask(&metrics, "kind7", true);
        let text = metrics.text(0);
        assert!(full > before && text.lines().count() == full, "{} after {full}", text.lines().count());
        assert!(text.contains("resource=\"others\"") && !text.contains("more7"));
        // What comes with the server is told by name in any case.
        ask(&metrics, "pods", false);
        assert!(metrics.text(0).contains("resource=\"pods\""));
    }
}
