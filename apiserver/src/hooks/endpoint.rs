//! Where a hook is, and whom its certificate has to be signed by.

use crate::backends::Service;
use crate::trust::Certificate;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::Uri;
use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// The `clientConfig` of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub at: At,
    pub path: String,
    /// Authorities in PEM. `None`: those that the server trusts anyway.
    pub ca: Option<Bytes>,
    /// Who we are there, if that has to be shown.
    pub identity: Option<Arc<Identity>>,
}

/// What is shown to prove who asks. Never shown to anybody else.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Identity {
    pub token: Option<Token>,
    pub certificate: Option<Certificate>,
}

#[derive(Clone, PartialEq, Eq)]
pub enum Token {
    Text(String),
    /// Read each time: somebody puts a new one there before the old one is no use.
    File(PathBuf),
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity(..)")
    }
}

impl Identity {
    /// The value of the `Authorization` header.
    pub(super) fn authorization(&self) -> Option<String> {
        let token = match self.token.as_ref()? {
            Token::Text(token) => token.clone(),
            Token::File(path) => std::fs::read_to_string(path).ok()?.trim().to_owned(),
        };
        Some(format!("Bearer {token}"))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// A host, and a port if one was given.
    Host(http::uri::Authority),
    Service(Service),
}

const HTTPS: u16 = 443;

impl Endpoint {
    pub fn read(config: &Value) -> Result<Self, String> {
        let ca = authorities(config)?;
        let given = |field: &str| config.get(field).filter(|value| !value.is_null());
        if let Some(service) = given("service") {
            let word = |field: &str| service.get(field).and_then(Value::as_str).unwrap_or_default();
            let (namespace, name) = (word("namespace").to_owned(), word("name").to_owned());
            let port = service.get("port").and_then(Value::as_u64).unwrap_or_default();
            let port = u16::try_from(port).ok().filter(|port| *port != 0).unwrap_or(HTTPS);
            let at = At::Service(Service { namespace, name, port });
            return Ok(Self { at, path: joined(word("path")), ca, identity: None });
        }
        let url = given("url").and_then(Value::as_str).unwrap_or_default();
        if url.is_empty() {
            return Err("webhook configuration must have either service or URL".to_owned());
        }
        let uri: Uri = url.parse().map_err(|error| format!("Unparsable URL: parse {url:?}: {error}"))?;
        match (uri.scheme_str(), uri.authority()) {
            (Some("https"), Some(authority)) => {
                Ok(Self { at: At::Host(authority.clone()), path: joined(uri.path()), ca, identity: None })
            }
            _ => Err(format!("Unparsable URL: {url:?} is not an https URL")),
        }
    }

    /// Another place on the same server.
    #[must_use]
    pub fn below(&self, path: &str) -> Self {
        let base = self.path.trim_end_matches('/');
        Self { path: format!("{base}{path}"), ..self.clone() }
    }

    /// What stands in the URL and in the `Host` header.
    pub fn authority(&self) -> String {
        match &self.at {
            At::Host(authority) => authority.to_string(),
            At::Service(service) => format!("{}:{}", service.server_name(), service.port),
        }
    }

    /// Whom the certificate has to be for.
    pub fn server_name(&self) -> String {
        match &self.at {
            At::Host(authority) => authority.host().trim_matches(['[', ']']).to_owned(),
            At::Service(service) => service.server_name(),
        }
    }

    /// Requests to one host over one connection would all go to the same of several servers behind it; Kubernetes
    /// therefore speaks HTTP/2 to this machine alone.
    pub(super) fn is_local(&self) -> bool {
        let At::Host(_) = self.at else { return false };
        let name = self.server_name();
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "https://{}{}", self.authority(), self.path)
    }
}

fn authorities(config: &Value) -> Result<Option<Bytes>, String> {
    let text = config.get("caBundle").and_then(Value::as_str).unwrap_or_default();
    let pem = STANDARD.decode(text).map_err(|error| format!("unable to load root certificates: {error}"))?;
    Ok(Some(pem).filter(|pem| !pem.trim_ascii().is_empty()).map(Bytes::from))
}

/// The path as Go joins it: absolute, without empty or dotted parts, and with nothing after the last.
fn joined(path: &str) -> String {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(config: Value, expect: Result<&str, &str>) {
        let found = Endpoint::read(&config).map(|endpoint| endpoint.to_string());
        assert_eq!(found.as_deref().map_err(String::as_str), expect, "{config}");
    }

    #[test]
    fn urls_and_services_are_read() {
        check(json!({ "url": "https://a.example" }), Ok("https://a.example/"));
        check(json!({ "url": "https://a.example:8443//b/./c/../d/" }), Ok("https://a.example:8443/b/d"));
        check(json!({ "url": "https://[::1]:1/x" }), Ok("https://[::1]:1/x"));
        check(json!({ "service": { "namespace": "n", "name": "s" } }), Ok("https://s.n.svc:443/"));
        let full = json!({ "service": { "namespace": "n", "name": "s", "port": 8443, "path": "a/b" }, "caBundle": "" });
        check(full, Ok("https://s.n.svc:8443/a/b"));
    }

    #[test]
    fn what_is_no_place_is_refused() {
        check(Value::Null, Err("webhook configuration must have either service or URL"));
        check(json!({ "url": "http://a" }), Err("Unparsable URL: \"http://a\" is not an https URL"));
        check(json!({ "url": "/a" }), Err("Unparsable URL: \"/a\" is not an https URL"));
        assert!(Endpoint::read(&json!({ "url": "https://a b" })).is_err());
        assert!(Endpoint::read(&json!({ "url": "https://a", "caBundle": "%" })).is_err());
    }

    #[test]
    fn only_this_machine_is_spoken_to_in_http2() {
        let is_local = |url: &str| Endpoint::read(&json!({ "url": url })).unwrap().is_local();
        assert!(is_local("https://LocalHost:1/") && is_local("https://127.0.0.9/") && is_local("https://[::1]/"));
        assert!(!is_local("https://example.org/") && !is_local("https://10.0.0.1/"));
    }
}
