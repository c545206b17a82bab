//! `/clusters/<path>/...`: which workspace the rest of the path is in.

use crate::api::Api;
use crate::error::ApiError;
use crate::place::Workspace;
use crate::window::Window;
use axum::extract::Request;
use http::Uri;
use http::uri::PathAndQuery;

const PREFIX: &str = "/clusters/";

/// The workspace, which is taken off the path. Whether there is one is nobody's business who may not enter it: a request
/// into none goes the way of all others, and is refused where they are.
pub(super) fn workspace(api: &Api, request: &mut Request) -> Result<(Workspace, Option<Window>), ApiError> {
    if let Some((window, rest)) = api.workspaces.window(request.uri().path()) {
        let uri = below(request.uri(), &rest).ok_or_else(ApiError::no_such_path)?;
        *request.uri_mut() = uri;
        let home = window.as_ref().map_or_else(Workspace::nowhere, |window| window.home.clone());
        return Ok((home, window));
    }
    if let Some(meant) = api.workspaces.meant(request.uri()) {
        *request.uri_mut() = meant;
    }
    let (named, rest) = split(request.uri().path());
    let workspace = api.workspaces.find(named).unwrap_or_else(Workspace::nowhere);
    if named.is_some() {
        let uri = below(request.uri(), rest).ok_or_else(ApiError::no_such_path)?;
        *request.uri_mut() = uri;
    }
    Ok((workspace, None))
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
