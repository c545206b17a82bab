//! What the server knows of every built-in kind, as data.
//!
//! `table.txt` holds the facts and nothing else: `generate/` writes it out of the Go packages that define the kinds,
//! and its header describes its grammar. It is read once, when it is first asked for. Start at [`kind`].

mod model;
mod read;

use std::sync::LazyLock;

pub use model::{
    Element, Field, Form, Keys, ListKind, Package, Patch, Resource, Scalar, Subresource, Type, TypeId, Unit,
};
pub use read::ReadError;

/// Everything `table.txt` says.
#[derive(Debug)]
pub struct Table {
    pub types: &'static [Type],
    /// In the order discovery lists them, package by package.
    pub resources: Box<[Resource]>,
    /// Sorted by `(apiVersion, kind)`.
    kinds: Box<[(&'static str, &'static str, TypeId)]>,
    schema: TypeId,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| match Table::read(include_str!("table.txt")) {
    Ok(table) => table,
    // The table is part of the program, and a test reads it: this is a build that never worked.
    Err(error) => panic!("table.txt cannot be read: {error}"),
});

pub fn table() -> &'static Table {
    &TABLE
}

/// The kinds that clients send to every group version as if it were its own.
const EVERYWHERE: [&str; 7] =
    ["CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"];

/// The type of a kind: `kind("apps", "v1", "Deployment")`. The core group is `""`.
pub fn kind(group: &str, version: &str, kind: &str) -> Option<&'static Type> {
    if group.is_empty() { kind_in(version, kind) } else { kind_in(&format!("{group}/{version}"), kind) }
}

/// The type of a kind, by the `apiVersion` that objects carry: `kind_in("apps/v1", "Deployment")`.
pub fn kind_in(api_version: &str, kind: &str) -> Option<&'static Type> {
    let table = table();
    let own = table.find(api_version, kind);
    let shared = || EVERYWHERE.contains(&kind).then(|| table.find("meta.k8s.io/v1", kind)).flatten();
    own.or_else(shared).map(TypeId::get)
}

impl Table {
    fn find(&self, api_version: &str, kind: &str) -> Option<TypeId> {
        let found = self.kinds.binary_search_by(|(at, name, _)| (*at, *name).cmp(&(api_version, kind))).ok()?;
        Some(self.kinds[found].2)
    }

    /// Every kind as `(apiVersion, kind, type)`, sorted.
    pub fn kinds(&self) -> impl Iterator<Item = (&'static str, &'static str, &'static Type)> {
        self.kinds.iter().map(|(at, name, id)| (*at, *name, id.get()))
    }

    /// The type of a JSON schema inside of a `CustomResourceDefinition`, which the union types refer to.
    pub(crate) fn schema(&self) -> &'static Type {
        self.schema.get()
    }
}

#[cfg(test)]
mod tests;
