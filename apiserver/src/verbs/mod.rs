//! One verb a file: HTTP in, HTTP out, and nothing of what happens in between.

mod binding;
mod content;
mod create;
mod delete;
mod discovery;
mod get;
mod health;
mod instead;
mod issuer;
mod list;
mod patch;
mod review;
mod scale;
mod through;
mod update;
mod watch;

use crate::api::Api;
use crate::audit::Audit;
use crate::auth::Authorized;
use crate::call::{self, Call};
use crate::error::ApiError;
use crate::place::{Collection, ObjectRef};
use crate::target::{Target, Verb};
use axum::response::Response;

/// Everything that the server can answer.
pub(crate) async fn dispatch(api: &Api, target: Authorized<Target>, call: &Call) -> Result<Response, ApiError> {
    match target.get().clone() {
        Target::Objects { verb, at } => objects(api, verb, target.narrow(|_| at), call).await,
        Target::Object { verb, at, subresource } => {
            object(api, verb, target.narrow(|_| at), subresource.as_deref(), call).await
        }
        Target::Discovery(workspace, what) => discovery::answer(api, &workspace, &what, call),
        Target::OpenApi(workspace, what) => discovery::openapi(api, &target.narrow(|_| workspace), &what, call).await,
        Target::Version => discovery::version(api, call),
        Target::Health(probe, check) => health::answer(api, probe, check.as_deref(), call),
        Target::Content(workspace) => content::answer(api, &target.narrow(|_| workspace), call).await,
        Target::Issuer(what) => issuer::answer(api, what, call),
        // Sent on before its body is read.
        Target::Remote(_) => Err(ApiError::internal("a request was not sent on")),
        Target::Nowhere(error) => Err(*error),
        // Whoever gives out the turns says so.
        Target::Turns(_) | Target::Costs => Err(ApiError::no_such_path()),
        Target::Metrics => {
            let unrecorded = api.audit.as_ref().map_or(0, Audit::lost);
            Ok(call::plain(http::StatusCode::OK, api.metrics.text(unrecorded)))
        }
    }
}

async fn objects(api: &Api, verb: Verb, at: Authorized<Collection>, call: &Call) -> Result<Response, ApiError> {
    match verb {
        Verb::Create if at.get().resource.group.is_empty() && at.get().resource.plural == "bindings" => {
            binding::bind_named(api, &at, call).await
        }
        Verb::Create if !at.get().resource.is_stored() => review::review(api, &at, call).await,
        Verb::Create if instead::is_kept_elsewhere(&at.get().resource) => instead::create(api, &at, call).await,
        Verb::Create => create::create(api, &at, call).await,
        Verb::List => list::list(api, &at, call).await,
        Verb::Watch => watch::watch(api, &at, None, call).await,
        Verb::DeleteCollection => delete::delete_collection(api, &at, call).await,
        other => Err(ApiError::method_not_supported(&at.get().resource, other.word())),
    }
}

/// What could only be asked of whoever runs a pod, or of what is behind a service.
async fn nobody_runs(api: &Api, at: &Authorized<ObjectRef>) -> Result<Response, ApiError> {
    let target = at.get();
    if target.resource().plural == "services" {
        return Err(ApiError::unavailable(format!("no endpoints available for service {:?}", target.name)));
    }
    api.resources.get(at, None).await?;
    Err(ApiError::unavailable("no node runs anything here"))
}

async fn object(
    api: &Api,
    verb: Verb,
    at: Authorized<ObjectRef>,
    subresource: Option<&str>,
    call: &Call,
) -> Result<Response, ApiError> {
    if let Some(view) = call.view(at.get().resource()) {
        api.resources.must_be_seen(at.get(), &view)?;
    }
    match (verb, subresource) {
        (_, Some("scale")) => scale::scale(api, verb, &at, call).await,
        (Verb::Create, Some("token")) => review::token(api, &at, call).await,
        (Verb::Create, Some("eviction")) => delete::evict(api, &at, call).await,
        (Verb::Create, Some("binding")) => binding::bind(api, &at, call).await,
        (_, Some("proxy")) if at.get().resource().custom().is_some() => through::through(api, &at, call).await,
        (_, None) if verb.changes_something() && instead::is_kept_elsewhere(at.get().resource()) => {
            instead::write(api, verb, &at, call).await
        }
        (_, Some("log" | "exec" | "attach" | "portforward" | "proxy")) => nobody_runs(api, &at).await,
        (Verb::Get, _) => get::get(api, &at, call).await,
        (Verb::Watch, None) => {
            let name = at.get().name.clone();
            watch::watch(api, &at.narrow(|object| object.within), Some(&name), call).await
        }
        (Verb::Update, part) => update::update(api, &at, part, call).await,
        (Verb::Patch, part) => patch::patch(api, &at, part, call).await,
        (Verb::Delete, None) => delete::delete(api, &at, call).await,
        (other, _) => Err(ApiError::method_not_supported(at.get().resource(), other.word())),
    }
}
