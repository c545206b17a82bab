//! Kubeconfig files that flags name: where somebody is who is asked, and who we are there.

use super::FileError;
use apiserver::hooks::{Endpoint, Identity, Token};
use apiserver::trust::Certificate;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The server of the current context. Files are meant from the folder of this one.
pub(super) fn endpoint(path: &Path) -> Result<Endpoint, FileError> {
    let wrong = |why: &str| FileError::Wrong { path: path.to_owned(), why: why.to_owned() };
    let unreadable = |source| FileError::Unreadable { path: path.to_owned(), source };
    let text = std::fs::read_to_string(path).map_err(unreadable)?;
    let file: Value = serde_saphyr::from_str(&text).map_err(|error| wrong(&error.to_string()))?;
    let named = |list: &str, name: &Value| {
        let all = file.get(list).and_then(Value::as_array).into_iter().flatten();
        all.into_iter().find(|one| one.get("name") == Some(name)).cloned()
    };
    let context = file.get("current-context").and_then(|name| named("contexts", name));
    let part = |kind: &str| context.as_ref()?.pointer(&format!("/context/{kind}")).cloned();
    let cluster = part("cluster").and_then(|name| named("clusters", &name));
    let cluster = cluster.ok_or_else(|| wrong("its current context names no cluster"))?;
    let user = part("user").and_then(|name| named("users", &name)).unwrap_or_default();
    let dir = path.parent().unwrap_or_else(|| Path::new(""));
    let (cluster, user) = (Fields { of: &cluster["cluster"], dir }, Fields { of: &user["user"], dir });
    for unknown in ["exec", "auth-provider", "username"] {
        if user.word(unknown).is_some() || user.of.get(unknown).is_some_and(Value::is_object) {
            return Err(wrong(&format!("{unknown} of a user is not supported")));
        }
    }
    let authority = cluster.data("certificate-authority")?.map(|pem| STANDARD.encode(pem)).unwrap_or_default();
    let server = cluster.word("server").unwrap_or_default();
    let at = Endpoint::read(&json!({ "url": server, "caBundle": authority })).map_err(|why| wrong(&why))?;
    Ok(Endpoint { identity: identity(&user)?, ..at })
}

/// A part of a kubeconfig, and the folder that it is in.
struct Fields<'a> {
    of: &'a Value,
    dir: &'a Path,
}

impl Fields<'_> {
    fn word(&self, field: &str) -> Option<&str> {
        self.of.get(field).and_then(Value::as_str).filter(|word| !word.is_empty())
    }

    fn file(&self, field: &str) -> Option<PathBuf> {
        self.word(field).map(|name| self.dir.join(name))
    }

    /// What `<field>-data` holds, or the file that `<field>` names.
    fn data(&self, field: &str) -> Result<Option<Vec<u8>>, FileError> {
        let inline = format!("{field}-data");
        if let Some(text) = self.word(&inline) {
            let why = format!("{inline} is not base64");
            let wrong = |_| FileError::Wrong { path: self.dir.to_owned(), why };
            return STANDARD.decode(text).map(Some).map_err(wrong);
        }
        let Some(path) = self.file(field) else { return Ok(None) };
        std::fs::read(&path).map(Some).map_err(|source| FileError::Unreadable { path, source })
    }
}

fn identity(user: &Fields<'_>) -> Result<Option<Arc<Identity>>, FileError> {
    let text = user.word("token").map(|token| Token::Text(token.to_owned()));
    let token = user.file("tokenFile").map(Token::File).or(text);
    let pair = user.data("client-certificate")?.zip(user.data("client-key")?);
    let certificate = pair.map(|(chain_pem, key_pem)| Certificate { chain_pem, key_pem });
    let shown = token.is_some() || certificate.is_some();
    Ok(shown.then(|| Arc::new(Identity { token, certificate })))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "current-context: c\ncontexts: [{ name: c, context: { cluster: k, user: u } }]\n\
        clusters: [{ name: k, cluster: { server: 'https://hook:8443/review' } }]\nusers: [{ name: u, user: USER }]\n";

    fn read(user: &str) -> Result<Endpoint, FileError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("cert.pem"), "CERT").unwrap();
        std::fs::write(dir.path().join("config"), FILE.replace("USER", user)).unwrap();
        endpoint(&dir.path().join("config"))
    }

    #[test]
    fn somebody_is_where_the_file_says_and_we_are_whom_it_says() {
        let at = read("{}").unwrap();
        assert_eq!((at.to_string().as_str(), at.identity), ("https://hook:8443/review", None));
        let token = read("{ token: t }").unwrap().identity.unwrap();
        assert!(token.token == Some(Token::Text("t".to_owned())) && token.certificate.is_none());
        let shown = read("{ client-certificate: cert.pem, client-key-data: S0VZ }").unwrap().identity.unwrap();
        let certificate = Certificate { chain_pem: b"CERT".to_vec(), key_pem: b"KEY".to_vec() };
        assert!(shown.certificate == Some(certificate));
        assert!(!format!("{shown:?}").contains("KEY"), "secrets are not shown");
    }

    #[test]
    fn what_cannot_be_used_is_refused() {
        assert!(read("{ exec: { command: x } }").unwrap_err().to_string().contains("exec"));
        assert!(read("{ client-certificate: nowhere, client-key-data: S0VZ }").is_err());
        assert!(read("{ client-certificate-data: '%', client-key-data: S0VZ }").is_err());
    }
}
