//! What is written down of a request, where somebody wants to know.

use super::authorize::asked;
use super::trace::{Noted, Trace};
use crate::api::Api;
use crate::audit::{About, Record, Stage};
use crate::auth::{Attributes, User};
use crate::target::Target;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use http::StatusCode;
use http::header::{CONTENT_LENGTH, USER_AGENT};
use std::sync::Arc;

/// An answer that is longer is not written down.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// What was asked for, before the workspace is taken off it.
pub(super) fn uri(api: &Api, request: &Request) -> Option<String> {
    api.audit.as_ref().map(|_| request.uri().path_and_query().map(ToString::to_string).unwrap_or_default())
}

/// `asking` is who has shown who they are, the other whom they act as.
pub(super) fn received(
    api: &Api,
    trace: &Trace,
    uri: Option<&str>,
    (asking, user): (&Arc<User>, &Arc<User>),
    target: &Target,
    request: &Request,
) -> Option<Record> {
    let audit = api.audit.as_ref()?;
    let asked = asked(request);
    audit.received(About {
        id: trace.id.as_ref().and_then(|id| id.to_str().ok()).unwrap_or_default(),
        uri: uri.unwrap_or_default(),
        agent: request.headers().get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default(),
        user: asking,
        acting: (!Arc::ptr_eq(asking, user)).then_some(&**user),
        wanted: &Attributes::of(target, &asked),
        version: target.version(),
        received: api.resources.ambient().now(),
    })
}

/// Keeps the answer for the record, if that is wanted and it is no longer than it may be. Streams have no length.
pub(super) async fn kept(record: &mut Record, response: Response) -> Response {
    let length = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if !record.wants_response() || length.is_none_or(|length| length > ANSWER_BYTES_MAX) {
        return response;
    }
    let (parts, body) = response.into_parts();
    let bytes = to_bytes(body, ANSWER_BYTES_MAX).await.unwrap_or_default();
    record.response(&bytes);
    Response::from_parts(parts, Body::from(bytes))
}

pub(super) fn answered(api: &Api, noted: &Noted, code: StatusCode) {
    let (Some(audit), Some(record)) = (&api.audit, &noted.record) else { return };
    let watches = noted.about.as_ref().is_some_and(|about| about.is_watch());
    let stage = match (noted.panicked, watches && code.is_success()) {
        (true, _) => Stage::Panic,
        (false, true) => Stage::ResponseStarted,
        (false, false) => Stage::ResponseComplete,
    };
    audit.answered(record, stage, code.as_u16(), api.resources.ambient().now());
}
