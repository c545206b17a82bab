//! What one workspace defines and others serve like their own, for as long as it does. Their objects are kept under an
//! identity, the id of the lender, so that those of a definition that goes are found in all workspaces at once, and never
//! taken for those of a definition that a workspace has itself.

use crate::catalog::{Catalog, Defined, ResourceDef};
use crate::place::Workspace;
use std::sync::Arc;
use storage::Revision;

/// What a workspace defines, as those have it to whom it lends that.
#[derive(Debug)]
pub(super) struct Lent {
    /// When the workspace last changed it.
    pub(super) marked: Revision,
    pub(super) definitions: Vec<(String, Defined)>,
    /// That of those who add nothing to it.
    pub(super) catalog: Arc<Catalog>,
}

impl Lent {
    pub(super) fn new(
        (by, marked): (&Workspace, Revision),
        base: &Arc<Catalog>,
        definitions: impl Iterator<Item = (String, Defined)>,
    ) -> Self {
        let lent = |own: &Defined| own.iter().filter_map(|own| own.lent(by.as_str())).map(Arc::new).collect();
        let definitions: Vec<(String, Defined)> = definitions.map(|(name, own)| (name, lent(&own))).collect();
        let all = definitions.iter().flat_map(|(_, resources)| resources.iter().cloned());
        Self { marked, catalog: Arc::new(Catalog::with(base, all)), definitions }
    }

    /// What is left for a workspace that had something of the same name before: its own stays.
    pub(super) fn left_by(&self, own: &[Arc<ResourceDef>]) -> impl Iterator<Item = &(String, Defined)> {
        self.definitions.iter().filter(move |(_, lent)| !lent.iter().any(|lent| own.iter().any(|own| clash(own, lent))))
    }
}

fn clash(one: &ResourceDef, other: &ResourceDef) -> bool {
    one.group == other.group && (one.plural == other.plural || one.kind == other.kind)
}
