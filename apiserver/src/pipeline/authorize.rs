//! Whether the user may do it.

use super::refused;
use crate::api::Api;
use crate::auth::User;
use crate::target::Target;
use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use std::sync::Arc;

pub(super) async fn authorize(
    State(api): State<Api>,
    Extension(user): Extension<Arc<User>>,
    Extension(target): Extension<Target>,
    mut request: Request,
    next: Next,
) -> Response {
    match api.resources.authorizer().authorize(&user, target) {
        Ok(permitted) => {
            request.extensions_mut().insert(permitted);
            next.run(request).await
        }
        Err(error) => refused(&request, &error),
    }
}
