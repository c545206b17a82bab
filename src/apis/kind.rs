//! What sort of thing an object is.

use serde_json::Value;
use std::fmt;

/// `apps/v1` and `Deployment`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    pub api_version: String,
    pub kind: String,
}

impl Kind {
    pub fn new(api_version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { api_version: api_version.into(), kind: kind.into() }
    }

    /// What the object says of itself.
    pub fn of(object: &Value) -> Self {
        let said = |key| super::text(object, &[key]).unwrap_or_default();
        Self::new(said("apiVersion"), said("kind"))
    }

    /// Empty for the core group.
    pub fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    pub fn version(&self) -> &str {
        self.api_version.split_once('/').map_or(&self.api_version, |(_, version)| version)
    }

    /// Group and kind, whatever the version: `("apps", "Deployment")`.
    pub fn name(&self) -> (&str, &str) {
        (self.group(), &self.kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.kind, self.api_version)
    }
}
