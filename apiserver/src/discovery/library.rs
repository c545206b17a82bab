//! The documents of every workspace that somebody asked about.

use super::documents::Documents;
use crate::catalog::Catalog;
use crate::place::Workspace;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Workspaces whose documents are kept. Those of others are made when they are asked for.
const KEPT_MAX: usize = 256;

/// Windows whose documents are kept: they are few, and looked through.
const SEEN_MAX: usize = 64;

/// Most workspaces add nothing to what is built in, and share its documents.
#[derive(Debug)]
pub(crate) struct Library {
    builtin: Arc<Documents>,
    /// Nothing else is locked, and no document is made, while this is held.
    own: Mutex<HashMap<Workspace, Arc<Documents>>>,
    /// What is offered of a catalog to another API server. Nothing else is locked while this is held.
    offered: Mutex<Option<(Arc<Catalog>, Arc<Documents>)>>,
    /// What is seen through windows, the newest last. Nothing else is locked while this is held.
    seen: Mutex<VecDeque<Arc<Documents>>>,
}

impl Library {
    pub(crate) fn new(builtin: &Arc<Catalog>) -> Self {
        Self { builtin: documents(builtin), own: Mutex::default(), offered: Mutex::default(), seen: Mutex::default() }
    }

    /// The documents of some groups of a catalog, and of nothing else.
    pub(crate) fn offered(&self, catalog: &Arc<Catalog>, groups: &[String]) -> Arc<Documents> {
        let mut offered = self.offered.lock();
        if let Some((_, known)) = offered.as_ref().filter(|(of, _)| Arc::ptr_eq(of, catalog)) {
            return known.clone();
        }
        let documents = Arc::new(Documents::new(Arc::new(catalog.only(groups)), None));
        *offered = Some((catalog.clone(), documents.clone()));
        documents
    }

    /// The documents of a catalog that stands for itself.
    pub(crate) fn seen(&self, catalog: &Arc<Catalog>) -> Arc<Documents> {
        let mut seen = self.seen.lock();
        if let Some(known) = seen.iter().find(|known| known.are_of(catalog)) {
            return known.clone();
        }
        if seen.len() >= SEEN_MAX {
            seen.pop_front();
        }
        let documents = Arc::new(Documents::new(catalog.clone(), None));
        seen.push_back(documents.clone());
        documents
    }

    /// The documents of a part of what a workspace serves. Few workspaces have one: they are made each time.
    pub(crate) fn narrowed(&self, catalog: Catalog) -> Arc<Documents> {
        Arc::new(Documents::new(Arc::new(catalog), Some(self.builtin.clone())))
    }

    /// The documents of what a workspace serves.
    pub(crate) fn of(&self, workspace: &Workspace, catalog: &Arc<Catalog>) -> Arc<Documents> {
        if self.builtin.are_of(catalog) {
            return self.builtin.clone();
        }
        let mut own = self.own.lock();
        if let Some(known) = own.get(workspace).filter(|known| known.are_of(catalog)) {
            return known.clone();
        }
        if own.len() >= KEPT_MAX && !own.contains_key(workspace) {
            // Any will do: they are made again when they are asked for.
            if let Some(other) = own.keys().next().cloned() {
                own.remove(&other);
            }
        }
        let documents = Arc::new(Documents::new(catalog.clone(), Some(self.builtin.clone())));
        own.insert(workspace.clone(), documents.clone());
        documents
    }
}

/// The documents of what every workspace serves.
fn documents(catalog: &Arc<Catalog>) -> Arc<Documents> {
    Arc::new(Documents::new(catalog.clone(), catalog.below().map(documents)))
}
