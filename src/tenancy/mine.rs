//! Which workspaces somebody may enter, anywhere: `GET /clusters/*/apis/tenancy.kcp.io/v1alpha1/workspaces` of those whom
//! the root does not let look at everything. What is found there follows from the bindings that name them.

use super::identity;
use super::index::Index;
use super::subjects::{BINDINGS, Subject, Subjects, named, subjects_of};
use super::words::{ITSELF, LOGICAL_CLUSTERS, WORKSPACES, branded};
use apiserver::auth::{AUTHENTICATED, Attributes, User};
use apiserver::catalog::{Catalog, ResourceDef};
use apiserver::client::Client;
use apiserver::error::ApiError;
use apiserver::keyspace;
use apiserver::object::Peek;
use apiserver::place::Workspace;
use apiserver::target::Target;
use apiserver::view::{Seeing, View};
use apiserver::window::{Pane, Window};
use bytes::Bytes;
use std::borrow::Cow;
use std::sync::Arc;
use storage::{Change, Key, KeyRange};

/// Comes with its workspace, which is told of itself.
const ADMINISTRATOR: &str = "workspace-admin";

/// What somebody sees of all workspaces; nothing if that is not what they ask for.
pub(super) fn narrowed(
    client: &Client,
    subjects: &Arc<Index<Subjects>>,
    window: &Window,
    user: &Arc<User>,
    target: &Target,
) -> Option<Window> {
    let asks = match target {
        Target::Objects { at, .. } => is_workspaces(&at.resource),
        Target::Discovery(..) | Target::OpenApi(..) => true,
        _ => false,
    };
    if !asks || !user.is_in(AUTHENTICATED) {
        return None;
    }
    let (group, version, plural) = WORKSPACES;
    let catalog = Arc::new(Catalog::of(client.builtin().find(group, version, plural).cloned()));
    let mine = Mine { client: client.clone(), subjects: subjects.clone(), user: user.clone() };
    Some(Window { catalog, pane: Arc::new(mine), ..window.clone() })
}

fn is_workspaces(resource: &ResourceDef) -> bool {
    (&*resource.group, &*resource.plural) == (WORKSPACES.0, WORKSPACES.2)
}

/// The workspaces of somebody.
#[derive(Clone, Debug)]
struct Mine {
    client: Client,
    subjects: Arc<Index<Subjects>>,
    user: Arc<User>,
}

impl Mine {
    /// As whom they may be named somewhere: at home, if they have one, and abroad.
    fn standing(&self) -> Vec<Cow<'_, User>> {
        let mut all = identity::standing(&self.user, &Workspace::everywhere());
        if let Some(home) = &self.user.within {
            all.extend(identity::standing(&self.user, home));
        }
        all
    }

    fn may_enter(&self, workspace: &Workspace) -> bool {
        self.client.allows(&self.user, workspace, &Attributes::path("access", "/")).unwrap_or(false)
    }

    /// The key of the workspace that a logical cluster is behind.
    fn key_of(&self, id: &Workspace) -> Option<Key> {
        let at = self.client.at(LOGICAL_CLUSTERS, id, None).ok()?.object(ITSELF);
        let itself = self.client.glance(&at).ok()??;
        let said = |field: &str| Peek::of(&itself).text(&["spec", "owner", field]);
        let parent = Workspace::new(&said("cluster")?);
        keyspace::key(&self.client.at(WORKSPACES, &parent, None).ok()?.object(&said("name")?)).ok()
    }
}

impl Pane for Mine {
    fn admits(&self, _: &Target) -> Result<(), ApiError> {
        Ok(())
    }

    fn view(&self, _: &ResourceDef) -> Seeing {
        Some(Arc::new(self.clone()))
    }
}

impl View for Mine {
    fn sees(&self, _: &Key, value: &[u8]) -> bool {
        let id = Peek::of(value).text(&["spec", "cluster"]);
        id.is_some_and(|id| self.may_enter(&Workspace::new(&id)))
    }

    fn shown(&self, key: &Key, value: &Bytes) -> Bytes {
        branded(key, value)
    }

    fn keys(&self) -> Result<Option<Vec<Key>>, ApiError> {
        let standing = self.standing();
        let named = self.subjects.ask(&self.client, |known| known.workspaces(&standing))?;
        let ids = named.iter().map(|id| Workspace::new(id));
        Ok(Some(ids.filter_map(|id| self.key_of(&id)).collect()))
    }

    fn depends_on(&self) -> Option<KeyRange> {
        let place = self.client.at(BINDINGS, &Workspace::everywhere(), None).ok()?;
        keyspace::range(&place).ok()
    }

    fn is_moved_by(&self, change: &Change) -> bool {
        let born =
            change.previous.is_none() && keyspace::parse(&change.key).is_some_and(|parts| parts.name == ADMINISTRATOR);
        let mine = subjects_of(&self.standing());
        let names =
            |version: &storage::Version| named(&version.value).iter().any(|subject: &Subject| mine.contains(subject));
        !born && change.previous.iter().chain(&change.current).any(names)
    }
}
