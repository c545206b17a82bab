//! The documents of every catalog that somebody asked about.

use super::documents::Documents;
use crate::catalog::Catalog;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Catalogs whose documents are kept. Those of others are made when they are asked for.
const KEPT_MAX: usize = 256;

/// Windows whose documents are kept: they are few, and looked through.
const SEEN_MAX: usize = 64;

/// Most workspaces add nothing to what is built in, and share its documents.
#[derive(Debug)]
pub(crate) struct Library {
    builtin: Arc<Documents>,
    /// By the place of a catalog, and from where it is seen. Workspaces that serve the same have one catalog. Nothing else is
    /// locked, and no document is made, while this is held.
    own: Mutex<HashMap<(usize, &'static str), Own>>,
    /// What is offered of a catalog to another API server. Nothing else is locked while this is held.
    offered: Mutex<Option<(Arc<Catalog>, Arc<Documents>)>>,
    /// What is seen through windows, the newest last. Nothing else is locked while this is held.
    seen: Mutex<VecDeque<Arc<Documents>>>,
}

/// The documents of a catalog, or of what is seen of it. For as long as it is held, no other has its place.
#[derive(Debug)]
struct Own {
    catalog: Arc<Catalog>,
    documents: Arc<Documents>,
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

    /// The documents of a catalog that adds to what is built in.
    pub(crate) fn of(&self, catalog: &Arc<Catalog>) -> Arc<Documents> {
        self.kept(catalog, "", || catalog.clone())
    }

    /// The same of what is to be seen of it from somewhere.
    pub(crate) fn within(&self, catalog: &Arc<Catalog>, context: &'static str) -> Arc<Documents> {
        self.kept(catalog, context, || catalog.within(context).map_or_else(|| catalog.clone(), Arc::new))
    }

    fn kept(
        &self,
        catalog: &Arc<Catalog>,
        context: &'static str,
        seen: impl FnOnce() -> Arc<Catalog>,
    ) -> Arc<Documents> {
        let place = (Arc::as_ptr(catalog).addr(), context);
        if let Some(known) = self.own.lock().get(&place) {
            return known.documents.clone();
        }
        let seen = seen();
        if self.builtin.are_of(&seen) {
            return self.builtin.clone();
        }
        let documents = Arc::new(Documents::new(seen, Some(self.builtin.clone())));
        let mut own = self.own.lock();
        if own.len() >= KEPT_MAX {
            make_room(&mut own);
        }
        own.entry(place).or_insert(Own { catalog: catalog.clone(), documents }).documents.clone()
    }
}

/// Lets go of what nobody serves any more, or of any: they are made again when they are asked for.
fn make_room(own: &mut HashMap<(usize, &'static str), Own>) {
    let held_by = |of: &Own| if Arc::ptr_eq(&of.catalog, of.documents.catalog()) { 2 } else { 1 };
    own.retain(|_, of| Arc::strong_count(&of.catalog) > held_by(of));
    if own.len() >= KEPT_MAX
        && let Some(other) = own.keys().next().copied()
    {
        own.remove(&other);
    }
}

/// The documents of what every workspace serves.
fn documents(catalog: &Arc<Catalog>) -> Arc<Documents> {
    Arc::new(Documents::new(catalog.clone(), catalog.below().map(documents)))
}
