//! Names every request, counts it, and notes what became of it.

use crate::api::Api;
use crate::metrics;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HeaderName, HeaderValue};
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::time::Instant;

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// An id is a client's to choose; a longer one is not an id.
const AUDIT_ID_BYTES_MAX: usize = 64;

/// What the layers further in find out about the request, for those further out.
#[derive(Clone, Debug, Default)]
pub(super) struct Noted(Arc<Mutex<Option<metrics::Request>>>);

impl Noted {
    pub(super) fn note(&self, request: metrics::Request) {
        *self.0.lock() = Some(request);
    }
}

pub(super) async fn trace(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let started = Instant::now();
    let given = request.headers().get(&AUDIT_ID).filter(|id| id.len() <= AUDIT_ID_BYTES_MAX).cloned();
    let id = given.or_else(|| HeaderValue::from_str(&api.resources.ambient().uid()).ok());
    let noted = Noted::default();
    request.extensions_mut().insert(noted.clone());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let mut response = next.run(request).await;
    let took = started.elapsed();
    if let Some(about) = noted.0.lock().take() {
        api.metrics.answered(about, response.status(), took);
    }
    tracing::debug!(%method, path, code = response.status().as_u16(), took_us = took.as_micros() as u64, "answered");
    if let Some(id) = id {
        response.headers_mut().insert(AUDIT_ID, id);
    }
    response
}
