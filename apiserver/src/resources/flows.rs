//! The flow schemas and priority levels of a workspace: made ready when somebody asks for something there, and made anew
//! when one of them changes. A workspace that has none of its own shares those that every Kubernetes has.

use super::derived::Derived;
use super::{Resources, parse};
use crate::error::ApiError;
use crate::fairness::Flows;
use crate::keyspace::{self, Mark};
use crate::object::Object;
use crate::place::{Collection, Workspace};
use std::sync::Arc;
use storage::Snapshot;

const GROUP: &str = "flowcontrol.apiserver.k8s.io";

/// Flows that are kept: some 20 KB each.
const FLOWS_MAX: usize = 1_000;

/// The flows of all workspaces that somebody asked for.
#[derive(Debug)]
pub(super) struct Flowbooks {
    derived: Derived<Flows>,
    /// Of a workspace that has none.
    given: Arc<Flows>,
}

impl Default for Flowbooks {
    fn default() -> Self {
        Self { derived: Derived::new(Mark::Flows, FLOWS_MAX), given: Arc::new(Flows::compile(&[], &[])) }
    }
}

impl Resources {
    pub(crate) fn flows(&self, workspace: &Workspace) -> Result<Arc<Flows>, ApiError> {
        let books = &self.inner.flowbooks;
        // Nobody has written anything down where there is nothing.
        if workspace.is_nowhere() {
            return Ok(books.given.clone());
        }
        let made = books.derived.get(self, workspace, |snapshot, _| {
            let all = |plural: &str| self.flow_objects(workspace, snapshot, plural);
            Ok(Flows::compile(&all("flowschemas")?, &all("prioritylevelconfigurations")?))
        })?;
        Ok(made.made.unwrap_or_else(|| books.given.clone()))
    }

    fn flow_objects(&self, workspace: &Workspace, snapshot: &Snapshot, plural: &str) -> Result<Vec<Object>, ApiError> {
        let Some(resource) = self.builtin().stored_as(GROUP, plural) else { return Ok(Vec::new()) };
        let place = Collection { resource: resource.clone(), workspace: workspace.clone(), namespace: None };
        snapshot.scan(keyspace::range(&place)?).map(|entry| parse(&entry?.version.value)).collect()
    }
}
