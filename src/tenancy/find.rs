//! Which workspace a request means, out of what is stored.

use super::everywhere::{self, Everywhere};
use super::homes;
use super::lifecycle;
use super::mounts;
use super::path::{self, Tree};
use super::projects::forms;
use super::sharing::schemas;
use super::sharing::window::{self, Windows};
use super::words;
use super::words::{HOME, ITSELF, LOGICAL_CLUSTERS, ROOT, WORKSPACES};
use apiserver::api::{FindWorkspace, Meant, Mounted};
use apiserver::auth::User;
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::hooks::Later;
use apiserver::object::Peek;
use apiserver::place::{ObjectRef, Workspace};
use apiserver::window::Window;
use bytes::Bytes;
use http::Uri;
use std::sync::Arc;

/// What kcp calls the place of its own policies. Here they are everywhere, and the root stands in for it.
const SYSTEM_ADMIN: &str = "system:admin";

/// Looks paths up in the workspaces themselves.
#[derive(Clone, Debug)]
pub struct Finder {
    client: Client,
    windows: Arc<Windows>,
    everywhere: Arc<Everywhere>,
}

impl Finder {
    pub fn new(client: Client) -> Self {
        Self { client, windows: Arc::default(), everywhere: Arc::default() }
    }
}

impl Finder {
    /// The path of a workspace, as it says itself.
    pub fn path_of(&self, workspace: &Workspace) -> Option<String> {
        let itself = self.client.glance(&words::itself(&self.client, workspace).ok()?).ok()??;
        Peek::of(&itself).text(&["metadata", "annotations", words::PATH]).map(|path| path.into_owned())
    }
}

impl FindWorkspace for Finder {
    fn find(&self, path: Option<&str>) -> Option<Workspace> {
        match path.map(path::in_url).as_deref() {
            None => Some(Workspace::new(HOME)),
            Some(SYSTEM_ADMIN) => Some(Workspace::new(ROOT)),
            Some(path) => path::resolve(path, self).map(|id| Workspace::new(&id)),
        }
    }

    fn path(&self, workspace: &Workspace) -> Option<String> {
        self.path_of(workspace)
    }

    fn stands_for<'a>(&'a self, at: &ObjectRef, user: &'a User) -> Option<Later<'a, Result<Bytes, ApiError>>> {
        homes::is_asked_for(at).then(|| Box::pin(homes::of(&self.client, user)) as Later<'_, _>)
    }

    fn window(&self, path: &str) -> Option<(Option<Window>, String)> {
        if let Some(rest) = everywhere::read(path) {
            let (window, rest) = self.everywhere.open(&self.client, rest);
            return Some((Some(window), rest));
        }
        if let Some(address) = lifecycle::read(path) {
            let opened = lifecycle::open(&self.client, &address, |path| self.find(Some(path)));
            return Some((opened, address.rest.to_owned()));
        }
        if let Some(address) = schemas::read(path) {
            let opened = schemas::open(&self.client, &address, |path| self.find(Some(path)));
            return Some((opened, address.rest.to_owned()));
        }
        let address = window::read(path)?;
        let opened = window::open(&self.client, &self.windows, &address, |path| self.find(Some(path)));
        Some((opened, address.rest.to_owned()))
    }

    fn mounted(&self, path: &str) -> Option<Mounted> {
        mounts::at(&self.client, path, |path| self.find(Some(path)))
    }

    fn meant(&self, uri: &Uri) -> Option<Meant> {
        forms::rewritten(uri)
    }
}

impl Tree for Finder {
    fn is_there(&self, id: &str) -> bool {
        let found = self.client.at(LOGICAL_CLUSTERS, &Workspace::new(id), None);
        found.and_then(|clusters| self.client.glance(&clusters.object(ITSELF))).is_ok_and(|bytes| bytes.is_some())
    }

    fn child(&self, parent: &str, name: &str) -> Option<String> {
        let workspaces = self.client.at(WORKSPACES, &Workspace::new(parent), None).ok()?;
        let bytes = self.client.glance(&workspaces.object(name)).ok()??;
        Peek::of(&bytes).text(&["spec", "cluster"]).map(|id| id.into_owned())
    }
}
