//! Names every request, counts it, and notes what became of it.

use super::audit;
use crate::api::Api;
use crate::audit::Record;
use crate::fairness::Schema;
use crate::metrics;
use crate::place::Workspace;
use axum::extract::Request;
use axum::response::Response;
use http::Method;
use http::header::{HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const FLOW_SCHEMA: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const PRIORITY_LEVEL: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// An id is a client's to choose; a longer one is not an id.
const AUDIT_ID_BYTES_MAX: usize = 64;

/// What is found out about a request on its way in.
#[derive(Debug, Default)]
pub(super) struct Noted {
    pub(super) about: Option<metrics::Request>,
    pub(super) record: Option<Record>,
    pub(super) panicked: bool,
    pub(super) flow: Option<Arc<Schema>>,
    /// Where it is answered, once it is permitted.
    pub(super) workspace: Option<Workspace>,
}

/// What is known of a request before anything is done with it.
#[derive(Debug)]
pub(super) struct Trace {
    started: Instant,
    pub(super) id: Option<HeaderValue>,
    method: Method,
    path: String,
}

impl Trace {
    pub(super) fn took(&self) -> Duration {
        self.started.elapsed()
    }
}

pub(super) fn begin(api: &Api, request: &Request) -> Trace {
    let given = request.headers().get(&AUDIT_ID).filter(|id| id.len() <= AUDIT_ID_BYTES_MAX).cloned();
    let id = given.or_else(|| HeaderValue::from_str(&api.resources.ambient().uid()).ok());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    Trace { started: Instant::now(), id, method, path }
}

pub(super) fn end(api: &Api, trace: Trace, noted: Noted, mut response: Response) -> Response {
    let Trace { started, id, method, path } = trace;
    let took = started.elapsed();
    audit::answered(api, &noted, response.status());
    if let Some(flow) = &noted.flow {
        let (schema, level) = flow.uids.clone();
        response.headers_mut().insert(FLOW_SCHEMA, schema);
        response.headers_mut().insert(PRIORITY_LEVEL, level);
    }
    if let Some(about) = noted.about {
        api.metrics.answered(about, response.status(), took);
    }
    tracing::debug!(%method, path, code = response.status().as_u16(), took_us = took.as_micros() as u64, "answered");
    if let Some(id) = id {
        response.headers_mut().insert(AUDIT_ID, id);
    }
    response
}
