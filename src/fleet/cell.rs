//! A cell as its object describes it.

use apiserver::object::Object;
use apiserver::place::Workspace;
use std::fmt;

/// Which cell: the workspace that its object is in, and its name there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId {
    pub workspace: Workspace,
    pub name: String,
}

impl CellId {
    pub fn new(workspace: &str, name: &str) -> Self {
        Self { workspace: Workspace::new(workspace), name: name.to_owned() }
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The annotation that says that a cell is lost: whatever is in it is forgotten, not withdrawn.
pub const LOST: &str = "federation.hanse.dev/lost";

/// How a cell is reached, as its object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AccessRef {
    Secret { namespace: String, name: String, key: String },
    Workspace(String),
    Nothing,
}

/// What the key of a secret is called that holds a kubeconfig.
pub const KUBECONFIG_KEY: &str = "kubeconfig";

pub(super) fn access_ref(cell: &Object) -> AccessRef {
    let workspace = cell.text(&["spec", "access", "workspace"]);
    if !workspace.is_empty() {
        return AccessRef::Workspace(workspace.to_owned());
    }
    let word = |key: &str| cell.text(&["spec", "access", "secretRef", key]).to_owned();
    let (namespace, name, key) = (word("namespace"), word("name"), word("key"));
    if name.is_empty() {
        return AccessRef::Nothing;
    }
    let key = if key.is_empty() { KUBECONFIG_KEY.to_owned() } else { key };
    AccessRef::Secret { namespace, name, key }
}

pub(super) fn is_lost(cell: &Object) -> bool {
    cell.annotation(LOST).is_some()
}
