//! Where objects are: a workspace, a namespace, a name.

use crate::catalog::ResourceDef;
use std::fmt;
use std::sync::Arc;

/// Slashes cannot be part of a key.
const NOWHERE: &str = "/";
/// No workspace is called so.
const EVERYWHERE: &str = "*";

/// The opaque id of a workspace. Whoever hands one in has looked it up; it is never built out of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Workspace(Arc<str>);

impl Workspace {
    pub fn new(id: &str) -> Self {
        Self(id.into())
    }

    /// What stands where a request names a workspace that there is not. No key can be made of it.
    pub fn nowhere() -> Self {
        Self::new(NOWHERE)
    }

    pub fn is_nowhere(&self) -> bool {
        &*self.0 == NOWHERE
    }

    /// What stands where a request means all workspaces at once. Objects are read there, and nothing is written.
    pub fn everywhere() -> Self {
        Self::new(EVERYWHERE)
    }

    pub fn is_everywhere(&self) -> bool {
        &*self.0 == EVERYWHERE
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The objects of one resource in one workspace: in one namespace, in all of them, or outside of any.
#[derive(Clone, Debug)]
pub struct Collection {
    pub resource: Arc<ResourceDef>,
    pub workspace: Workspace,
    /// `None`: all namespaces, or a resource that has none.
    pub namespace: Option<String>,
}

impl Collection {
    pub fn object(&self, name: &str) -> ObjectRef {
        ObjectRef { within: self.clone(), name: name.to_owned() }
    }

    #[must_use]
    pub fn in_all_namespaces(&self) -> Self {
        Self { namespace: None, ..self.clone() }
    }

    #[must_use]
    pub fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), ..self.clone() }
    }
}

/// One object, whether it exists or not.
#[derive(Clone, Debug)]
pub struct ObjectRef {
    pub within: Collection,
    pub name: String,
}

impl ObjectRef {
    pub fn resource(&self) -> &Arc<ResourceDef> {
        &self.within.resource
    }

    pub fn workspace(&self) -> &Workspace {
        &self.within.workspace
    }

    pub fn namespace(&self) -> Option<&str> {
        self.within.namespace.as_deref()
    }
}
