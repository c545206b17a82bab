//! Which requests a hook wants to be asked about.

use super::Ask;
use crate::catalog::ResourceDef;
use serde_json::Value;

/// One of the rules of a webhook or a policy; a request that meets any of them is meant.
#[derive(Debug)]
pub(crate) struct Rule {
    operations: Vec<String>,
    groups: Vec<String>,
    versions: Vec<String>,
    /// Plural and subresource.
    resources: Vec<(String, String)>,
    scope: String,
    /// Of objects. None: all; only policies name any.
    names: Vec<String>,
}

impl Rule {
    pub(crate) fn read(rule: &Value) -> Self {
        let split = |resource: String| match resource.split_once('/') {
            Some((plural, subresource)) => (plural.to_owned(), subresource.to_owned()),
            None => (resource, String::new()),
        };
        Self {
            operations: words(rule, "operations"),
            groups: words(rule, "apiGroups"),
            versions: words(rule, "apiVersions"),
            resources: words(rule, "resources").into_iter().map(split).collect(),
            scope: rule.get("scope").and_then(Value::as_str).unwrap_or("*").to_owned(),
            names: words(rule, "resourceNames"),
        }
    }

    /// Whether the request is meant, taken as one for this version of the resource.
    pub(crate) fn matches(&self, ask: &Ask<'_>, version: &ResourceDef) -> bool {
        self.covers_scope(ask, version)
            && names(&self.operations, ask.operation.word())
            && names(&self.groups, &version.group)
            && names(&self.versions, &version.version)
            && self.names_resource(&version.plural, ask.subresource)
            && (self.names.is_empty() || self.names.iter().any(|name| name == ask.name))
    }

    fn names_resource(&self, plural: &str, subresource: &str) -> bool {
        let is = |word: &str, wanted: &str| word == "*" || word == wanted;
        self.resources.iter().any(|(of, part)| is(of, plural) && is(part, subresource))
    }

    /// A namespace is in itself, but its scope is that of objects that are in none.
    fn covers_scope(&self, ask: &Ask<'_>, version: &ResourceDef) -> bool {
        let is_namespace = (&*version.group, &*version.version, &*version.plural) == ("", "v1", "namespaces");
        let is_inside = !is_namespace && !ask.namespace().is_empty();
        match self.scope.as_str() {
            "*" => true,
            "Namespaced" => is_inside,
            "Cluster" => !is_inside,
            _ => false,
        }
    }
}

fn names(words: &[String], wanted: &str) -> bool {
    words.iter().any(|word| word == "*" || word == wanted)
}

/// The strings of a list.
pub(crate) fn words(tree: &Value, field: &str) -> Vec<String> {
    let list = tree.get(field).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
