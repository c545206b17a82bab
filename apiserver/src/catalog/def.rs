//! The description of one resource: everything by which it differs from any other.

use openapi::builtin::{self, Type};

/// A resource in one of its versions.
#[derive(Debug)]
pub struct ResourceDef {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub namespaced: bool,
    pub verbs: Vec<&'static str>,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub subresources: Vec<SubresourceDef>,
    pub schema: Schema,
    pub traits: Traits,
    pub stored: Stored,
}

/// Under which name objects are kept, and in which version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub group: String,
    pub version: String,
    pub plural: String,
}

/// What an object of a resource may look like.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    Builtin(&'static Type),
}

#[derive(Debug)]
pub struct SubresourceDef {
    pub name: String,
    pub verbs: Vec<&'static str>,
    /// The `apiVersion` and kind it speaks, where that is not its parent's.
    pub kind: Option<(String, String)>,
}

/// In what a resource deviates from the rule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traits {
    /// Counts the changes of what is asked of it.
    pub generation: bool,
    /// A write need not say which version it replaces.
    pub unconditional_update: bool,
    /// A write to a name that does not exist makes it.
    pub create_on_update: bool,
    /// A delete answers with the object rather than with a `Status`.
    pub returns_deleted: bool,
    pub collecting: Collecting,
    /// Deleting waits for whoever runs it to stop.
    pub graceful: bool,
}

/// What happens to the dependents of a deleted object when nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collecting {
    #[default]
    Background,
    /// Events: nothing depends on them, and saying otherwise is refused.
    Unsupported,
}

impl ResourceDef {
    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`, or `pods`: how messages name it.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub fn list_kind(&self) -> String {
        format!("{}List", self.kind)
    }

    pub fn subresource(&self, name: &str) -> Option<&SubresourceDef> {
        self.subresources.iter().find(|found| found.name == name)
    }

    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Objects of it are kept. Reviews are answered and forgotten.
    pub fn is_stored(&self) -> bool {
        self.allows("get")
    }

    pub fn is_storage_version(&self) -> bool {
        self.is_stored() && self.stored.group == self.group && self.stored.version == self.version
    }

    /// The type of its objects as they are sent.
    pub fn sent_type(&self) -> &'static Type {
        let Schema::Builtin(ty) = self.schema;
        ty
    }

    /// The type of its objects as they are stored.
    pub fn stored_type(&self) -> &'static Type {
        let Stored { group, version, .. } = &self.stored;
        let stored = if self.is_storage_version() { None } else { builtin::kind(group, version, &self.kind) };
        stored.unwrap_or_else(|| self.sent_type())
    }
}
