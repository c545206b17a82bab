//! What a request is about: path and method, read once. Everything the server can answer is one of these.

use crate::backends::{self, Backend, Remote};
use crate::catalog::{Catalog, ResourceDef};
use crate::error::ApiError;
use crate::place::{Collection, ObjectRef, Workspace};
pub use crate::verb::Verb;
use http::Method;
use std::sync::Arc;

/// How closely one looks at who waits for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dump {
    Levels,
    Queues,
    Requests,
}

impl Dump {
    /// The part of the path that asks for it.
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "dump_priority_levels" => Self::Levels,
            "dump_queues" => Self::Queues,
            "dump_requests" => Self::Requests,
            _ => return None,
        })
    }
}

#[derive(Clone, Debug)]
pub enum Target {
    Objects {
        verb: Verb,
        at: Collection,
    },
    Object {
        verb: Verb,
        at: ObjectRef,
        subresource: Option<String>,
    },
    /// Another API server answers.
    Remote(Box<Remote>),
    Discovery(Workspace, Discovery),
    OpenApi(Workspace, OpenApi),
    Version,
    /// All that the probe looks at, or one thing of it.
    Health(Probe, Option<String>),
    Metrics,
    /// Who waits for whom in the workspace.
    Turns(Dump),
    /// Which workspaces cost most.
    Costs,
    /// All that is kept of a workspace.
    Content(Workspace),
    /// What others need to check the tokens that are issued here.
    Issuer(Issuer),
    /// Nothing is served there, or not in this way: what is to be said to those who may know.
    Nowhere(Box<ApiError>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discovery {
    Core,
    Groups,
    Group(String),
    Version { group: String, version: String },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenApi {
    V2,
    Index,
    V3 { group: String, version: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issuer {
    Configuration,
    Keys,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    Health,
    Live,
    Ready,
}

impl Target {
    /// Reads a path below the workspace. `watching`: the query asks for a watch.
    pub fn parse(
        method: &Method,
        path: &str,
        watching: bool,
        workspace: &Workspace,
        served: &Lookup<'_>,
    ) -> Result<Self, ApiError> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        if let ["apis", group, version, rest @ ..] = &*parts
            && let Some(backend) = served.elsewhere(group, version)?
        {
            let read = backends::read(&backend, workspace, method, rest, watching);
            return read.map(|remote| Self::Remote(Box::new(remote)));
        }
        let discovery = |what| reading(method, Self::Discovery(workspace.clone(), what));
        let openapi = |what| reading(method, Self::OpenApi(workspace.clone(), what));
        match &*parts {
            ["version"] => reading(method, Self::Version),
            ["healthz", rest @ ..] => reading(method, Self::Health(Probe::Health, one_check(rest)?)),
            ["livez", rest @ ..] => reading(method, Self::Health(Probe::Live, one_check(rest)?)),
            ["readyz", rest @ ..] => reading(method, Self::Health(Probe::Ready, one_check(rest)?)),
            ["debug", "api_priority_and_fairness", what] => {
                reading(method, Self::Turns(Dump::parse(what).ok_or_else(ApiError::no_such_path)?))
            }
            ["debug", "content"] if *method == Method::POST => Ok(Self::Content(workspace.clone())),
            ["debug", "content"] => reading(method, Self::Content(workspace.clone())),
            ["debug", "workspaces"] => reading(method, Self::Costs),
            ["metrics"] => reading(method, Self::Metrics),
            [".well-known", "openid-configuration"] => reading(method, Self::Issuer(Issuer::Configuration)),
            ["openid", "v1", "jwks"] => reading(method, Self::Issuer(Issuer::Keys)),
            ["api"] => discovery(Discovery::Core),
            ["apis"] => discovery(Discovery::Groups),
            ["openapi", "v2"] => openapi(OpenApi::V2),
            ["openapi", "v3"] => openapi(OpenApi::Index),
            ["openapi", "v3", "api", version] => openapi(v3("", version)),
            ["openapi", "v3", "apis", group, version] => openapi(v3(group, version)),
            ["apis", group] => discovery(Discovery::Group((*group).to_owned())),
            ["api", version] => discovery(of_version("", version)),
            ["apis", group, version] => discovery(of_version(group, version)),
            ["api", version, rest @ ..] => Route { group: "", version, workspace, served }.read(method, rest, watching),
            ["apis", group, version, rest @ ..] => {
                Route { group, version, workspace, served }.read(method, rest, watching)
            }
            _ => Err(ApiError::no_such_path()),
        }
    }

    /// What the objects are that it is about.
    pub fn resource(&self) -> Option<&ResourceDef> {
        match self {
            Self::Objects { at, .. } => Some(&at.resource),
            Self::Object { at, .. } => Some(at.resource()),
            _ => None,
        }
    }

    /// The version of what it is about.
    pub fn version(&self) -> &str {
        match self {
            Self::Remote(remote) => &remote.backend.version,
            _ => self.resource().map(|resource| &*resource.version).unwrap_or_default(),
        }
    }

    /// What is to be said about a kind, or a version of one, that has had its day.
    pub(crate) fn deprecation(&self) -> Option<String> {
        let resource = self.resource()?;
        if let Some(custom) = resource.custom() {
            return custom.warning.clone();
        }
        let told = match (&*resource.group, &*resource.plural) {
            ("", "endpoints") => "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
            ("", "componentstatuses") => "v1 ComponentStatus is deprecated in v1.19+",
            _ => return None,
        };
        Some(told.to_owned())
    }

    /// Load balancers and clients look at these before they have shown who they are.
    pub fn is_public(&self) -> bool {
        matches!(self, Self::Version | Self::Health(_, None))
    }

    /// About the whole server, whichever workspace it was asked in.
    pub fn is_server_wide(&self) -> bool {
        matches!(self, Self::Version | Self::Health(..) | Self::Metrics | Self::Costs)
    }

    /// Runs for as long as the client wants.
    pub fn is_watch(&self) -> bool {
        match self {
            Self::Objects { verb, .. } | Self::Object { verb, .. } => *verb == Verb::Watch,
            Self::Remote(remote) => remote.is_lasting(),
            _ => false,
        }
    }
}

fn reading(method: &Method, target: Target) -> Result<Target, ApiError> {
    if matches!(*method, Method::GET | Method::HEAD) { Ok(target) } else { Err(ApiError::method_not_allowed()) }
}

fn one_check(rest: &[&str]) -> Result<Option<String>, ApiError> {
    match rest {
        [] => Ok(None),
        [name] => Ok(Some((*name).to_owned())),
        _ => Err(ApiError::no_such_path()),
    }
}

fn v3(group: &str, version: &str) -> OpenApi {
    OpenApi::V3 { group: group.to_owned(), version: version.to_owned() }
}

fn of_version(group: &str, version: &str) -> Discovery {
    Discovery::Version { group: group.to_owned(), version: version.to_owned() }
}

/// Finds who serves a group and version.
pub type FindBackend<'a> = &'a dyn Fn(&str, &str) -> Result<Option<Arc<Backend>>, ApiError>;

/// Where resources are looked up: most are built in, and for those nothing else is asked.
#[derive(Clone, Copy)]
pub struct Lookup<'a> {
    pub builtin: &'a Catalog,
    /// What the workspace serves.
    pub own: &'a dyn Fn() -> Result<Arc<Catalog>, ApiError>,
    /// Who else serves a group version of the workspace.
    pub remote: FindBackend<'a>,
}

impl Lookup<'_> {
    /// What is built in is served by nobody else.
    fn elsewhere(&self, group: &str, version: &str) -> Result<Option<Arc<Backend>>, ApiError> {
        if self.builtin.version(group, version).is_some() { Ok(None) } else { (self.remote)(group, version) }
    }

    fn find(&self, group: &str, version: &str, plural: &str) -> Result<Arc<ResourceDef>, ApiError> {
        if let Some(found) = self.builtin.find(group, version, plural) {
            return Ok(found.clone());
        }
        (self.own)()?.find(group, version, plural).cloned().ok_or_else(ApiError::no_such_path)
    }
}

impl std::fmt::Debug for Lookup<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lookup")
    }
}

struct Route<'a> {
    group: &'a str,
    version: &'a str,
    workspace: &'a Workspace,
    served: &'a Lookup<'a>,
}

impl Route<'_> {
    fn read(&self, method: &Method, parts: &[&str], watching: bool) -> Result<Target, ApiError> {
        // The old way to ask for a watch, and the only one to ask for that of one object.
        let (prefixed, parts) = match parts {
            ["watch", rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (namespace, parts) = self.namespaced(parts);
        let (plural, rest) = parts.split_first().ok_or_else(ApiError::no_such_path)?;
        let resource = self.served.find(self.group, self.version, plural)?;
        if namespace.is_some() && !resource.namespaced {
            return Err(ApiError::no_such_path());
        }
        let at = Collection { resource, workspace: self.workspace.clone(), namespace: namespace.map(str::to_owned) };
        match rest {
            [] => objects(method, at, watching || prefixed),
            [name, rest @ ..] => object(method, at.object(&decode(name)?), rest, prefixed),
        }
    }

    /// `namespaces/x/pods` is in a namespace; `namespaces/x` and its own subresources are the namespace.
    fn namespaced<'a>(&self, parts: &'a [&'a str]) -> (Option<&'a str>, &'a [&'a str]) {
        match parts {
            ["namespaces", _, "status" | "finalize"] if self.group.is_empty() => (None, parts),
            ["namespaces", namespace, _, ..] => (Some(namespace), &parts[2..]),
            _ => (None, parts),
        }
    }
}

fn objects(method: &Method, at: Collection, watching: bool) -> Result<Target, ApiError> {
    let verb = match *method {
        Method::GET | Method::HEAD if watching => Verb::Watch,
        Method::GET | Method::HEAD => Verb::List,
        Method::POST => Verb::Create,
        Method::DELETE => Verb::DeleteCollection,
        _ => return Err(ApiError::method_not_allowed()),
    };
    let in_no_namespace = at.resource.namespaced && at.namespace.is_none();
    if in_no_namespace && verb.changes_something() && at.resource.is_stored() {
        return Err(ApiError::method_not_allowed());
    }
    if !at.resource.allows(verb.word()) {
        return Err(ApiError::method_not_allowed());
    }
    Ok(Target::Objects { verb, at })
}

/// What is only asked and not kept has no objects that could be named.
fn has_objects(resource: &ResourceDef) -> bool {
    [Verb::Get, Verb::Update, Verb::Patch, Verb::Delete].iter().any(|verb| resource.allows(verb.word()))
}

fn object(method: &Method, at: ObjectRef, rest: &[&str], watching: bool) -> Result<Target, ApiError> {
    if !has_objects(at.resource()) {
        return Err(ApiError::no_such_path());
    }
    let verb = match *method {
        Method::GET | Method::HEAD if watching => Verb::Watch,
        Method::GET | Method::HEAD => Verb::Get,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE => Verb::Delete,
        Method::POST if !rest.is_empty() => Verb::Create,
        _ => return Err(ApiError::method_not_allowed()),
    };
    let resource = at.resource().clone();
    if resource.namespaced && at.namespace().is_none() {
        return Err(ApiError::no_such_path());
    }
    let allowed = match rest {
        [] => resource.allows(verb.word()),
        [subresource, ..] => {
            let found = resource.subresource(subresource).ok_or_else(ApiError::no_such_path)?;
            found.verbs.contains(&verb.word())
        }
    };
    if !allowed {
        return Err(ApiError::method_not_allowed());
    }
    Ok(Target::Object { verb, at, subresource: rest.first().map(|name| (*name).to_owned()) })
}

/// Names may be percent-encoded: those of roles have colons.
fn decode(segment: &str) -> Result<String, ApiError> {
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8();
    decoded.map(String::from).map_err(|_| ApiError::bad_request("the path is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(method: Method, path: &str, expected: &str) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let builtin = Arc::new(Catalog::builtin());
        let served = Lookup { builtin: &builtin, own: &|| Ok(builtin.clone()), remote: &|_, _| Ok(None) };
        let target = Target::parse(&method, path, query == "watch", &Workspace::new("w"), &served);
        let told = match target {
            Ok(Target::Objects { verb, at }) => {
                format!("{} {} in {}", verb.word(), at.resource.qualified(), at.namespace.as_deref().unwrap_or("-"))
            }
            Ok(Target::Object { verb, at, subresource }) => {
                let (resource, namespace) = (at.resource().qualified(), at.namespace().unwrap_or("-"));
                let sub = subresource.map(|name| format!("/{name}")).unwrap_or_default();
                format!("{} {resource} {}{sub} in {namespace}", verb.word(), at.name)
            }
            Ok(Target::Discovery(_, what)) => format!("Discovery({what:?})"),
            Ok(Target::OpenApi(_, what)) => format!("OpenApi({what:?})"),
            Ok(other) => format!("{other:?}"),
            Err(error) => error.code().to_string(),
        };
        assert_eq!(told, expected, "{method} {path}");
    }

    #[test]
    fn objects_are_told_from_collections_and_subresources() {
        check(Method::GET, "/api/v1/pods", "list pods in -");
        check(Method::GET, "/api/v1/pods?watch", "watch pods in -");
        check(Method::GET, "/api/v1/watch/namespaces/n/pods/p", "watch pods p in n");
        check(Method::GET, "/api/v1/namespaces/n/pods/p?watch", "get pods p in n");
        check(Method::GET, "/api/v1/namespaces/n/pods", "list pods in n");
        check(Method::POST, "/api/v1/namespaces/n/pods", "create pods in n");
        check(Method::DELETE, "/api/v1/namespaces/n/pods", "deletecollection pods in n");
        check(Method::PUT, "/apis/apps/v1/namespaces/n/deployments/d/status", "update deployments.apps d/status in n");
        check(Method::POST, "/api/v1/namespaces/n/serviceaccounts/s/token", "create serviceaccounts s/token in n");
        check(
            Method::GET,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles/a%3Ab",
            "get clusterroles.rbac.authorization.k8s.io a:b in -",
        );
    }

    #[test]
    fn a_namespace_is_an_object_and_a_place() {
        check(Method::GET, "/api/v1/namespaces", "list namespaces in -");
        check(Method::GET, "/api/v1/namespaces/n", "get namespaces n in -");
        check(Method::PUT, "/api/v1/namespaces/n/finalize", "update namespaces n/finalize in -");
        check(Method::GET, "/api/v1/namespaces/n/status", "get namespaces n/status in -");
        check(Method::GET, "/api/v1/namespaces/n/nodes", "404");
    }

    #[test]
    fn what_is_not_served_is_refused_by_what_is_wrong_with_it() {
        check(Method::GET, "/api/v1/unknowns", "404");
        check(Method::GET, "/apis/apps/v9/deployments", "404");
        check(Method::GET, "/nothing", "404");
        check(Method::POST, "/api/v1/pods", "405");
        check(Method::PUT, "/api/v1/namespaces/n/pods", "405");
        check(Method::DELETE, "/api/v1/namespaces", "405");
        check(Method::GET, "/api/v1/namespaces/n/pods/p/unknown", "404");
        check(Method::POST, "/api", "405");
        check(Method::GET, "/apis/authentication.k8s.io/v1/tokenreviews", "405");
        check(Method::GET, "/apis/authentication.k8s.io/v1/tokenreviews/t", "404");
        check(Method::POST, "/api/v1/namespaces/n/bindings/b", "404");
        check(
            Method::POST,
            "/apis/authentication.k8s.io/v1/tokenreviews",
            "create tokenreviews.authentication.k8s.io in -",
        );
    }

    #[test]
    fn everything_else_has_a_name_of_its_own() {
        check(Method::GET, "/readyz?verbose", "Health(Ready, None)");
        check(Method::GET, "/livez/ping", "Health(Live, Some(\"ping\"))");
        check(Method::GET, "/livez/ping/more", "404");
        check(Method::GET, "/apis/apps", "Discovery(Group(\"apps\"))");
        check(Method::GET, "/openapi/v3/apis/apps/v1", "OpenApi(V3 { group: \"apps\", version: \"v1\" })");
    }
}
