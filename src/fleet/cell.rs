//! A cell as its object describes it.

use apiserver::object::Object;
use apiserver::place::Workspace;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use std::fmt;

/// Which cell: the workspace that its object is in, and its name there.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId {
    pub workspace: Workspace,
    pub name: String,
}

impl CellId {
    pub fn new(workspace: &str, name: &str) -> Self {
        Self { workspace: Workspace::new(workspace), name: name.to_owned() }
    }
}

impl fmt::Display for CellId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The annotation that says that a cell is lost: whatever is in it is forgotten, not withdrawn.
pub const LOST: &str = "federation.hanse.dev/lost";

/// The annotation that says which cluster a cell is, whatever it is called and wherever it is: the UID of a namespace that
/// every cluster has.
pub const IDENTITY: &str = "federation.hanse.dev/identity";

/// How a cell is reached, as its object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AccessRef {
    Secret { namespace: String, name: String },
    Workspace(String),
    Nothing,
}

/// What the key of a secret is called that holds a kubeconfig.
pub const KUBECONFIG_KEY: &str = "kubeconfig";

pub(super) fn access_ref(cell: &Object) -> AccessRef {
    let workspace = cell.text(&["spec", "workspace"]);
    if !workspace.is_empty() {
        return AccessRef::Workspace(workspace.to_owned());
    }
    let word = |key: &str| cell.text(&["spec", "secretRef", key]).to_owned();
    match word("name") {
        name if name.is_empty() => AccessRef::Nothing,
        name => AccessRef::Secret { namespace: word("namespace"), name },
    }
}

/// The kubeconfig that a secret holds, or that a cell and the token and authority of a secret make together.
pub fn kubeconfig(cell: &Object, secret: &Object) -> Option<String> {
    let bytes = |key: &str| STANDARD.decode(secret.text(&["data", key])).ok().filter(|bytes| !bytes.is_empty());
    if let Some(whole) = bytes(KUBECONFIG_KEY) {
        return String::from_utf8(whole).ok();
    }
    let token = String::from_utf8(bytes("token")?).ok()?;
    let mut at = json!({ "server": cell.text(&["spec", "apiEndpoint"]) });
    if let Some(authorities) = bytes("caBundle") {
        at["certificate-authority-data"] = json!(STANDARD.encode(authorities));
    }
    if cell.pointer(&["spec", "insecureSkipTLSVerification"]) == Some(&json!(true)) {
        at["insecure-skip-tls-verify"] = json!(true);
    }
    let whole = json!({
        "current-context": "cell", "contexts": [{ "name": "cell", "context": { "cluster": "cell", "user": "cell" } }],
        "clusters": [{ "name": "cell", "cluster": at }], "users": [{ "name": "cell", "user": { "token": token } }],
    });
    Some(whole.to_string())
}

pub(super) fn is_lost(cell: &Object) -> bool {
    cell.annotation(LOST).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::kubeconfig::{Credential, read};

    fn object(tree: serde_json::Value) -> Object {
        tree.try_into().unwrap()
    }

    #[test]
    fn a_token_and_an_endpoint_are_as_good_as_a_kubeconfig() {
        let cell = object(json!({ "spec": { "apiEndpoint": "https://10.0.0.1:6443", "secretRef": { "name": "s" } } }));
        let secret = object(json!({ "data": { "token": STANDARD.encode("t"), "caBundle": STANDARD.encode("PEM") } }));
        let access = read(&kubeconfig(&cell, &secret).unwrap()).unwrap();
        assert_eq!(access.server.to_string(), "https://10.0.0.1:6443/");
        assert!(access.credential == Credential::Token("t".to_owned()));
        assert_eq!(access.authorities.as_deref(), Some(&b"PEM"[..]));
        let whole = object(json!({ "data": { "kubeconfig": STANDARD.encode("whole") } }));
        assert_eq!(kubeconfig(&cell, &whole).as_deref(), Some("whole"));
        assert_eq!(kubeconfig(&cell, &object(json!({}))), None);
    }
}
