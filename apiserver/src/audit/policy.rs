//! What is written down of which requests: the first rule that fits decides.

use crate::auth::{Attributes, User, What};
use serde::Deserialize;

/// How much is written down.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    #[default]
    None,
    /// Who did what, and what became of it.
    Metadata,
    /// And what they sent.
    Request,
    /// And what they got.
    RequestResponse,
}

impl Level {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Metadata => "Metadata",
            Self::Request => "Request",
            Self::RequestResponse => "RequestResponse",
        }
    }
}

/// When it is written down.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
pub enum Stage {
    RequestReceived,
    /// Of answers that go on.
    ResponseStarted,
    ResponseComplete,
    Panic,
}

/// The file as it is written.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    #[serde(default)]
    #[expect(dead_code, reason = "it is allowed, and means nothing")]
    metadata: serde_json::Value,
    #[serde(default)]
    omit_stages: Vec<Stage>,
    #[serde(default)]
    omit_managed_fields: bool,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rule {
    level: Level,
    #[serde(default)]
    users: Vec<String>,
    #[serde(default)]
    user_groups: Vec<String>,
    #[serde(default)]
    verbs: Vec<String>,
    #[serde(default)]
    resources: Vec<Resources>,
    #[serde(default)]
    namespaces: Vec<String>,
    #[serde(default, rename = "nonResourceURLs")]
    paths: Vec<String>,
    #[serde(default)]
    omit_stages: Vec<Stage>,
    omit_managed_fields: Option<bool>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resources {
    #[serde(default)]
    group: String,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(default)]
    resource_names: Vec<String>,
}

/// What was decided about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) level: Level,
    pub(super) omitted: Vec<Stage>,
    pub(super) without_owners: bool,
}

impl Policy {
    /// Reads a file, and says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let policy: Self = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if policy.api_version != "audit.k8s.io/v1" || policy.kind != "Policy" {
            return Err(format!("{} {} is not audit.k8s.io/v1 Policy", policy.api_version, policy.kind));
        }
        for (at, rule) in policy.rules.iter().enumerate() {
            let about_objects = !rule.resources.is_empty() || !rule.namespaces.is_empty();
            if about_objects && !rule.paths.is_empty() {
                return Err(format!("rules[{at}]: a rule is about resources or about nonResourceURLs"));
            }
        }
        Ok(policy)
    }

    pub(super) fn decide(&self, user: &User, wanted: &Attributes<'_>) -> Verdict {
        let Some(rule) = self.rules.iter().find(|rule| rule.fits(user, wanted)) else { return Verdict::default() };
        Verdict {
            level: rule.level,
            omitted: self.omit_stages.iter().chain(&rule.omit_stages).copied().collect(),
            without_owners: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
        }
    }
}

impl Rule {
    fn fits(&self, user: &User, wanted: &Attributes<'_>) -> bool {
        let any = |list: &[String], word: &str| list.is_empty() || list.iter().any(|one| one == word);
        let in_group = self.user_groups.is_empty() || self.user_groups.iter().any(|group| user.is_in(group));
        any(&self.users, &user.name) && in_group && any(&self.verbs, wanted.verb) && self.fits_what(wanted)
    }

    fn fits_what(&self, wanted: &Attributes<'_>) -> bool {
        match &wanted.what {
            What::Path(path) => {
                let about_objects = !self.resources.is_empty() || !self.namespaces.is_empty();
                let meant = |pattern: &String| match pattern.strip_suffix('*') {
                    Some(prefix) => path.starts_with(prefix),
                    None => pattern == path,
                };
                !about_objects && (self.paths.is_empty() || self.paths.iter().any(meant))
            }
            What::Objects(objects) => {
                let namespace = objects.namespace;
                let here = self.namespaces.is_empty() || self.namespaces.iter().any(|one| one == namespace);
                let what =
                    |one: &Resources| one.fits(objects.group, objects.resource, objects.subresource, objects.name);
                self.paths.is_empty() && here && (self.resources.is_empty() || self.resources.iter().any(what))
            }
        }
    }
}

impl Resources {
    fn fits(&self, group: &str, resource: &str, subresource: &str, name: &str) -> bool {
        let meant = |pattern: &String| match pattern.split_once('/') {
            _ if pattern == "*" => true,
            None => pattern == resource && subresource.is_empty(),
            Some(("*", part)) => part == subresource,
            Some((whole, "*")) => whole == resource,
            Some((whole, part)) => whole == resource && part == subresource,
        };
        let named = self.resource_names.is_empty() || self.resource_names.iter().any(|one| one == name);
        self.group == group && named && (self.resources.is_empty() || self.resources.iter().any(meant))
    }
}
