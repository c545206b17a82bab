//! The description of one resource: everything by which it differs from any other.

use super::custom::WRITTEN_AS;
use crate::custom::{Custom, Definition};
use openapi::builtin::{self, Type};
use std::sync::Arc;

/// A resource in one of its versions.
#[derive(Clone, Debug)]
pub struct ResourceDef {
    /// Empty for the core group.
    pub group: String,
    pub version: String,
    pub plural: String,
    pub singular: String,
    pub kind: String,
    pub list_kind: String,
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
    /// What tells it from others of its name that come from elsewhere.
    pub identity: Option<Arc<str>>,
}

/// What an object of a resource may look like.
#[derive(Clone, Debug)]
pub enum Schema {
    Builtin(&'static Type),
    /// What a definition in the workspace says.
    Custom(Arc<Custom>),
}

#[derive(Clone, Debug)]
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
    /// Nothing of it is stored: objects are made of others when somebody looks.
    pub computed: bool,
    /// Its objects decide what their workspace serves.
    pub defines: bool,
    /// Only the metadata of its objects is told: what else they hold is said differently in each workspace.
    pub metadata_only: bool,
}

/// What happens to the dependents of a deleted object when nobody says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Collecting {
    #[default]
    Background,
    /// They become nobody's: what the oldest kinds do, for those who count on it.
    Orphan,
    /// Events: nothing depends on them, and saying otherwise is refused.
    Unsupported,
}

/// Stands for the identity of a resource of which the objects of all origins are meant.
pub(crate) const ANY_IDENTITY: &str = "*";

impl ResourceDef {
    /// Whatever is called so in any workspace, and wherever its definition comes from: of that, metadata is told.
    pub fn of_any_origin(group: &str, version: &str, plural: &str) -> Option<Self> {
        const KIND: &str = "PartialObjectMetadata";
        let [group, version, plural] = [group, version, plural].map(str::to_owned);
        let identity = Some(ANY_IDENTITY.into());
        Some(Self {
            schema: Schema::Builtin(builtin::kind_in("meta.k8s.io/v1", KIND)?),
            stored: Stored { group: group.clone(), version: version.clone(), plural: plural.clone(), identity },
            singular: plural.clone(),
            kind: KIND.to_owned(),
            list_kind: format!("{KIND}List"),
            namespaced: true,
            verbs: vec!["get", "list", "watch"],
            short_names: Vec::new(),
            categories: Vec::new(),
            subresources: Vec::new(),
            traits: Traits { metadata_only: true, ..Traits::default() },
            group,
            version,
            plural,
        })
    }

    /// `apps/v1`, or `v1` for the core group.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// `deployments.apps`, or `pods`: how messages name it.
    pub fn qualified(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    pub fn subresource(&self, name: &str) -> Option<&SubresourceDef> {
        self.subresources.iter().find(|found| found.name == name)
    }

    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// What is told of a resource whose definition is going leaves out what will be refused, with a reason.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.contains(&verb) || self.custom().is_some_and(|custom| custom.terminating)
    }

    /// What is written instead of its computed objects, as `plural.group`.
    pub fn written_as(&self) -> Option<&str> {
        let Definition::Given(definition) = &self.custom()?.definition else { return None };
        definition.annotation(WRITTEN_AS).filter(|_| self.traits.computed)
    }

    /// Objects of it are kept. Reviews are answered and forgotten.
    pub fn is_stored(&self) -> bool {
        self.allows("get")
    }

    pub fn is_storage_version(&self) -> bool {
        self.is_stored() && self.stored.group == self.group && self.stored.version == self.version
    }

    /// Others may ask for it. A version that is only stored is nobody's to ask for.
    pub fn is_served(&self) -> bool {
        self.custom().is_none_or(|custom| custom.served)
    }

    /// What a definition says of it; `None` for a built-in resource.
    pub fn custom(&self) -> Option<&Arc<Custom>> {
        match &self.schema {
            Schema::Custom(custom) => Some(custom),
            Schema::Builtin(_) => None,
        }
    }

    /// The id of the workspace that shares it; nothing for what is not shared.
    pub fn home(&self) -> Option<&str> {
        match &self.custom()?.definition {
            Definition::Shared(from) => Some(&from.home),
            Definition::Kept { .. } | Definition::Given(_) | Definition::Lent { .. } => None,
        }
    }

    /// The same as other workspaces have it, to whom the one with this id lends what it defines. Their objects are kept
    /// apart.
    pub(crate) fn lent(&self, by: &str) -> Option<Self> {
        let custom = self.custom()?;
        let Definition::Kept { name, revision } = &custom.definition else { return None };
        let definition = Definition::Lent { by: by.into(), name: name.clone(), revision: *revision };
        let stored = Stored { identity: definition.identity(), ..self.stored.clone() };
        let schema = Schema::Custom(Arc::new(Custom { definition, ..Custom::clone(custom) }));
        Some(Self { schema, stored, ..self.clone() })
    }

    /// The type of a built-in resource's objects as they are stored.
    pub fn stored_type(&self) -> Option<&'static Type> {
        let Schema::Builtin(sent) = self.schema else { return None };
        let Stored { group, version, .. } = &self.stored;
        let stored = if self.is_storage_version() { None } else { builtin::kind(group, version, &self.kind) };
        Some(stored.unwrap_or(sent))
    }
}
