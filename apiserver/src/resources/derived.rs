//! What is made out of the objects of a workspace, kept ready, and made anew when one of them changes.
//!
//! Every write of such an object also writes a mark of its workspace. Whoever wants what was made compares one
//! revision; a workspace that has no such object has no mark, and costs nothing.

use super::Resources;
use crate::error::ApiError;
use crate::keyspace::{self, Mark};
use crate::place::Workspace;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use storage::{Revision, Snapshot};

/// What was made, as of a mark.
#[derive(Debug)]
pub(super) struct AsOf<T> {
    /// Zero where there never was anything.
    pub(super) marked: Revision,
    /// The newest mark of all that it is made of.
    since: Revision,
    pub(super) made: Option<Arc<T>>,
}

impl<T> Clone for AsOf<T> {
    fn clone(&self) -> Self {
        Self { marked: self.marked, since: self.since, made: self.made.clone() }
    }
}

#[derive(Debug)]
pub(super) struct Derived<T> {
    mark: Mark,
    /// Workspaces for which it is kept. For others it is made when somebody asks.
    kept_max: usize,
    /// Nothing else is locked, and nothing is read, while this is held.
    kept: Mutex<HashMap<Workspace, AsOf<T>>>,
}

impl<T> Derived<T> {
    pub(super) fn new(mark: Mark, kept_max: usize) -> Self {
        Self { mark, kept_max, kept: Mutex::default() }
    }

    /// `make` is given the objects, and what was made of them before.
    pub(super) fn get(
        &self,
        resources: &Resources,
        workspace: &Workspace,
        make: impl FnOnce(&Snapshot, Option<&T>) -> Result<T, ApiError>,
    ) -> Result<AsOf<T>, ApiError> {
        self.get_with(resources, workspace, Revision::ZERO, make)
    }

    /// The same of what is also made of something else, as of that one's mark. A mark moves to a revision that no mark had
    /// before, so that the newest of two tells when either did.
    pub(super) fn get_with(
        &self,
        resources: &Resources,
        workspace: &Workspace,
        other: Revision,
        make: impl FnOnce(&Snapshot, Option<&T>) -> Result<T, ApiError>,
    ) -> Result<AsOf<T>, ApiError> {
        let snapshot = resources.inner.store.recent();
        let mark = keyspace::mark(workspace, self.mark)?;
        let Some(marked) = snapshot.get(mark.as_bytes())?.map(|version| version.modified) else {
            return Ok(AsOf { marked: Revision::ZERO, since: other, made: None });
        };
        let since = marked.max(other);
        let known = self.kept.lock().get(workspace).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.since == since) {
            return Ok(known.clone());
        }
        let before = known.as_ref().and_then(|known| known.made.as_deref());
        let made = AsOf { marked, since, made: Some(Arc::new(make(&snapshot, before)?)) };
        self.keep(workspace, &made);
        Ok(made)
    }

    fn keep(&self, workspace: &Workspace, made: &AsOf<T>) {
        let mut kept = self.kept.lock();
        if kept.len() >= self.kept_max && !kept.contains_key(workspace) {
            // Any will do: it is made again when it is asked for.
            if let Some(other) = kept.keys().next().cloned() {
                kept.remove(&other);
            }
        }
        let newer = kept.get(workspace).is_some_and(|known| known.since > made.since);
        if !newer {
            kept.insert(workspace.clone(), made.clone());
        }
    }
}
