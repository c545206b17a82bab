//! What a request is about that somebody else will answer: read as any API server reads it, so that what is permitted
//! here is what is done there.

use super::Backend;
use crate::error::ApiError;
use crate::place::Workspace;
use crate::verb::Verb;
use http::Method;
use std::sync::Arc;

/// A request for a backend.
#[derive(Clone, Debug)]
pub struct Remote {
    pub workspace: Workspace,
    pub backend: Arc<Backend>,
    pub verb: Verb,
    /// Empty: it is about no resource, but about what is served.
    pub resource: String,
    pub subresource: String,
    pub namespace: String,
    pub name: String,
}

/// Subresources that are used for as long as the client likes.
const LASTING: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];

impl Remote {
    /// It goes on for as long as the client likes.
    pub fn is_lasting(&self) -> bool {
        self.verb == Verb::Watch || LASTING.contains(&&*self.subresource)
    }
}

/// Reads what comes after the group version in a path. `watching`: the query asks for a watch.
pub(crate) fn read(
    backend: &Arc<Backend>,
    workspace: &Workspace,
    method: &Method,
    parts: &[&str],
    watching: bool,
) -> Result<Remote, ApiError> {
    let decoded: Vec<String> = parts.iter().map(|part| segment(part)).collect::<Result<_, _>>()?;
    let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
    let (prefixed, parts) = match &*parts {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (namespace, parts) = match parts {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
        ["namespaces", namespace] => (*namespace, parts),
        rest => ("", rest),
    };
    let part = |at: usize| parts.get(at).copied().unwrap_or_default().to_owned();
    let (resource, name) = (part(0), part(1));
    let verb = verb(method, !name.is_empty() || resource.is_empty(), watching || prefixed, prefixed);
    let verb = verb.ok_or_else(ApiError::method_not_allowed)?;
    if resource.is_empty() && verb.changes_something() {
        return Err(ApiError::method_not_allowed());
    }
    let (workspace, backend) = (workspace.clone(), backend.clone());
    Ok(Remote { workspace, backend, verb, resource, subresource: part(2), namespace: namespace.to_owned(), name })
}

fn verb(method: &Method, named: bool, watching: bool, prefixed: bool) -> Option<Verb> {
    Some(match (method.as_str(), named) {
        ("GET" | "HEAD", true) if prefixed => Verb::Watch,
        ("GET" | "HEAD", false) if watching => Verb::Watch,
        ("GET" | "HEAD", true) => Verb::Get,
        ("GET" | "HEAD", false) => Verb::List,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::Delete,
        ("DELETE", false) => Verb::DeleteCollection,
        _ => return None,
    })
}

/// A part of a path, as the backend will read it. One that could be read in two ways is not passed on.
fn segment(part: &str) -> Result<String, ApiError> {
    let decoded = percent_encoding::percent_decode_str(part).decode_utf8();
    let decoded = decoded.map_err(|_| ApiError::bad_request("the path is not UTF-8"))?;
    if decoded.is_empty() || decoded == "." || decoded == ".." || decoded.contains(['/', '\\', '%']) {
        return Err(ApiError::no_such_path());
    }
    Ok(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backends::{Backend, Service};

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let service = Service { namespace: String::new(), name: String::new(), port: 1 };
        let (group, version) = ("example.com".to_owned(), "v1".to_owned());
        let (ca, insecure, group_priority, version_priority, available) = (None, false, 0, 0, true);
        let backend = Backend { group, version, service, ca, insecure, group_priority, version_priority, available };
        let (method, path) = line.split_once(' ').unwrap();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.split('/').filter(|_| !path.is_empty()).collect();
        let method = method.parse().unwrap();
        let told = match read(&Arc::new(backend), &Workspace::new("w"), &method, &parts, query == "watch") {
            Ok(Remote { verb, resource, subresource, namespace, name, .. }) => {
                format!("{} {namespace}|{resource}|{name}|{subresource}", verb.word())
            }
            Err(error) => error.code().to_string(),
        };
        assert_eq!(told, expected, "{line}");
    }

    #[test]
    fn paths_are_read_as_kubernetes_reads_them() {
        check("GET ", "get |||");
        check("GET things", "list |things||");
        check("HEAD things", "list |things||");
        check("GET things?watch", "watch |things||");
        check("GET watch/things", "watch |things||");
        check("GET watch/namespaces/n/things/x", "watch n|things|x|");
        check("GET namespaces/n/things/x", "get n|things|x|");
        check("GET namespaces/n/things/x?watch", "get n|things|x|");
        check("GET namespaces/n", "get n|namespaces|n|");
        check("POST namespaces/n/things", "create n|things||");
        check("POST namespaces/n/things/x/exec", "create n|things|x|exec");
        check("PUT things/a%3Ab/status", "update |things|a:b|status");
        check("PATCH things/x", "patch |things|x|");
        check("DELETE things", "deletecollection |things||");
        check("DELETE things/x", "delete |things|x|");
    }

    #[test]
    fn what_could_be_read_in_two_ways_is_not_read() {
        for odd in ["a%2Fb", "%2e%2e", "..", ".", "a%252Fb", "a%5Cb", "things//x"] {
            check(&format!("GET {odd}"), "404");
        }
        check("GET %ff", "400");
        check("TRACE things", "405");
        check("POST ", "405");
    }
}
