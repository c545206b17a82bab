//! A permitted request goes to its backend, and the answer back.

use super::body::through;
use super::headers::{self, Origin};
use super::lines::Sender;
use super::{Relay, tunnel};
use crate::auth::User;
use crate::backends::{Address, Backend};
use crate::error::ApiError;
use crate::hooks::call::reason;
use crate::options::Deadline;
use crate::place::Workspace;
use crate::trust::Certificate;
use axum::body::Body;
use axum::response::Response;
use http::header::{self, HeaderMap};
use http::{Method, Request, StatusCode};
use hyper::upgrade::OnUpgrade;

/// A request that is to be sent on.
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) path_and_query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// The connection, if the client may want to speak something else on it.
    pub(crate) upgrade: Option<OnUpgrade>,
    /// The address of the client.
    pub(crate) client: Option<String>,
    pub(crate) host: Option<String>,
    /// `None`: it goes on for as long as the client likes.
    pub(crate) until: Option<Deadline>,
}

impl Relay {
    pub(crate) async fn forward(
        &self,
        workspace: &Workspace,
        backend: &Backend,
        user: &User,
        mut request: Outgoing,
    ) -> Result<Response, ApiError> {
        if !backend.available {
            return Err(ApiError::unavailable("service unavailable"));
        }
        if headers::has_passed(&request.headers, &self.0.name) {
            return Err(ApiError::loop_detected());
        }
        let origin = Origin { client: request.client.as_deref(), host: request.host.as_deref() };
        let headers = headers::outgoing(&request.headers, user, origin, &self.0.name)
            .map_err(|why| ApiError::internal(why.to_string()))?;
        let wanted = headers::upgrade(&request.headers);
        let upgrade = request.upgrade.take().zip(wanted);
        let (sender, at) = self.way(workspace, backend, upgrade.is_none())?;
        let mut outgoing =
            address(&request.method, &at, &request.path_and_query)?.body(request.body).unwrap_or_default();
        *outgoing.headers_mut() = headers;
        match upgrade {
            Some((client, protocol)) => {
                let room = self.0.tunnels.clone().try_acquire_owned().map_err(|_| ApiError::too_many_requests())?;
                tunnel::open(sender, outgoing, (client, protocol), room, &self.0.stopping).await
            }
            None => {
                let response = sender.request(outgoing).await.map_err(|error| unreached(&error))?;
                answer(response, request.until, self)
            }
        }
    }

    /// One of the addresses of a backend, and the way there.
    pub(super) fn way(
        &self,
        workspace: &Workspace,
        backend: &Backend,
        http2: bool,
    ) -> Result<(Sender, Address), ApiError> {
        let mut all = self.0.resources.addresses(workspace, &backend.service)?.map_err(|why| {
            tracing::debug!(%workspace, group = backend.group, why.message, "a backend is nowhere");
            ApiError::unavailable("service unavailable")
        })?;
        let chosen = self.0.resources.ambient().below(all.len() as u64);
        let at = all.swap_remove(usize::try_from(chosen).unwrap_or_default());
        Ok((self.line(workspace, backend, &at, http2)?, at))
    }

    pub(super) fn line(
        &self,
        workspace: &Workspace,
        backend: &Backend,
        at: &Address,
        http2: bool,
    ) -> Result<Sender, ApiError> {
        let shown = self.shown(workspace).map_err(ApiError::internal)?;
        self.0.lines.to(backend, at, shown, http2).map_err(ApiError::internal)
    }

    fn shown(&self, workspace: &Workspace) -> Result<Option<Certificate>, String> {
        self.0.present.get().map(|present| present.certificate(workspace)).transpose()
    }
}

/// The beginning of a request to this address.
pub(super) fn address(method: &Method, at: &Address, path: &str) -> Result<http::request::Builder, ApiError> {
    let host = if at.host.contains(':') { format!("[{}]", at.host) } else { at.host.clone() };
    let uri: http::Uri = format!("https://{host}:{}{path}", at.port).parse().map_err(|_| ApiError::no_such_path())?;
    Ok(Request::builder().method(method.clone()).uri(uri))
}

pub(super) fn unreached(error: &(dyn std::error::Error + 'static)) -> ApiError {
    ApiError::unavailable(format!("error trying to reach service: {}", reason(error)))
}

fn answer(
    response: Response<hyper::body::Incoming>,
    until: Option<Deadline>,
    relay: &Relay,
) -> Result<Response, ApiError> {
    let (parts, body) = response.into_parts();
    refuse_redirect(parts.status, &parts.headers)?;
    let mut passed = Response::new(through(body, until, &relay.0.stopping));
    *passed.status_mut() = parts.status;
    *passed.headers_mut() = headers::incoming(&parts.headers);
    Ok(passed)
}

/// A backend does not decide where else clients go with what they may do here.
pub(super) fn refuse_redirect(status: StatusCode, headers: &HeaderMap) -> Result<(), ApiError> {
    if status.is_redirection() && headers.contains_key(header::LOCATION) {
        return Err(ApiError::bad_gateway("the backend attempted to redirect this request, which is not permitted"));
    }
    Ok(())
}
