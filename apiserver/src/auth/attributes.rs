//! What somebody wants to do, in the words in which rules speak of it.

use super::selectors::{Selector, Selectors};
use crate::backends::Remote;
use crate::place::Collection;
use crate::target::Target;

/// A verb, and what it is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes<'a> {
    pub verb: &'a str,
    /// Of the resource, where that is known. Roles do not speak of it.
    pub version: &'a str,
    pub what: What<'a>,
    /// Which of the objects. Roles do not speak of it.
    pub selectors: Selectors<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    Objects(Objects<'a>),
    /// Of a request that is about no resource.
    Path(&'a str),
}

/// Objects of a resource. Whatever is empty is not said: all namespaces, all names, the object itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Objects<'a> {
    pub group: &'a str,
    pub resource: &'a str,
    pub subresource: &'a str,
    pub namespace: &'a str,
    pub name: &'a str,
}

/// What a request says besides its target that rules may speak of.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// As it is written in rules: in small letters.
    pub method: String,
    /// Below the workspace.
    pub path: String,
    /// The only name that a list or watch selects.
    pub name: Option<String>,
    /// The selectors of its query, as they are written; nothing where there are none.
    pub fields: String,
    pub labels: String,
}

/// Done to those of many objects that are selected.
const SELECTING: [&str; 3] = ["list", "watch", "deletecollection"];

impl Asked {
    /// Which objects are meant, if the verb is one that minds it. A watch that is asked for by its path may be of a
    /// single object, which has no selectors: Kubernetes tells nobody of them.
    fn selectors(&self, verb: &str) -> Selectors<'_> {
        let none = self.fields.is_empty() && self.labels.is_empty();
        if none || !SELECTING.contains(&verb) || self.is_watched_by_path() {
            return Selectors::default();
        }
        Selectors { fields: Selector::Text(&self.fields), labels: Selector::Text(&self.labels) }
    }

    fn is_watched_by_path(&self) -> bool {
        let parts: Vec<&str> = self.path.trim_matches('/').splitn(5, '/').collect();
        matches!(&*parts, ["api", _, "watch", ..] | ["apis", _, _, "watch", ..])
    }
}

impl<'a> Attributes<'a> {
    pub fn objects(verb: &'a str, objects: Objects<'a>) -> Self {
        Self { verb, version: "", what: What::Objects(objects), selectors: Selectors::default() }
    }

    pub fn path(verb: &'a str, path: &'a str) -> Self {
        Self { verb, version: "", what: What::Path(path), selectors: Selectors::default() }
    }

    /// What a request wants to do.
    pub fn of(target: &'a Target, asked: &'a Asked) -> Self {
        match target {
            Target::Objects { verb, at } => {
                let name = if verb.selects() { asked.name.as_deref().unwrap_or_default() } else { "" };
                let objects = Objects { name, ..Objects::within(at) };
                let selectors = asked.selectors(verb.word());
                Self { version: &at.resource.version, selectors, ..Self::objects(verb.word(), objects) }
            }
            Target::Object { verb, at, subresource } => {
                let subresource = subresource.as_deref().unwrap_or_default();
                let mut objects = Objects { name: &at.name, subresource, ..Objects::within(&at.within) };
                if (objects.group, objects.resource) == ("", "namespaces") {
                    // A namespace counts as being in itself, so that rules made in it can speak of it.
                    objects.namespace = &at.name;
                }
                Self { version: &at.resource().version, ..Self::objects(verb.word(), objects) }
            }
            Target::Remote(remote) if !remote.resource.is_empty() => {
                let Remote { verb, resource, subresource, namespace, backend, .. } = &**remote;
                let named = if verb.selects() { asked.name.as_deref().unwrap_or(&remote.name) } else { &remote.name };
                let group = &*backend.group;
                let objects = Objects { group, resource, subresource, namespace, name: named };
                Self { selectors: asked.selectors(verb.word()), ..Self::objects(verb.word(), objects) }
            }
            Target::Nowhere(_) => guess(asked),
            _ => Self::path(&asked.method, &asked.path),
        }
    }

    pub fn namespace(&self) -> &'a str {
        match self.what {
            What::Objects(objects) => objects.namespace,
            What::Path(_) => "",
        }
    }
}

impl<'a> Objects<'a> {
    pub fn within(at: &'a Collection) -> Self {
        Self {
            group: &at.resource.group,
            resource: &at.resource.plural,
            subresource: "",
            namespace: at.namespace.as_deref().unwrap_or_default(),
            name: "",
        }
    }
}

/// What a request would be about if it were served: whoever may not use it is not told that it is not.
pub(super) fn guess(asked: &Asked) -> Attributes<'_> {
    let parts: Vec<&str> = asked.path.trim_matches('/').split('/').collect();
    let (group, rest) = match &*parts {
        ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
        ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
        _ => return Attributes::path(&asked.method, &asked.path),
    };
    let (watched, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, resource, ..] if !matches!(*resource, "status" | "finalize") => {
            (*namespace, &rest[2..])
        }
        ["namespaces", namespace, ..] => (*namespace, rest),
        rest => ("", rest),
    };
    let part = |at: usize| rest.get(at).copied().unwrap_or_default();
    let named = !part(1).is_empty();
    let verb = match (&*asked.method, named) {
        ("get" | "head", _) if watched => "watch",
        ("get" | "head", true) => "get",
        ("get" | "head", false) => "list",
        ("post", _) => "create",
        ("put", _) => "update",
        ("patch", _) => "patch",
        ("delete", true) => "delete",
        ("delete", false) => "deletecollection",
        _ => "",
    };
    let objects = Objects { group, resource: part(0), subresource: part(2), namespace, name: part(1) };
    Attributes { selectors: asked.selectors(verb), ..Attributes::objects(verb, objects) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::error::ApiError;
    use crate::place::Workspace;
    use crate::target::Lookup;
    use http::Method;
    use std::sync::Arc;

    /// `get deployments.apps/scale n/d`: verb, resource, place, and whether selectors are told; or verb and path.
    #[track_caller]
    fn check(method: &str, path: &str, selected: Option<&str>, expected: &str) {
        let builtin = Arc::new(Catalog::builtin());
        let served = Lookup { builtin: &builtin, own: &|| Ok(builtin.clone()), remote: &|_, _| Ok(None) };
        let (plain, query) = path.split_once('?').unwrap_or((path, ""));
        let method: Method = method.parse().unwrap();
        let target = Target::parse(&method, plain, query == "watch", &Workspace::new("w"), &served)
            .unwrap_or_else(|error: ApiError| Target::Nowhere(Box::new(error)));
        let name = selected.map(str::to_owned);
        let (fields, labels) = ("spec.nodeName=here".to_owned(), "a=b".to_owned());
        let asked = Asked { method: method.as_str().to_lowercase(), path: plain.to_owned(), name, fields, labels };
        let wanted = Attributes::of(&target, &asked);
        let selectors = if wanted.selectors == Selectors::default() { "" } else { " selected" };
        let told = match wanted {
            Attributes { verb, what: What::Path(path), .. } => format!("{verb} {path}"),
            Attributes { verb, what: What::Objects(found), .. } => {
                let Objects { group, resource, subresource, namespace, name } = found;
                format!("{verb} {resource}.{group}/{subresource} {namespace}/{name}{selectors}")
            }
        };
        assert_eq!(told, expected, "{method} {path}");
    }

    #[test]
    fn requests_become_what_rules_speak_of() {
        check("GET", "/api/v1/namespaces/n/pods/p", None, "get pods./ n/p");
        check("GET", "/api/v1/pods", None, "list pods./ / selected");
        check("GET", "/api/v1/namespaces/n/pods?watch", None, "watch pods./ n/ selected");
        check("GET", "/api/v1/watch/namespaces/n/pods/p", None, "watch pods./ n/p");
        check("DELETE", "/api/v1/namespaces/n/pods", None, "deletecollection pods./ n/ selected");
        check("PUT", "/apis/apps/v1/namespaces/n/deployments/d/scale", None, "update deployments.apps/scale n/d");
        check("POST", "/api/v1/namespaces/n/pods/p/exec", None, "create pods./exec n/p");
        check("GET", "/apis/apps/v1", None, "get /apis/apps/v1");
        check("HEAD", "/healthz", None, "head /healthz");
    }

    #[test]
    fn a_namespace_is_in_itself() {
        check("GET", "/api/v1/namespaces/n", None, "get namespaces./ n/n");
        check("PUT", "/api/v1/namespaces/n/finalize", None, "update namespaces./finalize n/n");
        check("POST", "/api/v1/namespaces", None, "create namespaces./ /");
    }

    #[test]
    fn a_list_of_one_name_is_about_that_name() {
        check("GET", "/api/v1/namespaces/n/pods", Some("p"), "list pods./ n/p selected");
        check("GET", "/api/v1/namespaces/n/pods?watch", Some("p"), "watch pods./ n/p selected");
        check("DELETE", "/api/v1/namespaces/n/pods", Some("p"), "deletecollection pods./ n/ selected");
    }

    #[test]
    fn what_is_not_served_is_asked_for_like_what_is() {
        check("GET", "/api/v1/namespaces/n/unknowns/u", None, "get unknowns./ n/u");
        check("GET", "/apis/x.example/v1/things", None, "list things.x.example/ / selected");
        check("DELETE", "/apis/x.example/v1/things", None, "deletecollection things.x.example/ / selected");
        check("PUT", "/apis/x.example/v1/namespaces/n/things/t/status", None, "update things.x.example/status n/t");
        check("GET", "/apis/x.example/v1/watch/things", None, "watch things.x.example/ /");
        check("GET", "/api/v1/namespaces/n/status", None, "get namespaces./status n/n");
        check("DELETE", "/nothing", None, "delete /nothing");
    }
}
