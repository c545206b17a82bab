//! Acting as somebody else, for those who may.

use super::authorize::{asked, deciding};
use super::refused;
use crate::api::Api;
use crate::auth::impersonation::{Wanted, become_other};
use crate::auth::{Attributes, MASTERS, User};
use crate::error::ApiError;
use crate::place::Workspace;
use crate::target::Target;
use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{HeaderMap, HeaderName};
use std::sync::Arc;

pub(super) async fn impersonate(
    State(api): State<Api>,
    Extension(user): Extension<Arc<User>>,
    Extension(target): Extension<Target>,
    Extension(workspace): Extension<Workspace>,
    mut request: Request,
    next: Next,
) -> Response {
    let wanted = match Wanted::read(request.headers()) {
        Ok(None) => return next.run(request).await,
        Ok(Some(wanted)) => wanted,
        Err(nameless) => return refused(&request, &ApiError::bad_request(nameless.to_string())),
    };
    let workspace = deciding(&api, &target, workspace);
    match acting(&api, &user, &wanted, &workspace, &Attributes::of(&target, &asked(&request))) {
        Ok(other) => {
            tracing::debug!(user = user.name, other = other.name, "acts as somebody else");
            request.extensions_mut().insert(Arc::new(other));
            forget(request.headers_mut());
            next.run(request).await
        }
        Err(error) => refused(&request, &error),
    }
}

/// Who the user is now.
fn acting(
    api: &Api,
    user: &User,
    wanted: &Wanted,
    workspace: &Workspace,
    request: &Attributes<'_>,
) -> Result<User, ApiError> {
    let authorizer = api.resources.authorizer();
    let other = become_other(user, wanted, request, &|about| authorizer.check(user, workspace, about))?;
    // The rules of one workspace cannot make anybody somebody in another. Masters are that everywhere.
    let everywhere = user.is_in(MASTERS) && user.within.is_none();
    Ok(User { within: (!everywhere).then(|| workspace.clone()), ..other })
}

/// Nobody further in should mind that it is not really them.
fn forget(headers: &mut HeaderMap) {
    let named = |name: &HeaderName| name.as_str().starts_with("impersonate-");
    let names: Vec<HeaderName> = headers.keys().filter(|name| named(name)).cloned().collect();
    for name in names {
        headers.remove(name);
    }
}
