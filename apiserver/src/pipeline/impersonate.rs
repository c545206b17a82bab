//! Acting as somebody else. Nobody may, until there are rules that say who; pretending not to have heard would be
//! worse than refusing.

use super::refused;
use crate::error::ApiError;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;

pub(super) async fn impersonate(request: Request, next: Next) -> Response {
    if request.headers().keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return refused(&request, &ApiError::forbidden_path(request.uri().path(), "impersonation is not served for"));
    }
    next.run(request).await
}
