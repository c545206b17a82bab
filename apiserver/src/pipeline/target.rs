//! What the request is about.

use super::trace::Noted;
use crate::api::Api;
use crate::metrics;
use crate::options::Query;
use crate::place::Workspace;
use crate::target::{Lookup, Target};
use axum::Extension;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;

pub(super) async fn target(
    State(api): State<Api>,
    Extension(workspace): Extension<Workspace>,
    Extension(noted): Extension<Noted>,
    mut request: Request,
    next: Next,
) -> Response {
    let watching = Query::parse(request.uri().query().unwrap_or_default()).flag("watch").unwrap_or(false);
    let parsed = {
        let served = Lookup { builtin: api.resources.builtin(), own: &|| api.resources.catalog(&workspace) };
        Target::parse(request.method(), request.uri().path(), watching, &workspace, &served)
    };
    // Whoever may not know what is served is refused before that is said.
    let target = parsed.unwrap_or_else(|error| Target::Nowhere(Box::new(error)));
    noted.note(metrics::Request::about(&target));
    request.extensions_mut().insert(target);
    next.run(request).await
}
