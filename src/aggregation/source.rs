//! What wakes the controller: every `APIService`, and the services and slices that one of them names.

use super::{Key, SERVICES};
use crate::controller::Source;
use apiserver::client::{Client, Follow, Seen};
use apiserver::keyspace;
use apiserver::object::Peek;
use apiserver::place::Workspace;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use storage::{ReadError, Version};

/// A service: its workspace, namespace and name.
type Which = (Workspace, String, String);

/// Which registrations name a service. Nothing else is locked while it is held.
pub(super) type Users = Arc<Mutex<HashMap<Which, HashSet<String>>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    Registrations,
    Services,
    Slices,
}

pub(super) struct Watched {
    pub(super) client: Client,
    pub(super) users: Users,
    pub(super) index: Index,
}

impl Source for Watched {
    type Key = Key;

    fn follow(&mut self) -> Result<Follow, ReadError> {
        let (group, version, plural) = match self.index {
            Index::Registrations => SERVICES,
            Index::Services => ("", "v1", "services"),
            Index::Slices => ("discovery.k8s.io", "v1", "endpointslices"),
        };
        let found = self.client.builtin().find(group, version, plural);
        self.client.follow(found.ok_or_else(|| ReadError::Unavailable(format!("{plural} are not served")))?)
    }

    fn keys(&mut self, seen: &Seen) -> Vec<Key> {
        let Some(parts) = keyspace::parse(&seen.key) else { return Vec::new() };
        let workspace = Workspace::new(parts.workspace);
        let service = match self.index {
            Index::Registrations => {
                self.note(&workspace, parts.name, seen);
                return vec![Key { workspace, name: parts.name.to_owned() }];
            }
            Index::Services => Some(parts.name.to_owned()),
            Index::Slices => seen.now.as_ref().or(seen.before.as_ref()).and_then(of_service),
        };
        let Some(service) = service else { return Vec::new() };
        let which = (workspace.clone(), parts.namespace.unwrap_or_default().to_owned(), service);
        let users = self.users.lock();
        let names = users.get(&which).into_iter().flatten();
        names.map(|name| Key { workspace: workspace.clone(), name: name.clone() }).collect()
    }
}

impl Watched {
    /// Remembers which service a registration names.
    fn note(&self, workspace: &Workspace, name: &str, seen: &Seen) {
        let mut users = self.users.lock();
        if let Some(which) = seen.before.as_ref().and_then(|version| named(workspace, version))
            && let Some(names) = users.get_mut(&which)
        {
            names.remove(name);
            if names.is_empty() {
                users.remove(&which);
            }
        }
        if let Some(which) = seen.now.as_ref().and_then(|version| named(workspace, version)) {
            users.entry(which).or_default().insert(name.to_owned());
        }
    }
}

fn named(workspace: &Workspace, registered: &Version) -> Option<Which> {
    let word = |field| Peek::new(registered).text(&["spec", "service", field]).map(|text| text.into_owned());
    Some((workspace.clone(), word("namespace")?, word("name")?))
}

fn of_service(slice: &Version) -> Option<String> {
    Peek::new(slice).labels()?.get("kubernetes.io/service-name")?.as_str().map(str::to_owned)
}
