//! Which group versions of a workspace others serve, as its `APIService` objects say: [`Backends`], where each is
//! ([`addresses`]), and what a request that it answers is about ([`Remote`]).

mod address;
mod request;

pub use address::{Address, Unreachable, addresses};
pub use request::Remote;

pub(crate) use request::read;

use crate::object::Object;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use std::sync::Arc;

const HTTPS: u16 = 443;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub namespace: String,
    pub name: String,
    pub port: u16,
}

impl Service {
    /// The name that its certificate is for.
    pub fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// Whoever serves a group version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Backend {
    pub group: String,
    pub version: String,
    pub service: Service,
    /// Who signs for it, in PEM.
    pub ca: Option<Bytes>,
    /// Whoever answers is believed to be it.
    pub insecure: bool,
    pub group_priority: i64,
    pub version_priority: i64,
    /// It was there when it was last looked for.
    pub available: bool,
}

impl Backend {
    /// `None`: the group version is not served by anybody else.
    pub fn read(registered: &Object) -> Option<Self> {
        let service = registered.pointer(&["spec", "service"]).filter(|service| service.is_object())?;
        let word = |field: &str| service[field].as_str().unwrap_or_default().to_owned();
        let port = service["port"].as_u64().and_then(|port| u16::try_from(port).ok()).unwrap_or(HTTPS);
        let number = |field: &str| registered.pointer(&["spec", field]).and_then(|value| value.as_i64()).unwrap_or(0);
        let bundle = STANDARD.decode(registered.text(&["spec", "caBundle"])).unwrap_or_default();
        let is_available =
            |condition: &serde_json::Value| condition["type"] == "Available" && condition["status"] == "True";
        Some(Self {
            group: registered.text(&["spec", "group"]).to_owned(),
            version: registered.text(&["spec", "version"]).to_owned(),
            service: Service { namespace: word("namespace"), name: word("name"), port },
            ca: Some(bundle).filter(|pem| !pem.trim_ascii().is_empty()).map(Bytes::from),
            insecure: registered.pointer(&["spec", "insecureSkipTLSVerify"]).is_some_and(|value| *value == true),
            group_priority: number("groupPriorityMinimum"),
            version_priority: number("versionPriority"),
            available: registered.items(&["status", "conditions"]).any(is_available),
        })
    }

    /// Where all that it serves begins.
    pub fn root(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }
}

/// All backends of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Backends(Vec<Arc<Backend>>);

impl Backends {
    /// What is built in is never served by others, whatever somebody registers: nobody takes secrets or roles away.
    pub fn compile<'a>(registered: impl Iterator<Item = &'a Object>, is_builtin: impl Fn(&str, &str) -> bool) -> Self {
        let read = registered.filter_map(Backend::read);
        let foreign = read.filter(|found| !found.group.is_empty() && !is_builtin(&found.group, &found.version));
        Self(foreign.map(Arc::new).collect())
    }

    pub fn find(&self, group: &str, version: &str) -> Option<&Arc<Backend>> {
        self.0.iter().find(|backend| backend.group == group && backend.version == version)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Backend>> {
        self.0.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
