//! What a request is about that somebody else will answer: read as any API server reads it, so that what is permitted
//! here is what is done there.

use super::Backend;
use crate::error::ApiError;
use crate::place::Workspace;
use crate::target::Verb;
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
