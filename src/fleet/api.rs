//! What a cell can be asked, whatever it is: a Kubernetes API elsewhere, a workspace of this server, or a fake.

use apiserver::auth::User;
use axum::body::Body;
use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{Request, Response};
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

/// An answer that is waited for.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A resource as a cell serves it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellResource {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub kind: String,
    pub namespaced: bool,
}

impl CellResource {
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// What people call a resource besides its kind and its plural.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    pub singular: String,
    /// `deploy` for deployments.
    pub short: Vec<String>,
    /// What it is one of: `all`.
    pub categories: Vec<String>,
}

/// One object of a cell, whether it is there or not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellPlace {
    pub resource: CellResource,
    /// `None` for a resource that has none.
    pub namespace: Option<String>,
    pub name: String,
}

impl fmt::Display for CellPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CellPlace { resource, namespace, name } = self;
        write!(f, "{} {}{name}", resource.kind, namespace.as_ref().map_or(String::new(), |space| format!("{space}/")))
    }
}

/// Why a cell did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CellError {
    /// Nobody knows whether it was done.
    #[error("the cell cannot be reached: {0}")]
    Unreachable(String),
    #[error("the cell refused: {message}")]
    Refused { code: u16, reason: String, message: String },
    /// Its access is not described well enough to even try.
    #[error("{0}")]
    Unusable(String),
}

impl CellError {
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// One word for a condition.
    pub fn word(&self) -> &str {
        match self {
            Self::Unreachable(_) => "CellUnreachable",
            Self::Unusable(_) => "CellUnusable",
            Self::Refused { reason, .. } if reason.is_empty() => "Refused",
            Self::Refused { reason, .. } => reason,
        }
    }
}

/// What became of an object that was applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Applied {
    pub object: Value,
    /// It was not there before.
    pub created: bool,
}

/// Everything of a resource, at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listed {
    pub items: Vec<Value>,
    /// From where changes can be watched.
    pub resource_version: String,
}

/// One change in a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum CellEvent {
    Changed(Value),
    Deleted(Value),
    /// Nothing happened up to this version.
    Bookmark(String),
}

impl CellEvent {
    /// From where the watch can go on; empty if the cell does not say.
    pub fn version(&self) -> &str {
        match self {
            Self::Changed(object) | Self::Deleted(object) => {
                object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
            }
            Self::Bookmark(version) => version,
        }
    }
}

pub type CellEvents = BoxStream<'static, Result<CellEvent, CellError>>;

/// What an apply may find in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Fields are taken from whoever owns them.
    Anything,
    /// It is refused with 409 if there is anything.
    Nothing,
}

/// A cell, within reach. Everything takes bounded time except the events of a watch.
pub trait CellApi: Send + Sync + fmt::Debug {
    /// Whether it says that it is ready; an error says why not.
    fn ready(&self) -> Later<'_, Result<(), CellError>>;

    /// The version of what it runs, as it tells it.
    fn version(&self) -> Later<'_, Result<String, CellError>>;

    /// What it serves, every resource in its preferred version first.
    fn resources(&self) -> Later<'_, Result<Vec<CellResource>, CellError>>;

    /// The same, with what else people call it. Who tells no names is asked for what it serves.
    fn resources_and_names(&self) -> Later<'_, Result<Vec<(CellResource, Names)>, CellError>> {
        Box::pin(async move {
            let served = self.resources().await?;
            Ok(served.into_iter().map(|resource| (resource, Names::default())).collect())
        })
    }

    fn get<'a>(&'a self, at: &'a CellPlace) -> Later<'a, Result<Option<Value>, CellError>>;

    /// Server-side apply under the name of this server.
    fn apply<'a>(&'a self, at: &'a CellPlace, object: &'a Value, over: Over) -> Later<'a, Result<Applied, CellError>>;

    /// The same for the status of an object that is there.
    fn apply_status<'a>(&'a self, at: &'a CellPlace, object: &'a Value) -> Later<'a, Result<Value, CellError>>;

    /// A merge patch of an object that is there.
    fn merge<'a>(&'a self, at: &'a CellPlace, patch: &'a Value) -> Later<'a, Result<Value, CellError>>;

    /// Deletes the object if it has this UID, and is refused with 409 if it has another. `None`: it is gone; otherwise
    /// it still waits for somebody there.
    fn delete<'a>(&'a self, at: &'a CellPlace, uid: &'a str) -> Later<'a, Result<Option<Value>, CellError>>;

    /// All objects of a resource in all namespaces whose labels fit.
    fn list<'a>(&'a self, of: &'a CellResource, labels: &'a str) -> Later<'a, Result<Listed, CellError>>;

    /// Sends a request there as it is, on behalf of somebody; the answer may go on for as long as a watch does.
    fn pass<'a>(&'a self, _: Request<Bytes>, _: &'a Arc<User>) -> Later<'a, Result<Response<Body>, CellError>> {
        Box::pin(async { Err(CellError::Unusable("nothing goes through to it".to_owned())) })
    }

    /// What changes after a list.
    fn watch<'a>(
        &'a self,
        of: &'a CellResource,
        labels: &'a str,
        after: &'a str,
    ) -> Later<'a, Result<CellEvents, CellError>>;
}
