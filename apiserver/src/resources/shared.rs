//! What is shared with many workspaces is described once: the resources of a definition, and whole catalogs of
//! workspaces that add nothing of their own.

use super::lent::Lent;
use crate::attend::Shared;
use crate::catalog::{self, Catalog, Defined, ResourceDef};
use crate::custom::{Elsewhere, Interned};
use crate::error::ApiError;
use crate::object::Object;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use storage::Revision;

/// Resources and catalogs, for as long as somebody uses them.
#[derive(Debug, Default)]
pub(super) struct Sharing {
    /// Nothing else is locked, and nothing is compiled, while one of these is held.
    resources: Mutex<HashMap<Elsewhere, Weak<[Arc<ResourceDef>]>>>,
    catalogs: Mutex<HashMap<MadeOf, Weak<Catalog>>>,
}

/// The mark of what is lent, and what is shared.
type MadeOf = (Revision, Vec<Elsewhere>);

/// The resources of a definition that is shared.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) by: String,
    pub(super) resources: Defined,
    from: Elsewhere,
}

impl Sharing {
    /// The resources of definitions, which are read where they are not known. One that is gone is not served.
    pub(super) fn resources(
        &self,
        shared: Vec<Shared>,
        read: impl Fn(&Elsewhere) -> Result<Option<Object>, ApiError>,
        interned: &Interned,
    ) -> Result<Vec<Described>, ApiError> {
        let mut all = Vec::with_capacity(shared.len());
        for Shared { by, from } in shared {
            if let Some(resources) = known(&self.resources, &from) {
                all.push(Described { by, resources, from });
            } else if let Some(definition) = read(&from)? {
                let resources = self.described(&from, interned, &definition);
                all.push(Described { by, resources, from });
            }
        }
        Ok(all)
    }

    /// The resources of one definition.
    pub(super) fn described(&self, from: &Elsewhere, interned: &Interned, definition: &Object) -> Defined {
        if let Some(known) = known(&self.resources, from) {
            return known;
        }
        let resources = catalog::shared(definition, &Arc::new(from.clone()), interned);
        keep(&self.resources, from.clone(), &resources);
        resources
    }

    /// The catalog of a workspace. Those with which the same is shared have the same, unless they add to it.
    pub(super) fn catalog(
        &self,
        base: &Arc<Catalog>,
        mut own: Vec<Arc<ResourceDef>>,
        shared: &[Described],
        lent: Option<&Lent>,
    ) -> Arc<Catalog> {
        let alone = own.is_empty() && !shared.is_empty();
        own.extend(shared.iter().flat_map(|shared| shared.resources.iter().cloned()));
        let make = || {
            let left = lent.into_iter().flat_map(|lent| lent.left_by(&own)).flat_map(|(_, left)| left.iter());
            Arc::new(Catalog::with(base, own.iter().chain(left).cloned()))
        };
        if !alone {
            return make();
        }
        let mut from: Vec<Elsewhere> = shared.iter().map(|shared| shared.from.clone()).collect();
        from.sort_unstable_by(|a, b| (&a.name, &a.identity).cmp(&(&b.name, &b.identity)));
        let key = (lent.map_or(Revision::ZERO, |lent| lent.marked), from);
        if let Some(known) = known(&self.catalogs, &key) {
            return known;
        }
        let made = make();
        keep(&self.catalogs, key, &made);
        made
    }
}

fn known<K: Eq + Hash, T: ?Sized>(map: &Mutex<HashMap<K, Weak<T>>>, key: &K) -> Option<Arc<T>> {
    map.lock().get(key).and_then(Weak::upgrade)
}

fn keep<K: Eq + Hash, T: ?Sized>(map: &Mutex<HashMap<K, Weak<T>>>, key: K, value: &Arc<T>) {
    let mut map = map.lock();
    if map.len() == map.capacity() {
        map.retain(|_, value| value.strong_count() > 0);
    }
    map.insert(key, Arc::downgrade(value));
}
