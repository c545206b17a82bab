//! What the request is about.

use super::trace::Noted;
use crate::api::Api;
use crate::metrics;
use crate::options::Query;
use crate::place::Workspace;
use crate::target::{Lookup, Target};
use axum::extract::Request;

pub(super) fn target(
    api: &Api,
    request: &Request,
    (workspace, passed_on): (&Workspace, bool),
    noted: &mut Noted,
) -> Target {
    let watching = Query::parse(request.uri().query().unwrap_or_default()).flag("watch").unwrap_or(false);
    let parse =
        |served: &Lookup<'_>| Target::parse(request.method(), request.uri().path(), watching, workspace, served);
    let parsed = if passed_on {
        api.offered(workspace)
            .and_then(|offered| parse(&Lookup { builtin: offered.catalog(), own: &|| Ok(offered.catalog().clone()) }))
    } else {
        parse(&Lookup { builtin: api.resources.builtin(), own: &|| api.resources.catalog(workspace) })
    };
    // Whoever may not know what is served is refused before that is said.
    let target = parsed.unwrap_or_else(|error| Target::Nowhere(Box::new(error)));
    noted.about = Some(metrics::Request::about(&target));
    target
}
