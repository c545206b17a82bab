//! The API server that this one stands behind: whom it trusts, and which namespaces it has.

use apiserver::authn::header::FrontProxy;
use apiserver::authn::host::{Namespaces, Presence};
use apiserver::hooks::call::HttpCaller;
use apiserver::hooks::{Endpoint, Later};
use http::HeaderName;
use serde_json::Value;
use std::time::Duration;

const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Where every kube-apiserver says whom it trusts.
const TRUST: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// Whom the host trusts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trusts {
    /// Authorities of its clients, in PEM.
    pub clients: Option<String>,
    /// Authorities of its front proxies, in PEM.
    pub proxies: Option<String>,
    /// What its front proxies say where.
    headers: Headers,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Headers {
    user: Vec<HeaderName>,
    uid: Vec<HeaderName>,
    groups: Vec<HeaderName>,
    extra: Vec<String>,
    allowed: Vec<String>,
}

impl Trusts {
    /// Reads the object in which it says so.
    pub fn read(object: &Value) -> Result<Self, String> {
        let data = object.get("data").and_then(Value::as_object).ok_or("it says nothing")?;
        let text = |field: &str| data.get(field).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        let list = |field: &str| match text(field) {
            None => Ok(Vec::new()),
            Some(text) => serde_json::from_str::<Vec<String>>(text).map_err(|error| format!("{field}: {error}")),
        };
        let names = |field: &str| {
            let name =
                |text: String| HeaderName::try_from(&text).map_err(|_| format!("{field}: {text:?} is no header"));
            list(field)?.into_iter().map(name).collect::<Result<Vec<_>, String>>()
        };
        let headers = Headers {
            user: names("requestheader-username-headers")?,
            uid: names("requestheader-uid-headers")?,
            groups: names("requestheader-group-headers")?,
            extra: list("requestheader-extra-headers-prefix")?.iter().map(|text| text.to_lowercase()).collect(),
            allowed: list("requestheader-allowed-names")?,
        };
        let own = |field: &str| text(field).map(str::to_owned);
        Ok(Self { clients: own("client-ca-file"), proxies: own("requestheader-client-ca-file"), headers })
    }

    /// Which front proxies are believed, if any are.
    pub fn front_proxy(&self) -> Option<FrontProxy> {
        self.proxies.as_ref()?;
        let Headers { user, uid, groups, extra, allowed } = self.headers.clone();
        Some(FrontProxy { user, uid, groups, extra_prefixes: extra, allowed })
    }
}

/// Asks the host whom it trusts.
pub async fn trusts(at: &Endpoint, caller: &HttpCaller) -> Result<Trusts, String> {
    let object = caller.fetch(&at.below(TRUST), ANSWER_MAX).await.map_err(|error| error.to_string())?;
    Trusts::read(&object)
}

/// Asks the host about its namespaces.
#[derive(Debug)]
pub struct HostNamespaces {
    pub at: Endpoint,
    pub caller: HttpCaller,
}

impl Namespaces for HostNamespaces {
    fn find<'a>(&'a self, name: &'a str) -> Later<'a, Result<Presence, String>> {
        Box::pin(async move {
            if !openapi::names::dns1123_label(name).is_empty() {
                return Ok(Presence::Missing);
            }
            let at = self.at.below(&format!("/api/v1/namespaces/{name}"));
            let (code, object) = self.caller.look(&at, ANSWER_MAX).await.map_err(|error| error.to_string())?;
            presence(code, &object).ok_or_else(|| format!("the host answers {code} when asked for namespace {name:?}"))
        })
    }
}

/// What an answer means.
fn presence(code: u16, object: &Value) -> Option<Presence> {
    match code {
        200 if object["metadata"]["deletionTimestamp"].is_string() => Some(Presence::Terminating),
        200 => Some(Presence::There),
        404 => Some(Presence::Missing),
        // We may not ask. It has permitted the request, and knows its own namespaces.
        403 => Some(Presence::There),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_host_says_whom_it_trusts() {
        let said = json!({ "data": {
            "client-ca-file": "CA", "requestheader-client-ca-file": "PROXY",
            "requestheader-username-headers": "[\"X-Remote-User\"]", "requestheader-uid-headers": "[]",
            "requestheader-group-headers": "[\"X-Remote-Group\"]",
            "requestheader-extra-headers-prefix": "[\"X-Remote-Extra-\"]",
            "requestheader-allowed-names": "[\"front\"]",
        } });
        let trusts = Trusts::read(&said).unwrap();
        assert_eq!((trusts.clients.as_deref(), trusts.proxies.as_deref()), (Some("CA"), Some("PROXY")));
        let proxy = trusts.front_proxy().unwrap();
        assert_eq!((proxy.user[0].as_str(), &*proxy.extra_prefixes[0]), ("x-remote-user", "x-remote-extra-"));
        assert!(proxy.believes("front") && !proxy.believes("back") && proxy.uid.is_empty());
        let only_clients = Trusts::read(&json!({ "data": { "client-ca-file": "CA" } })).unwrap();
        assert!(only_clients.front_proxy().is_none());
    }

    #[test]
    fn nonsense_is_trusted_by_nobody() {
        for odd in [
            json!({}),
            json!({ "data": { "requestheader-allowed-names": "front" } }),
            json!({ "data": { "requestheader-group-headers": "[\"a b\"]" } }),
            json!({ "data": { "requestheader-group-headers": "[1]" } }),
        ] {
            assert!(Trusts::read(&odd).is_err(), "{odd}");
        }
    }

    #[test]
    fn namespaces_are_there_or_not() {
        let check = |code, object: Value, expected| assert_eq!(presence(code, &object), expected, "{code} {object}");
        check(200, json!({ "metadata": { "name": "n" } }), Some(Presence::There));
        check(200, json!({ "metadata": { "deletionTimestamp": "2026-01-01T00:00:00Z" } }), Some(Presence::Terminating));
        check(404, Value::Null, Some(Presence::Missing));
        check(403, Value::Null, Some(Presence::There));
        check(500, Value::Null, None);
    }
}
