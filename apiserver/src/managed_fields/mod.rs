//! Server-side apply: who owns which fields of an object, and what happens when they write.
//!
//! Whoever updates an object owns what they changed; whoever applies owns what they said, is refused what others own, and
//! takes out what they said before and do not say any more. Pure: objects in, objects out; `metadata.managedFields` holds
//! all there is to know. Start with [`Writer`].
//!
//! Each does what a Kubernetes API server does with the same input, its texts included. Trees are as deep as `serde_json`
//! reads them, and nothing here makes a deeper one.

mod check;
mod compare;
mod configuration;
mod conflict;
mod holdings;
mod last_applied;
mod merge;
mod ownership;
mod scale;
mod schema;
mod set;
mod step;

pub use configuration::lay_over;
pub use conflict::{Cause, Conflicts};
pub use holdings::EntryError;
pub use ownership::Force;
pub use scale::{to_parent, to_scale};
pub use schema::{Scalar, Schema, Spot};
pub use set::{FieldSet, SetError};
pub use step::{Item, Step, StepError};

use check::{Duplicates, check};
use holdings::{Holding, Holdings, Operation, Owner};
use openapi::scalar::time::Instant;
use ownership::Trouble;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;

/// A kind in all of its versions.
pub trait Kind {
    /// The type of its objects in a version; none in one that is not served.
    fn schema(&self, api_version: &str) -> Option<Schema<'_>>;

    /// An object in another version; the same where it is in that version already.
    fn convert<'a>(&self, object: &'a Value, api_version: &str) -> Option<Cow<'a, Value>>;

    /// An object of which nothing is said.
    fn empty(&self, api_version: &str) -> Value;
}

/// Somebody who writes an object, and what they write.
#[derive(Clone, Copy)]
pub struct Writer<'a> {
    pub kind: &'a dyn Kind,
    /// Empty for somebody unknown.
    pub name: &'a str,
    /// The version in which the object is written.
    pub api_version: &'a str,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// Fields that this way to write never changes, and so never owns.
    pub reset: &'a FieldSet,
    pub now: Instant,
}

/// Why nothing was applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    #[error("metadata.managedFields must be nil")]
    Entries,
    #[error("{}", .0.message)]
    Conflicts(Conflicts),
    #[error("failed to create typed {what} object ({object}): {why}")]
    Untyped { what: &'static str, object: String, why: String },
    /// The object does not fit a version in which somebody owns fields of it.
    #[error("{0}")]
    Unconvertible(String),
    #[error("failed to decode managed fields: {0}")]
    Unreadable(#[from] EntryError),
}

/// What nobody owns: who the object is, and what the server keeps of it.
const STRIPPED: &[&[&str]] = &[
    &["apiVersion"],
    &["kind"],
    &["metadata"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

/// Who wrote an object before anybody applied to it, where that was not recorded.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
const UNKNOWN: &str = "unknown";

fn remove_entries(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// How messages name an object: `default/web; apps/v1, Kind=Deployment`.
fn named(object: &Value) -> String {
    let word = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let version = word("/apiVersion");
    let slash = if version.contains('/') { "" } else { "/" };
    format!("{}/{}; {slash}{version}, Kind={}", word("/metadata/namespace"), word("/metadata/name"), word("/kind"))
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Writer({:?}, {}, {:?})", self.name, self.api_version, self.subresource)
    }
}

impl Writer<'_> {
    fn owner(&self, name: &str, operation: Operation) -> Owner {
        let name = if name.is_empty() { UNKNOWN } else { name };
        Owner::new(name, operation, self.api_version, self.subresource)
    }

    /// Records in `new` what its author changed. An object that is new has an empty one before it, and one whose owners
    /// were forgotten stays without any until somebody applies.
    pub fn update(&self, live: &Value, new: &mut Value) {
        let holdings = self.holdings_of(live, new);
        remove_entries(new);
        let is_new = live.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default().is_empty();
        let holdings =
            if holdings.is_empty() && !is_new { Some(holdings) } else { self.updated(holdings, live, new, self.name) };
        match holdings {
            Some(holdings) => holdings::set(new, &holdings),
            // Better the owners of yesterday than none.
            None => keep_entries(new, live),
        }
    }

    /// An object may bring its owners along, unless only a part of it is written.
    fn holdings_of(&self, live: &Value, new: &Value) -> Holdings {
        if self.subresource.is_empty() {
            if holdings::is_reset(new) {
                return Holdings::new();
            }
            if let Some(said) = holdings::read(holdings::entries(new)).ok().filter(|said| !said.is_empty()) {
                return said;
            }
        }
        holdings::read(holdings::entries(live)).unwrap_or_default()
    }

    /// `None` if an object is not of its type.
    fn updated(&self, mut holdings: Holdings, live: &Value, new: &Value, name: &str) -> Option<Holdings> {
        let schema = self.kind.schema(self.api_version)?;
        check(live, schema, Duplicates::Allowed).ok()?;
        check(new, schema, Duplicates::Allowed).ok()?;
        let found = ownership::take(self, &mut holdings, (live, new), None, Force::Yes).ok()?;
        let changed = found.modified.union(&found.added).difference(&FieldSet::of(STRIPPED));
        if !changed.is_empty() {
            let owner = self.owner(name, Operation::Update);
            let before = holdings.remove(&owner).map(|holding| holding.fields).unwrap_or_default();
            let fields = changed.union(&before);
            let holding = Holding { fields, api_version: self.api_version.to_owned(), time: Some(self.now) };
            holdings.insert(owner, holding);
        }
        holdings::cap(&mut holdings);
        Some(holdings)
    }

    /// What the object becomes when its author wants what `config` says.
    pub fn apply(&self, live: &Value, config: &Value, force: Force) -> Result<Value, ApplyError> {
        if !holdings::entries(config).is_empty() {
            return Err(ApplyError::Entries);
        }
        let mut holdings = holdings::read(holdings::entries(live))?;
        let mut live = live.clone();
        remove_entries(&mut live);
        let untyped = |what, object: &Value, why| ApplyError::Untyped { what, object: named(object), why };
        let schema = self
            .kind
            .schema(self.api_version)
            .ok_or_else(|| untyped("patch", config, format!("no corresponding type for {}", self.api_version)))?;
        if holdings.is_empty() {
            let empty = self.kind.empty(self.api_version);
            holdings = self.updated(holdings, &empty, &live, BEFORE_FIRST_APPLY).unwrap_or_default();
        }
        check(config, schema, Duplicates::Refused).map_err(|why| untyped("patch", config, why))?;
        check(&live, schema, Duplicates::Allowed).map_err(|why| untyped("live", &live, why))?;
        let owner = self.owner(self.name, Operation::Apply);
        let mut new = self.applied(schema, &mut holdings, (&live, config), &owner, force)?;
        if let Some(holding) = holdings.get_mut(&owner) {
            holding.fields = holding.fields.difference(&FieldSet::of(STRIPPED));
        }
        holdings.retain(|_, holding| !holding.fields.is_empty());
        if self.name == last_applied::KUBECTL {
            last_applied::keep_up(&mut new, config);
        }
        holdings::set(&mut new, &holdings);
        Ok(new)
    }

    fn applied(
        &self,
        schema: Schema<'_>,
        holdings: &mut Holdings,
        objects: (&Value, &Value),
        owner: &Owner,
        force: Force,
    ) -> Result<Value, ApplyError> {
        let before = holdings.clone();
        let mut left = match ownership::apply(self, schema, holdings, objects, owner, force) {
            Err(Trouble::Conflicts(found)) => found,
            tried => return tried.map_err(ApplyError::from),
        };
        if self.name == last_applied::KUBECTL {
            left = last_applied::without_own(left, objects.0, self.api_version, schema);
        }
        if left.is_empty() {
            *holdings = before;
            return Ok(ownership::apply(self, schema, holdings, objects, owner, Force::Yes)?);
        }
        Err(ApplyError::Conflicts(Conflicts::of(&left)))
    }
}

impl From<Trouble> for ApplyError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Conflicts(found) => Self::Conflicts(Conflicts::of(&found)),
            Trouble::Unconvertible(why) => Self::Unconvertible(why),
        }
    }
}

fn keep_entries(new: &mut Value, live: &Value) {
    let (Some(metadata), Some(entries)) =
        (new.get_mut("metadata").and_then(Value::as_object_mut), live.pointer("/metadata/managedFields"))
    else {
        return;
    };
    metadata.insert("managedFields".to_owned(), entries.clone());
}

/// Whether two objects differ in nothing but when their owners wrote.
pub fn differ_in_times_only(old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    let is_metadata = |field: &str| field == "metadata";
    let (mine, theirs) = (old.iter(), new.iter());
    let rest = mine.filter(|(field, _)| !is_metadata(field)).eq(theirs.filter(|(field, _)| !is_metadata(field)));
    let untimed = |object: &Map<String, Value>| {
        let mut metadata = object.get("metadata").cloned().unwrap_or_default();
        let entries = metadata.get_mut("managedFields").and_then(Value::as_array_mut);
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        metadata
    };
    rest && untimed(old) == untimed(new)
}

#[cfg(test)]
mod tests;
