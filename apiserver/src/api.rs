//! What answering a request needs, handed to every layer and verb.

use crate::audit::Audit;
use crate::auth::{TokenIssuer, User};
use crate::authn::{Authentication, Bearer};
use crate::catalog::Catalog;
use crate::discovery::{Documents, Library};
use crate::error::ApiError;
use crate::hooks::Later;
use crate::lookout::Lookouts;
use crate::metrics::Metrics;
use crate::passage::Passage;
use crate::place::{ObjectRef, Workspace};
use crate::relay::Relay;
use crate::resources::Resources;
use crate::window::Window;
use bytes::Bytes;
use http::Uri;
use serde_json::Value;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use tokio_util::sync::CancellationToken;

/// Finds the workspace that a path names: `root:default`, an id, or nothing for the one that is meant without a word.
pub trait FindWorkspace: Send + Sync + 'static {
    fn find(&self, path: Option<&str>) -> Option<Workspace>;

    /// Where a workspace is, as people say it.
    fn path(&self, _: &Workspace) -> Option<String> {
        None
    }

    /// The object that a name stands for to whoever asks, if it is such a name. No object is called so.
    fn stands_for<'a>(&'a self, _: &ObjectRef, _: &'a User) -> Option<Later<'a, Result<Bytes, ApiError>>> {
        None
    }

    /// The window that a path leads to, and the rest of the path; nothing if it is the path of none.
    fn window(&self, _path: &str) -> Option<(Option<Window>, String)> {
        None
    }

    /// What is at a path that leads to no workspace, if something is.
    fn mounted(&self, _path: &str) -> Option<Mounted> {
        None
    }

    /// What is meant by a way of saying it that is not everybody's: the same with `/clusters/<path>` in front.
    fn meant(&self, _: &Uri) -> Option<Meant> {
        None
    }
}

/// A place among workspaces at which there is something else.
#[derive(Clone, Debug)]
pub struct Mounted {
    /// The workspace that the place is in.
    pub home: Workspace,
    /// The path at which requests go on; or why they do not.
    pub leads: Result<String, ApiError>,
}

/// What is meant by a path, and what follows from its being said in this way.
#[derive(Clone, Debug)]
pub struct Meant {
    pub uri: Uri,
    pub said: Said,
}

/// What is known of a request by the way in which it says where it wants to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// What is known of whoever asks, besides who they are.
    pub extra: Vec<(&'static str, String)>,
    /// From where resources are looked at: some are to be seen from some places only.
    pub context: Option<&'static str>,
}

impl<F: Fn(Option<&str>) -> Option<Workspace> + Send + Sync + 'static> FindWorkspace for F {
    fn find(&self, path: Option<&str>) -> Option<Workspace> {
        self(path)
    }
}

/// Everything of a running API server. Cheap to clone: every layer of the pipeline has one, for every request.
#[derive(Clone)]
pub struct Api(Arc<Parts>);

impl Deref for Api {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// What an API server is made of.
pub struct Parts {
    pub resources: Resources,
    pub workspaces: Arc<dyn FindWorkspace>,
    pub tokens: TokenIssuer,
    pub authentication: Arc<Authentication>,
    pub audit: Option<Audit>,
    /// What `/version` says.
    pub version: Arc<Value>,
    /// The way to API servers behind this one.
    pub relay: Relay,
    /// What is behind objects that lead on.
    pub(crate) passage: OnceLock<Arc<dyn Passage>>,
    documents: Library,
    pub(crate) metrics: Metrics,
    /// Ends watches.
    pub(crate) stopping: CancellationToken,
    pub(crate) draining: AtomicBool,
    /// Who watches.
    pub(crate) lookouts: Arc<Lookouts>,
}

impl Api {
    pub fn new(
        resources: Resources,
        workspaces: Arc<dyn FindWorkspace>,
        tokens: TokenIssuer,
        authentication: Arc<Authentication>,
        audit: Option<Audit>,
        version: Value,
    ) -> Self {
        let stopping = CancellationToken::new();
        Self(Arc::new(Parts {
            relay: Relay::new(resources.clone(), stopping.clone()),
            passage: OnceLock::new(),
            authentication,
            audit,
            documents: Library::new(resources.builtin()),
            resources,
            workspaces,
            tokens,
            version: Arc::new(version),
            metrics: Metrics::new(),
            stopping,
            draining: AtomicBool::new(false),
            lookouts: Arc::default(),
        }))
    }

    /// Says who knows what is behind objects. The first who is named does.
    pub fn lead(&self, passage: Arc<dyn Passage>) {
        let _ = self.passage.set(passage);
    }

    /// Who a token belongs to that is shown in a workspace.
    pub(crate) async fn bearer(&self, token: &str, workspace: &Workspace) -> Option<Bearer> {
        let found = match self.resources.bearer(token, &self.tokens, workspace) {
            Some(own) => Some(own),
            None => self.authentication.bearer(token, self.resources.ambient().now().seconds).await,
        };
        found.filter(|bearer| !self.authentication.is_revoked(&bearer.user))
    }

    /// Whether a token is meant for this server.
    pub(crate) fn is_meant(&self, bearer: &Bearer) -> bool {
        let own = self.tokens.audiences();
        bearer.audiences.as_ref().is_none_or(|meant| meant.iter().any(|name| own.contains(name)))
    }

    /// The documents of what a workspace serves.
    pub(crate) fn documents(&self, workspace: &Workspace) -> Result<Arc<Documents>, ApiError> {
        Ok(self.documents.of(&self.resources.catalog(workspace)?))
    }

    /// The same of what is to be seen from somewhere.
    pub(crate) fn documents_within(
        &self,
        workspace: &Workspace,
        context: &'static str,
    ) -> Result<Arc<Documents>, ApiError> {
        Ok(self.documents.within(&self.resources.catalog(workspace)?, context))
    }

    /// The documents of what is seen through a window.
    pub(crate) fn documents_seen(&self, catalog: &Arc<Catalog>) -> Arc<Documents> {
        self.documents.seen(catalog)
    }

    /// The documents of what a workspace offers to the API server that this one stands behind.
    pub(crate) fn offered(&self, workspace: &Workspace) -> Result<Arc<Documents>, ApiError> {
        let groups = self.authentication.host.as_ref().map_or(&[][..], |host| &host.groups);
        Ok(self.documents.offered(&self.resources.catalog(workspace)?, groups))
    }

    /// From now on this server is not ready for anything new. What has begun goes on.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
    }

    /// Ends all watches of a workspace.
    pub fn end_watches(&self, workspace: &Workspace) {
        self.lookouts.end(workspace);
    }

    /// Ends all watches.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("resources", &self.resources).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("resources", &self.resources).finish_non_exhaustive()
    }
}
