//! How requests get to an API server: over the network, or through a door inside this process.

use super::api::{CellError, Later};
use apiserver::auth::User;
use apiserver::pipeline::{Peer, Pipeline};
use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response, Uri};
use std::fmt;
use std::sync::Arc;
use tower::ServiceExt;

/// Sends one request. The body of the answer may go on for as long as a watch does.
pub trait Transport: Send + Sync + fmt::Debug + 'static {
    fn send(&self, request: Request<Bytes>) -> Later<'_, Result<Response<Body>, CellError>>;

    /// The same on behalf of somebody, who may do there what they may do, and nothing else.
    fn send_as(&self, request: Request<Bytes>, user: &Arc<User>) -> Later<'_, Result<Response<Body>, CellError>>;
}

/// A workspace of this server: requests go through everything that requests from outside go through.
#[derive(Clone)]
pub(super) struct Local {
    pipeline: Pipeline,
    user: Arc<User>,
    /// `/clusters/<workspace>`
    prefix: String,
}

impl Local {
    pub(super) fn new(pipeline: Pipeline, workspace: &str) -> Self {
        Self { pipeline, user: User::system("syncer"), prefix: format!("/clusters/{workspace}") }
    }

    fn inside(&self, request: Request<Bytes>, user: &Arc<User>) -> Result<Request<Body>, CellError> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        parts.uri = format!("{}{path}", self.prefix)
            .parse::<Uri>()
            .map_err(|error| CellError::Unusable(format!("invalid path: {error}")))?;
        parts.extensions.insert(Peer { user: Some(user.clone()), proxy: None });
        Ok(Request::from_parts(parts, Body::from(body)))
    }
}

impl Transport for Local {
    fn send(&self, request: Request<Bytes>) -> Later<'_, Result<Response<Body>, CellError>> {
        self.send_as(request, &self.user)
    }

    /// Whoever asks is known here: they are who they are in the other workspace, which may be nobody.
    fn send_as(&self, request: Request<Bytes>, user: &Arc<User>) -> Later<'_, Result<Response<Body>, CellError>> {
        let user = user.clone();
        Box::pin(async move {
            let request = self.inside(request, &user)?;
            let answered = self.pipeline.clone().oneshot(request).await;
            answered.map_err(|error| CellError::Unreachable(error.to_string()))
        })
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
