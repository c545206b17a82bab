//! A flow schema: whose requests, and which of them, belong together. Matching is Kubernetes' own.

use crate::auth::{Attributes, Objects, User, What};
use serde::Deserialize;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SchemaSpec {
    pub(super) priority_level_configuration: Reference,
    pub(super) matching_precedence: i32,
    pub(super) distinguisher_method: Option<Method>,
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Reference {
    pub(super) name: String,
}

/// What tells one flow of a schema from others.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "type")]
pub(super) enum Method {
    ByUser,
    ByNamespace,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    subjects: Vec<Subject>,
    resource_rules: Vec<ResourceRule>,
    non_resource_rules: Vec<PathRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all_fields = "camelCase")]
enum Subject {
    User { user: Reference },
    Group { group: Reference },
    ServiceAccount { service_account: Account },
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Account {
    namespace: String,
    name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ResourceRule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    namespaces: Vec<String>,
    cluster_scope: bool,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PathRule {
    verbs: Vec<String>,
    #[serde(rename = "nonResourceURLs")]
    paths: Vec<String>,
}

impl SchemaSpec {
    pub(super) fn matches(&self, user: &User, wanted: &Attributes<'_>) -> bool {
        self.rules.iter().any(|rule| {
            rule.subjects.iter().any(|subject| subject.is(user))
                && match &wanted.what {
                    What::Objects(objects) => rule.resource_rules.iter().any(|rule| rule.matches(wanted.verb, objects)),
                    What::Path(path) => rule.non_resource_rules.iter().any(|rule| rule.matches(wanted.verb, path)),
                }
        })
    }

    pub(super) fn distinguisher<'a>(&self, user: &'a User, wanted: &Attributes<'a>) -> &'a str {
        match self.distinguisher_method {
            None => "",
            Some(Method::ByUser) => &user.name,
            Some(Method::ByNamespace) => wanted.namespace(),
        }
    }
}

impl Subject {
    fn is(&self, user: &User) -> bool {
        match self {
            Self::User { user: named } => named.name == "*" || named.name == user.name,
            Self::Group { group } => group.name == "*" || user.is_in(&group.name),
            Self::ServiceAccount { service_account: Account { namespace, name } } => {
                let account = user.name.strip_prefix("system:serviceaccount:");
                let within = account.and_then(|rest| rest.strip_prefix(namespace.as_str())?.strip_prefix(':'));
                within.is_some_and(|found| name == "*" || found == name)
            }
        }
    }
}

/// `*` means everything, and stands alone.
fn has(list: &[String], word: &str) -> bool {
    matches!(list, [only] if only == "*") || list.iter().any(|one| one == word)
}

impl ResourceRule {
    fn matches(&self, verb: &str, objects: &Objects<'_>) -> bool {
        let place =
            if objects.namespace.is_empty() { self.cluster_scope } else { has(&self.namespaces, objects.namespace) };
        place && has(&self.verbs, verb) && has(&self.api_groups, objects.group) && self.has_resource(objects)
    }

    fn has_resource(&self, objects: &Objects<'_>) -> bool {
        if objects.subresource.is_empty() {
            return has(&self.resources, objects.resource);
        }
        let named = |one: &String| {
            one.strip_prefix(objects.resource).and_then(|rest| rest.strip_prefix('/')) == Some(objects.subresource)
        };
        matches!(&*self.resources, [only] if only == "*") || self.resources.iter().any(named)
    }
}

impl PathRule {
    fn matches(&self, verb: &str, path: &str) -> bool {
        let fits = |rule: &String| {
            let prefix = rule.trim_end_matches('*').trim_end_matches('/');
            rule == "*" || rule == path || path.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'))
        };
        has(&self.verbs, verb) && self.paths.iter().any(fits)
    }
}
