//! The verbs, without HTTP: what is read, and what happens to an object between its author and the store.
//!
//! Every door asks for an [`Authorized`] place. A write goes: decode → default → admit → prepare → allocate → validate →
//! check → commit; what is read are the stored bytes. Start with [`Resources`].

mod account;
mod apply;
mod backends;
mod binding;
mod computed;
mod content;
mod counts;
mod create;
mod delete;
mod derived;
mod fields;
mod flows;
mod gate;
mod lent;
mod list;
mod mutate;
mod owners;
mod patch;
mod read;
mod reading;
mod records;
mod room;
mod rules;
mod scale;
mod select;
mod served;
mod shared;
mod sight;
mod token;
mod update;
mod versions;
mod watch;
mod write;

pub use content::{ContentPage, Kept};
pub use create::Create;
pub use delete::{Deleted, DeletedMany, Deletion};
pub use list::Page;
pub use patch::{PatchBody, PatchKind};
pub use room::Room;
pub use scale::Scaled;
pub use select::Filter;
pub use watch::{Event, EventKind, Watch};

use crate::ambient::Ambient;
use crate::attend::{Attendant, Nobody};
use crate::auth::Elsewhere;
use crate::catalog::Catalog;
use crate::computed::Compute;
use crate::error::ApiError;
use crate::hooks::call::{HttpCaller, NoServices};
use crate::object::Object;
use crate::place::ObjectRef;
use crate::strategy::Surroundings;
use backends::Registered;
use bytes::Bytes;
use counts::Counts;
use flows::Flowbooks;
use gate::Gates;
use rules::Rulebooks;
use served::Catalogs;
use std::sync::{Arc, OnceLock};
use storage::{Store, Version};

/// Objects, behind permission. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Resources {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    catalogs: Catalogs,
    gates: Gates,
    counts: Counts,
    rulebooks: Rulebooks,
    flowbooks: Flowbooks,
    registered: Registered,
    ambient: Ambient,
    attendant: Arc<dyn Attendant>,
    /// Who decides besides the rules of a workspace.
    elsewhere: Option<Arc<dyn Elsewhere>>,
    compute: OnceLock<Arc<dyn Compute>>,
    room: OnceLock<Room>,
}

/// What a write leaves behind, and what its author should be told.
#[derive(Clone, Debug)]
pub struct Written {
    pub bytes: Bytes,
    pub created: bool,
    pub warnings: Vec<String>,
}

/// An object and the stored version that it was read from.
#[derive(Clone, Debug)]
struct Found {
    object: Object,
    version: Version,
}

impl Resources {
    pub fn new(store: Store, catalog: Arc<Catalog>, ambient: Ambient) -> Self {
        Self::attended(store, catalog, ambient, Arc::new(Nobody))
    }

    /// The same with somebody who looks after some of the kinds.
    pub fn attended(store: Store, catalog: Arc<Catalog>, ambient: Ambient, attendant: Arc<dyn Attendant>) -> Self {
        Self::consulting(store, catalog, ambient, attendant, None)
    }

    /// The same with somebody who decides who may do what besides the rules of each workspace.
    pub fn consulting(
        store: Store,
        catalog: Arc<Catalog>,
        ambient: Ambient,
        attendant: Arc<dyn Attendant>,
        elsewhere: Option<Arc<dyn Elsewhere>>,
    ) -> Self {
        let (catalogs, gates) = (Catalogs::new(catalog), Gates::new(HttpCaller::new(Arc::new(NoServices), None)));
        let (rulebooks, flowbooks, counts) = (Rulebooks::default(), Flowbooks::default(), Counts::default());
        let (registered, compute) = (Registered::default(), OnceLock::new());
        let inner = Inner {
            store,
            catalogs,
            gates,
            counts,
            rulebooks,
            flowbooks,
            registered,
            ambient,
            attendant,
            elsewhere,
            compute,
            room: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn ambient(&self) -> &Ambient {
        &self.inner.ambient
    }

    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings { ambient: &self.inner.ambient }
    }

    /// The object as it is now.
    fn find(&self, at: &ObjectRef) -> Result<Option<Found>, ApiError> {
        let Some(version) = self.inner.store.recent().get(crate::keyspace::key(at)?.as_bytes())? else {
            return Ok(None);
        };
        Ok(Some(Found { object: parse(&version.value)?, version }))
    }
}

/// Stored bytes are our own. Others mean that somebody else wrote to the store.
fn parse(bytes: &[u8]) -> Result<Object, ApiError> {
    Object::parse(bytes).map_err(|error| {
        tracing::error!(%error, "a stored object cannot be read");
        ApiError::internal("a stored object cannot be read")
    })
}
