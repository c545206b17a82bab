//! What happens to every request, in order. Read top to bottom; so does the request.

mod authenticate;
mod authorize;
mod deadline;
mod impersonate;
mod limit;
mod panics;
mod target;
mod trace;
mod workspace;

pub use authenticate::Peer;
pub use limit::Limits;

use crate::api::Api;
use crate::auth::Authorized;
use crate::call::{self, Call, refuse};
use crate::options::Query;
use crate::target::Target;
use crate::verbs;
use axum::extract::{Request, State};
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use axum::{Extension, Router};
use limit::Limiter;
use std::sync::Arc;
use tower::ServiceBuilder;

/// Every layer adds one fact to the request, or answers it.
pub fn pipeline(api: Api, limits: Limits) -> Router {
    let layers = ServiceBuilder::new()
        .layer(from_fn_with_state(api.clone(), trace::trace)) // request id, metrics, access log
        .layer(from_fn(panics::panics)) // a bug is a 500, not a dead connection
        .layer(from_fn_with_state(api.clone(), workspace::workspace)) // /clusters/{path}/... -> Workspace
        .layer(from_fn_with_state(api.clone(), target::target)) // path and method -> Target
        .layer(from_fn(deadline::deadline)) // watches are exempt
        .layer(from_fn_with_state(api.clone(), authenticate::authenticate)) // -> User
        .layer(from_fn_with_state(api.clone(), impersonate::impersonate)) // -> the User that is meant
        .layer(from_fn_with_state((api.clone(), Arc::new(Limiter::new(limits))), limit::limit))
        .layer(from_fn_with_state(api.clone(), authorize::authorize)); // -> Authorized<Target>
    Router::new().fallback(any(answer)).with_state(api).layer(layers)
}

/// The end of the pipeline: a permitted request and its answer.
async fn answer(
    State(api): State<Api>,
    Extension(target): Extension<Authorized<Target>>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let accept = parts.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let warning = target.get().deprecation();
    let answered = match call::read(body).await {
        Ok(body) => {
            let call = Call { query, headers: parts.headers, body };
            verbs::dispatch(&api, target, &call).await
        }
        Err(error) => Err(error),
    };
    let mut response = answered.unwrap_or_else(|error| refuse(&error, accept.as_deref()));
    // Whoever uses what is going to go is told, whatever they do with it.
    call::warn(&mut response, warning.as_slice());
    response
}

/// A refusal on the way in.
fn refused(request: &Request, error: &crate::error::ApiError) -> Response {
    refuse(error, request.headers().get(http::header::ACCEPT).and_then(|value| value.to_str().ok()))
}
