//! `/clusters/<path>/...`: which workspace the rest of the path is in.

use super::refused;
use crate::api::Api;
use crate::error::ApiError;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::Uri;
use http::uri::PathAndQuery;

const PREFIX: &str = "/clusters/";

pub(super) async fn workspace(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let (named, rest) = split(request.uri().path());
    let Some(workspace) = api.workspaces.find(named) else {
        // Whether there is one is nobody's business who may not enter it.
        return refused(&request, &ApiError::forbidden_path(request.uri().path(), "workspace access not permitted to"));
    };
    if named.is_some() {
        let rest = rest.to_owned();
        match below(request.uri(), &rest) {
            Some(uri) => *request.uri_mut() = uri,
            None => return refused(&request, &ApiError::no_such_path()),
        }
    }
    request.extensions_mut().insert(workspace);
    next.run(request).await
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
