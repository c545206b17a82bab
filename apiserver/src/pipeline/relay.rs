//! The other end of the pipeline: a permitted request that another API server answers. Its body is not read here.

use super::trace::{AUDIT_ID, Trace};
use crate::api::Api;
use crate::auth::Authorized;
use crate::call::refuse;
use crate::error::ApiError;
use crate::options::Deadline;
use crate::relay::Outgoing;
use crate::target::Target;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use http::Method;
use http::header::{ACCEPT, HOST};
use hyper::upgrade::OnUpgrade;
use std::net::IpAddr;
use std::time::Duration;

/// Where the client is, as far as the connection tells.
#[derive(Clone, Copy, Debug)]
pub struct ClientAddress(pub IpAddr);

/// Whoever wants to know what is served asks everybody, and does not wait for one of them.
const DISCOVERY_MAX: Duration = Duration::from_secs(5);

pub(super) async fn relay(
    api: &Api,
    target: Authorized<Target>,
    request: Request,
    deadline: Option<Deadline>,
    trace: &Trace,
) -> Response {
    let accept = request.headers().get(ACCEPT).cloned();
    let method = request.method().clone();
    let mut response = send(api, target, request, deadline, trace)
        .await
        .unwrap_or_else(|error| refuse(&error, accept.as_ref().and_then(|value| value.to_str().ok())));
    if method == Method::HEAD {
        *response.body_mut() = Body::empty();
    }
    response
}

async fn send(
    api: &Api,
    target: Authorized<Target>,
    request: Request,
    until: Option<Deadline>,
    trace: &Trace,
) -> Result<Response, ApiError> {
    let user = target.user().clone();
    let Target::Remote(remote) = target.get() else { return Err(ApiError::no_such_path()) };
    let (mut parts, body) = request.into_parts();
    if let Some(id) = &trace.id {
        parts.headers.insert(AUDIT_ID, id.clone());
    }
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = parts.uri.authority().map(|authority| authority.as_str()).or(host).map(str::to_owned);
    let path = parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default();
    let outgoing = Outgoing {
        method: parts.method,
        path_and_query: format!("/{}", path.trim_start_matches('/')),
        headers: parts.headers,
        body,
        upgrade: parts.extensions.remove::<OnUpgrade>(),
        client: parts.extensions.get::<ClientAddress>().map(|client| client.0.to_string()),
        host,
        until,
    };
    let answer = api.relay.forward(&remote.workspace, &remote.backend, &user, outgoing);
    if !remote.resource.is_empty() {
        return answer.await;
    }
    let late = |_| Err(ApiError::timeout("the backend did not say in time what it serves"));
    tokio::time::timeout(DISCOVERY_MAX, answer).await.unwrap_or_else(late)
}
