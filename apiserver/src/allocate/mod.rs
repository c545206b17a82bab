//! What a service is given when it is written: addresses and ports that are nobody else's in the workspace.
//!
//! An address is an `IPAddress`, as in Kubernetes, and a port is a key. Both are made in the transaction that writes
//! the service, and only if they are not there yet; they go in the one that gives them up. So two services never get
//! the same, and nothing is lost between two writes: of two writers that chose the same, the second chooses again.

mod addresses;
mod ports;

use crate::admission::Look;
use crate::ambient::Ambient;
use crate::error::ApiError;
use crate::keyspace::Mark;
use crate::object::Object;
use crate::place::{ObjectRef, Workspace};
use openapi::FieldError;
use std::collections::BTreeSet;
use storage::Revision;

/// What is written together with an object, or not at all.
#[derive(Clone, Debug)]
pub enum Beside {
    /// It must not be there yet.
    MakeAddress(Object),
    DropAddress(String),
    /// It must be nobody's.
    TakePort(u16),
    DropPort(u16),
    /// It must still be as it was read.
    Quota(Object),
    /// It must not have moved since; zero is one that never did.
    Move(Mark, Revision),
    /// Another object, wherever that is. It must not be there yet.
    Make(Box<ObjectRef>, Object),
    /// Wherever it is, it moves.
    Touch(Mark),
    /// It must not have moved since, and whoever writes this does not move it.
    Unmoved(Mark, Revision),
    /// The same of another workspace.
    UnmovedIn(Workspace, Mark, Revision),
    /// The same with another object in its place, which must still be as it was read.
    Replace(Box<ObjectRef>, Object),
    /// Another object, which must still be as it was read.
    Unchanged(Box<ObjectRef>, Revision),
}

#[derive(Clone, Copy)]
pub struct Givers<'a> {
    pub ambient: &'a Ambient,
    pub look: &'a dyn Look,
}

impl std::fmt::Debug for Givers<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Givers")
    }
}

/// Completes a service with what it needs and nobody has, and says what it takes and gives up by that.
pub fn allocate(service: &mut Object, old: Option<&Object>, givers: &Givers<'_>) -> Result<Vec<Beside>, ApiError> {
    let (had_addresses, had_ports) = old.map(held).unwrap_or_default();
    addresses::fill_in(service, &had_addresses, givers)?;
    ports::fill_in(service, &had_ports, givers)?;
    let (addresses, ports) = held(service);
    let mut beside = Vec::new();
    for address in addresses.difference(&had_addresses) {
        beside.push(Beside::MakeAddress(addresses::object(address, service, givers.ambient)));
    }
    beside.extend(had_addresses.difference(&addresses).map(|address| Beside::DropAddress(address.clone())));
    beside.extend(ports.difference(&had_ports).map(|port| Beside::TakePort(*port)));
    beside.extend(had_ports.difference(&ports).map(|port| Beside::DropPort(*port)));
    Ok(beside)
}

/// What a service gives back when it goes.
pub fn release(service: &Object) -> Vec<Beside> {
    let (addresses, ports) = held(service);
    addresses.into_iter().map(Beside::DropAddress).chain(ports.into_iter().map(Beside::DropPort)).collect()
}

fn held(service: &Object) -> (BTreeSet<String>, BTreeSet<u16>) {
    (addresses::of(service), ports::of(service))
}

fn invalid(service: &Object, error: FieldError) -> ApiError {
    ApiError::invalid("", "Service", service.name(), &[error])
}
