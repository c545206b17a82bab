//! Whether this server is alive, and whether it should be sent anything.

use crate::api::Api;
use crate::call::{Call, plain};
use crate::error::ApiError;
use crate::target::Probe;
use axum::response::Response;
use http::StatusCode;

struct Check {
    name: &'static str,
    passed: bool,
}

impl Probe {
    fn word(self) -> &'static str {
        match self {
            Self::Health => "healthz",
            Self::Live => "livez",
            Self::Ready => "readyz",
        }
    }
}

/// `only`: one check by its name, which has to be there.
pub(super) fn answer(api: &Api, probe: Probe, only: Option<&str>, call: &Call) -> Result<Response, ApiError> {
    let mut checks = checks(api, probe);
    match only {
        Some(name) => checks.retain(|check| check.name == name),
        None => checks.retain(|check| !is_excluded(call, check)),
    }
    if only.is_some() && checks.is_empty() {
        return Err(ApiError::no_such_path());
    }
    Ok(told(&checks, probe, call))
}

fn told(checks: &[Check], probe: Probe, call: &Call) -> Response {
    let word = probe.word();
    let passed = checks.iter().all(|check| check.passed);
    if passed && call.query.get("verbose").is_none() {
        return plain(StatusCode::OK, "ok".to_owned());
    }
    let mut text: String = checks.iter().map(Check::line).collect();
    text.push_str(&format!("{word} check {}\n", if passed { "passed" } else { "failed" }));
    plain(if passed { StatusCode::OK } else { StatusCode::INTERNAL_SERVER_ERROR }, text)
}

fn is_excluded(call: &Call, check: &Check) -> bool {
    call.query.all("exclude").any(|name| name == check.name)
}

fn checks(api: &Api, probe: Probe) -> Vec<Check> {
    let mut checks = vec![Check { name: "ping", passed: true }];
    // A store that cannot write is no reason to be restarted: only to be sent nothing.
    if probe != Probe::Live {
        checks.push(Check { name: "storage", passed: api.resources.store().stats().failure.is_none() });
    }
    if probe == Probe::Ready {
        checks.push(Check { name: "shutdown", passed: !api.is_draining() });
    }
    checks
}

impl Check {
    fn line(&self) -> String {
        let name = self.name;
        if self.passed { format!("[+]{name} ok\n") } else { format!("[-]{name} failed: reason withheld\n") }
    }
}
