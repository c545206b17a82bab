//! `/clusters/<path>/...`: which workspace the rest of the path is in.

use crate::api::{Api, Mounted, Said};
use crate::auth::User;
use crate::error::ApiError;
use crate::place::Workspace;
use crate::window::Window;
use axum::extract::Request;
use http::Uri;
use http::uri::PathAndQuery;
use std::sync::Arc;

const PREFIX: &str = "/clusters/";

/// From where those look who name no place.
const PLATFORM: &str = "Platform";

/// The user, with what is known of them by the way they came.
pub(super) fn known(user: Arc<User>, request: &Request) -> Arc<User> {
    let said = request.extensions().get::<Said>().filter(|said| !said.extra.is_empty());
    let Some(said) = said else { return user };
    let mut known = User::clone(&user);
    known.extra.extend(said.extra.iter().map(|(key, value)| ((*key).to_owned(), vec![value.clone()])));
    Arc::new(known)
}

/// The workspace, which is taken off the path. Whether there is one is nobody's business who may not enter it: a request
/// into none goes the way of all others, and is refused where they are.
pub(super) fn workspace(api: &Api, request: &mut Request) -> Result<(Workspace, Option<Window>), ApiError> {
    if let Some(seen) = window(api, request)? {
        return Ok(seen);
    }
    let mut said = Said::default();
    if let Some(meant) = api.workspaces.meant(request.uri()) {
        *request.uri_mut() = meant.uri;
        said = meant.said;
    } else if split(request.uri().path()).0.is_none() {
        said.context = Some(PLATFORM);
    }
    request.extensions_mut().insert(said);
    let (named, rest) = split(request.uri().path());
    let found = api.workspaces.find(named);
    if let (None, Some(path)) = (&found, named)
        && let Some(mounted) = api.workspaces.mounted(path)
    {
        let rest = rest.to_owned();
        return follow(api, request, mounted, &rest);
    }
    taken_off(request)?;
    Ok((found.unwrap_or_else(Workspace::nowhere), None))
}

fn window(api: &Api, request: &mut Request) -> Result<Option<(Workspace, Option<Window>)>, ApiError> {
    let Some((window, rest)) = api.workspaces.window(request.uri().path()) else { return Ok(None) };
    let uri = below(request.uri(), &rest).ok_or_else(ApiError::no_such_path)?;
    *request.uri_mut() = uri;
    let home = window.as_ref().map_or_else(Workspace::nowhere, |window| window.home.clone());
    Ok(Some((home, window)))
}

fn taken_off(request: &mut Request) -> Result<(), ApiError> {
    if let (Some(_), rest) = split(request.uri().path()) {
        let uri = below(request.uri(), rest).ok_or_else(ApiError::no_such_path)?;
        *request.uri_mut() = uri;
    }
    Ok(())
}

/// Why a request does not go on from where it was sent. Whoever may look around there is told.
#[derive(Clone, Debug)]
pub(super) struct Ended(pub(super) ApiError);

/// A request goes on where something leads, but from there not once more.
fn follow(
    api: &Api,
    request: &mut Request,
    mounted: Mounted,
    rest: &str,
) -> Result<(Workspace, Option<Window>), ApiError> {
    let leads = match mounted.leads {
        Ok(leads) => leads,
        Err(error) => {
            request.extensions_mut().insert(Ended(error));
            taken_off(request)?;
            return Ok((mounted.home, None));
        }
    };
    let uri = below(request.uri(), &format!("{leads}{rest}")).ok_or_else(ApiError::no_such_path)?;
    *request.uri_mut() = uri;
    if let Some(seen) = window(api, request)? {
        return Ok(seen);
    }
    let found = split(request.uri().path()).0.and_then(|named| api.workspaces.find(Some(named)));
    taken_off(request)?;
    Ok((found.unwrap_or_else(Workspace::nowhere), None))
}

fn split(path: &str) -> (Option<&str>, &str) {
    let Some(after) = path.strip_prefix(PREFIX) else { return (None, path) };
    match after.find('/') {
        Some(slash) => (Some(&after[..slash]), &after[slash..]),
        None => (Some(after), "/"),
    }
}

fn below(uri: &Uri, path: &str) -> Option<Uri> {
    let text = uri.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(text).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_taken_off_the_path() {
        assert_eq!(split("/api/v1/pods"), (None, "/api/v1/pods"));
        assert_eq!(split("/clusters/root:a/api/v1/pods"), (Some("root:a"), "/api/v1/pods"));
        assert_eq!(split("/clusters/root"), (Some("root"), "/"));
        let uri: Uri = "https://h:1/clusters/root/api?x=y".parse().unwrap();
        assert_eq!(below(&uri, "/api").unwrap().to_string(), "https://h:1/api?x=y");
    }
}
