//! Requests that come through the API server that this one stands behind.

use crate::api::Api;
use crate::auth::User;
use crate::authn::host::{Host, Presence};
use crate::client::Client;
use crate::error::ApiError;
use crate::place::{Collection, Workspace};
use crate::target::{Target, Verb};
use axum::extract::Request;
use serde_json::json;
use std::sync::Arc;

use super::Peer;

/// Whether somebody comes through it: over a connection of a front proxy that is believed, and with a name.
pub(super) fn is_passed_on(api: &Api, request: &Request) -> bool {
    let Some(proxy) = api.authentication.host.as_ref().and_then(|_| api.authentication.proxy()) else { return false };
    let name = request.extensions().get::<Peer>().and_then(|peer| peer.proxy.as_deref());
    name.is_some_and(|name| proxy.believes(name)) && proxy.user(request.headers()).is_some()
}

/// The workspace that is behind it. No path leads from there to another.
pub(super) fn workspace(api: &Api, request: &Request) -> Result<Workspace, ApiError> {
    let host = api.authentication.host.as_ref().ok_or_else(ApiError::no_such_path)?;
    found(api, host).ok_or_else(|| {
        ApiError::forbidden_path(request.uri().path(), "the workspace behind this API server is missing:")
    })
}

fn found(api: &Api, host: &Host) -> Option<Workspace> {
    api.workspaces.find(host.workspace.as_deref())
}

/// Whoever the host vouches for is somebody in the workspace behind it alone.
pub(super) fn confined(api: &Api, user: Arc<User>) -> Result<Arc<User>, ApiError> {
    if !user.foreign {
        return Ok(user);
    }
    let workspace = api.authentication.host.as_ref().and_then(|host| found(api, host));
    let within = Some(workspace.ok_or_else(ApiError::unauthorized)?);
    Ok(Arc::new(User { within, ..(*user).clone() }))
}

/// Makes the namespace that an object is to be in, if the host has it: its users cannot make it here themselves.
pub(super) async fn make_room(api: &Api, target: &Target) -> Result<(), ApiError> {
    let Some(host) = &api.authentication.host else { return Ok(()) };
    let (at, object) = match target {
        Target::Objects { verb: Verb::Create, at } => (at, ""),
        Target::Object { verb: Verb::Update | Verb::Patch, at, subresource: None } => (&at.within, &*at.name),
        _ => return Ok(()),
    };
    let Collection { resource, workspace, namespace: Some(name) } = at else { return Ok(()) };
    let client = Client::as_system(api.resources.clone(), "host");
    let namespaces = client.at(("", "v1", "namespaces"), workspace, None)?;
    if client.glance(&namespaces.object(name))?.is_some() {
        return Ok(());
    }
    match host.namespaces.find(name).await.map_err(ApiError::internal)? {
        Presence::There => client.ensure(&namespaces, json!({ "metadata": { "name": name } })).await,
        Presence::Terminating => Err(ApiError::namespace_terminating(resource, object, name)),
        Presence::Missing => Err(ApiError::not_found(&namespaces.resource, name)),
    }
}
