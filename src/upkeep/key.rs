//! A namespace of a workspace: what most of these controllers look at.

use apiserver::client::{Client, Seen};
use apiserver::error::ApiError;
use apiserver::keyspace::{self, Parts};
use apiserver::place::{ObjectRef, Workspace};

pub(super) const NAMESPACES: (&str, &str, &str) = ("", "v1", "namespaces");

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NamespaceKey {
    pub(super) workspace: Workspace,
    pub(super) name: String,
}

impl NamespaceKey {
    fn new(workspace: &str, name: &str) -> Self {
        Self { workspace: Workspace::new(workspace), name: name.to_owned() }
    }

    /// The namespace that a change of namespaces is about.
    pub(super) fn of_namespace(seen: &Seen) -> Option<Self> {
        let Parts { workspace, name, .. } = keyspace::parse(&seen.key)?;
        Some(Self::new(workspace, name))
    }

    /// The namespace that an object is in.
    pub(super) fn containing(seen: &Seen) -> Option<Self> {
        let Parts { workspace, namespace, .. } = keyspace::parse(&seen.key)?;
        Some(Self::new(workspace, namespace?))
    }

    pub(super) fn place(&self, client: &Client) -> Result<ObjectRef, ApiError> {
        Ok(client.at(NAMESPACES, &self.workspace, None)?.object(&self.name))
    }
}
