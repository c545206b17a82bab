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
        // What others serve is not passed on further.
        api.offered(workspace).and_then(|offered| {
            let own = || Ok(offered.catalog().clone());
            parse(&Lookup { builtin: offered.catalog(), own: &own, remote: &|_, _| Ok(None) })
        })
    } else {
        let remote = |group: &str, version: &str| {
            Ok(api.resources.backends(workspace)?.and_then(|all| all.find(group, version).cloned()))
        };
        parse(&Lookup { builtin: api.resources.builtin(), own: &|| api.resources.catalog(workspace), remote: &remote })
    };
    // Whoever may not know what is served is refused before that is said.
    let target = parsed.unwrap_or_else(|error| Target::Nowhere(Box::new(error)));
    noted.about = Some(metrics::Request::about(&target));
    target
}
