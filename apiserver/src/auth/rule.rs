//! One rule of a role: which verbs, on what.

use serde::{Deserialize, Deserializer, Serialize};

/// As roles have them. What is empty permits nothing, but for names: no names are all names.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    #[serde(deserialize_with = "list")]
    pub verbs: Vec<String>,
    #[serde(deserialize_with = "list", rename = "apiGroups", skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<String>,
    #[serde(deserialize_with = "list", skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    #[serde(deserialize_with = "list", rename = "resourceNames", skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    #[serde(deserialize_with = "list", rename = "nonResourceURLs", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// Everything there is.
pub(super) const ALL: &str = "*";

/// No list at all is an empty one.
fn list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// Of a role, what matters here.
#[derive(Deserialize)]
struct Role {
    rules: Option<Vec<Rule>>,
}

impl Rule {
    /// The rules of a role as it is stored.
    pub fn read(role: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        Ok(serde_json::from_slice::<Role>(role)?.rules.unwrap_or_default())
    }

    /// To do everything.
    pub fn full_authority() -> [Self; 2] {
        let all = || vec![ALL.to_owned()];
        [
            Self { verbs: all(), groups: all(), resources: all(), ..Self::default() },
            Self { verbs: all(), paths: all(), ..Self::default() },
        ]
    }
}

/// Whether a path is meant that a rule may end with a star.
pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.strip_suffix('*').is_some_and(|rest| path.starts_with(rest.trim_end_matches('*')))
}
