//! What the request is about.

use super::trace::Noted;
use crate::api::Api;
use crate::metrics;
use crate::options::Query;
use crate::place::Workspace;
use crate::target::{Lookup, Target};
use axum::extract::Request;

pub(super) fn target(api: &Api, request: &Request, workspace: &Workspace, noted: &mut Noted) -> Target {
    let watching = Query::parse(request.uri().query().unwrap_or_default()).flag("watch").unwrap_or(false);
    let remote = |group: &str, version: &str| {
        Ok(api.resources.backends(workspace)?.and_then(|all| all.find(group, version).cloned()))
    };
    let own = || api.resources.catalog(workspace);
    let served = Lookup { builtin: api.resources.builtin(), own: &own, remote: &remote };
    let parsed = Target::parse(request.method(), request.uri().path(), watching, workspace, &served);
    // Whoever may not know what is served is refused before that is said.
    let target = parsed.unwrap_or_else(|error| Target::Nowhere(Box::new(error)));
    noted.about = Some(metrics::Request::about(&target));
    target
}
