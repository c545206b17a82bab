//! What the request is about.

use super::trace::Noted;
use super::workspace::Ended;
use crate::api::Api;
use crate::error::ApiError;
use crate::metrics;
use crate::options::Query;
use crate::place::Workspace;
use crate::target::{Lookup, Target};
use crate::window::Window;
use axum::extract::Request;

pub(super) fn target(
    api: &Api,
    request: &Request,
    (workspace, passed_on): (&Workspace, bool),
    noted: &mut Noted,
) -> Target {
    if let Some(Ended(error)) = request.extensions().get() {
        return noting(Err(error.clone()), noted);
    }
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
    noting(parsed, noted)
}

/// The same for what is seen through a window.
pub(super) fn seen(window: &Window, request: &Request, noted: &mut Noted) -> Target {
    let watching = Query::parse(request.uri().query().unwrap_or_default()).flag("watch").unwrap_or(false);
    let catalog = &window.catalog;
    let served = Lookup { builtin: catalog, own: &|| Ok(catalog.clone()), remote: &|_, _| Ok(None) };
    let parsed = Target::parse(request.method(), request.uri().path(), watching, &window.onto, &served);
    noting(parsed.and_then(|target| window.check(target)), noted)
}

fn noting(parsed: Result<Target, ApiError>, noted: &mut Noted) -> Target {
    // Whoever may not know what is served is refused before that is said.
    let target = parsed.unwrap_or_else(|error| Target::Nowhere(Box::new(error)));
    noted.about = Some(metrics::Request::about(&target));
    target
}
