//! The flow schemas and priority levels of a workspace, made ready: which of them a request belongs to.
//!
//! Those that every Kubernetes has lie below a workspace's own, of which the ones of the same names count instead; what is
//! mandatory is always as it must be. [`Flows::classify`] is pure.

mod level;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use level::{Limits, Queuing, Share};

use crate::auth::{Attributes, User};
use crate::object::Object;
use http::HeaderValue;
use level::LevelSpec;
use openapi::flows::{self, MANDATORY};
use schema::SchemaSpec;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Levels that a workspace may have: those who find out whose turn it is look at all of them.
const LEVELS_MAX: usize = 64;

/// Schemas that a workspace may have: every request is held against them.
const SCHEMAS_MAX: usize = 1_000;

/// Where this is true, the server says what an object says, and nobody of the workspace.
const KEPT_BY_SERVER: &str = "apf.kubernetes.io/autoupdate-spec";

/// All flow schemas and priority levels that count in a workspace.
#[derive(Debug)]
pub struct Flows {
    /// In the order in which they are looked at.
    schemas: Vec<Arc<Schema>>,
    levels: Vec<Arc<Level>>,
    /// Of all levels that are limited.
    shares: u32,
}

#[derive(Debug)]
pub struct Schema {
    pub(crate) name: Arc<str>,
    /// As answers tell it: its own, and that of its level.
    pub(crate) uids: (HeaderValue, HeaderValue),
    level: usize,
    spec: SchemaSpec,
}

#[derive(Debug)]
pub(crate) struct Level {
    pub(crate) name: Arc<str>,
    pub(crate) share: Share,
    /// Nobody of the workspace asked for it.
    given: bool,
    uid: HeaderValue,
}

impl Level {
    /// Whether what a level does not lend is there for it at once, also when nobody of it is about. What nobody asked for
    /// is not, as long as who comes can wait for a seat: others would go without it for nothing.
    pub(crate) fn keeps_while_idle(&self) -> bool {
        !self.given || self.share.queuing.is_none()
    }
}

/// Where a request belongs.
#[derive(Clone, Debug)]
pub struct Class {
    pub(crate) schema: Arc<Schema>,
    pub(crate) level: Arc<Level>,
    pub(crate) distinguisher: Arc<str>,
    /// The same for all requests of a flow.
    pub(crate) flow: u64,
}

/// An object of either kind: the one that counts of those with its name.
#[derive(Debug)]
struct Kept {
    given: bool,
    uid: String,
    spec: Value,
}

impl Flows {
    /// `schemas` and `levels` as the workspace has them.
    pub fn compile(schemas: &[Object], levels: &[Object]) -> Self {
        let levels: Vec<Arc<Level>> = merged(flows::levels(), levels, LEVELS_MAX)
            .into_iter()
            .map(|(name, kept)| {
                let share = read::<LevelSpec>(&kept.spec).share();
                Arc::new(Level { name: name.into(), share, given: kept.given, uid: header(&kept.uid) })
            })
            .collect();
        let mut found: Vec<Arc<Schema>> = merged(flows::schemas(), schemas, SCHEMAS_MAX)
            .into_iter()
            .filter_map(|(name, kept)| {
                let spec: SchemaSpec = read(&kept.spec);
                // One that speaks of a level that there is not is none.
                let level = levels.iter().position(|level| *level.name == spec.priority_level_configuration.name)?;
                let uids = (header(&kept.uid), levels[level].uid.clone());
                Some(Arc::new(Schema { name: name.into(), uids, level, spec }))
            })
            .collect();
        found.sort_by(|a, b| (a.spec.matching_precedence, &a.name).cmp(&(b.spec.matching_precedence, &b.name)));
        let shares = levels.iter().fold(0, |all: u32, level| all.saturating_add(level.share.shares));
        Self { schemas: found, levels, shares }
    }

    pub(crate) fn levels(&self) -> impl Iterator<Item = &Arc<Level>> {
        self.levels.iter()
    }

    /// The seats of a level, of those that a workspace has.
    pub(crate) fn limits(&self, level: &Level, seats: usize) -> Limits {
        level.share.limits(seats, self.shares)
    }

    pub fn classify(&self, user: &User, wanted: &Attributes<'_>) -> Option<Class> {
        // The last one matches everybody.
        let schema = self.schemas.iter().find(|schema| schema.spec.matches(user, wanted)).or(self.schemas.last())?;
        Some(self.class(schema, schema.spec.distinguisher(user, wanted)))
    }

    /// Where those belong whose name means nothing here.
    pub fn last(&self, user: &User) -> Option<Class> {
        self.schemas.last().map(|schema| self.class(schema, &user.name))
    }

    fn class(&self, schema: &Arc<Schema>, distinguisher: &str) -> Class {
        let mut hasher = DefaultHasher::new();
        (&schema.name, distinguisher).hash(&mut hasher);
        let level = self.levels[schema.level].clone();
        Class { schema: schema.clone(), level, distinguisher: distinguisher.into(), flow: hasher.finish() }
    }
}

/// Own objects take the places of given ones, and there are `max` of them together. Nobody says what a mandatory one says.
fn merged(given: Vec<Value>, own: &[Object], max: usize) -> BTreeMap<String, Kept> {
    let mut all = BTreeMap::new();
    for object in given {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let uid = given_uid(&name, &object["kind"]);
        all.insert(name, Kept { given: true, uid, spec: object["spec"].clone() });
    }
    for object in own {
        let (name, uid) = (object.name(), object.uid().to_owned());
        if all.len() >= max && !all.contains_key(name) {
            continue;
        }
        match all.get_mut(name).filter(|_| MANDATORY.contains(&name)) {
            Some(kept) => kept.uid = uid,
            None => {
                let spec = object.get("spec").cloned().unwrap_or_default();
                let given = object.text(&["metadata", "annotations", KEPT_BY_SERVER]) == "true";
                all.insert(name.to_owned(), Kept { given, uid, spec });
            }
        }
    }
    all
}

/// What is no object has an id all the same: the same one everywhere.
fn given_uid(name: &str, kind: &Value) -> String {
    let mut hasher = DefaultHasher::new();
    (name, kind.as_str()).hash(&mut hasher);
    uuid::Builder::from_random_bytes(u128::from(hasher.finish()).to_be_bytes()).into_uuid().to_string()
}

fn header(uid: &str) -> HeaderValue {
    HeaderValue::from_str(uid).unwrap_or(HeaderValue::from_static(""))
}

/// Stored objects have been validated; whatever cannot be read of one says nothing.
fn read<T: DeserializeOwned + Default>(spec: &Value) -> T {
    T::deserialize(spec).unwrap_or_else(|error| {
        tracing::error!(%error, "a stored flow schema or priority level cannot be read");
        T::default()
    })
}
