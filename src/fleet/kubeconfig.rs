//! Kubeconfig files: where an API server is, whom to trust there, and who to be.

use apiserver::trust::Certificate;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use serde_json::{Value, json};
use std::fmt;
use std::path::Path;

/// How an API server is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct Access {
    /// `https://host:port/path`
    pub server: Uri,
    /// The authorities that may sign for the server, in PEM.
    pub authorities: Option<Vec<u8>>,
    /// Whether the server need not prove anything.
    pub insecure: bool,
    /// The name that the server proves, where it is not the host of its URL.
    pub server_name: Option<String>,
    pub credential: Credential,
}

/// How we prove who we are. Never shown.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    None,
    Token(String),
    Basic { user: String, password: String },
    Certificate(Certificate),
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential(..)")
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("server", &self.server).finish_non_exhaustive()
    }
}

/// A kubeconfig that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid kubeconfig: {0}")]
pub struct KubeconfigError(String);

fn wrong(why: impl Into<String>) -> KubeconfigError {
    KubeconfigError(why.into())
}

/// What the current context of a kubeconfig says.
pub fn read(text: &str) -> Result<Access, KubeconfigError> {
    let config = tree(text)?;
    let (cluster, user) = current(&config)?;
    access(cluster, user)
}

/// The same kubeconfig with one context, and with what it names in other files written into it. Relative names are
/// meant from `dir`.
pub fn flattened(text: &str, dir: &Path) -> Result<String, KubeconfigError> {
    let config = tree(text)?;
    let (cluster, user) = current(&config)?;
    let (mut cluster, mut user) = (cluster.clone(), user.clone());
    inline(&mut cluster, "certificate-authority", dir)?;
    inline(&mut user, "client-certificate", dir)?;
    inline(&mut user, "client-key", dir)?;
    if let Some(path) = take(&mut user, "tokenFile") {
        user["token"] = json!(String::from_utf8_lossy(&file(dir, &path)?).trim());
    }
    access(&cluster, &user)?;
    let flat = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "cell",
        "contexts": [{ "name": "cell", "context": { "cluster": "cell", "user": "cell" } }],
        "clusters": [{ "name": "cell", "cluster": cluster }],
        "users": [{ "name": "cell", "user": user }],
    });
    Ok(flat.to_string())
}

/// Several kubeconfigs as one: the first to name something counts.
#[derive(Debug, Default)]
pub struct Merged(Option<Value>);

/// Where a kubeconfig names files: in which list, below which key of an entry, under which names.
const FILES: [(&str, &str, &[&str]); 2] = [
    ("clusters", "cluster", &["certificate-authority"]),
    ("users", "user", &["client-certificate", "client-key", "tokenFile"]),
];

impl Merged {
    /// Files that it names are meant from `dir`.
    pub fn add(&mut self, text: &str, dir: &Path) -> Result<(), KubeconfigError> {
        let mut more = tree(text)?;
        for (list, kind, keys) in FILES {
            for entry in more[list].as_array_mut().into_iter().flatten() {
                for key in keys {
                    if let Some(path) = entry[kind][key].as_str().filter(|path| !path.is_empty()) {
                        entry[kind][key] = json!(dir.join(path));
                    }
                }
            }
        }
        let Some(all) = &mut self.0 else {
            self.0 = Some(more);
            return Ok(());
        };
        for list in ["contexts", "clusters", "users"] {
            let mut known = take_list(all, list);
            for entry in take_list(&mut more, list) {
                if !known.iter().any(|known| known["name"] == entry["name"]) {
                    known.push(entry);
                }
            }
            all[list] = Value::Array(known);
        }
        if all["current-context"].as_str().unwrap_or_default().is_empty() {
            all["current-context"] = more["current-context"].take();
        }
        Ok(())
    }

    /// Nothing, if nothing was added.
    pub fn text(&self) -> Option<String> {
        self.0.as_ref().map(Value::to_string)
    }
}

fn take_list(config: &mut Value, list: &str) -> Vec<Value> {
    match config[list].take() {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    }
}

/// The namespace of the current context, if it names one.
pub fn namespace(text: &str) -> Result<Option<String>, KubeconfigError> {
    let config = tree(text)?;
    let context = named(&config, "contexts", "context", current_name(&config)?)?;
    Ok(context["namespace"].as_str().filter(|name| !name.is_empty()).map(str::to_owned))
}

/// The same kubeconfig with another of its contexts as the current one.
pub fn in_context(text: &str, context: &str) -> Result<String, KubeconfigError> {
    let mut config = tree(text)?;
    named(&config, "contexts", "context", context)?;
    config["current-context"] = json!(context);
    Ok(config.to_string())
}

/// The same kubeconfig for another workspace of the same server.
pub fn in_workspace(text: &str, workspace: &str) -> Result<String, KubeconfigError> {
    below(text, &format!("/clusters/{workspace}"))
}

/// The same kubeconfig for the server as a whole: paths say which workspace is meant.
pub fn of_server(text: &str) -> Result<String, KubeconfigError> {
    below(text, "")
}

fn below(text: &str, path: &str) -> Result<String, KubeconfigError> {
    let mut config = tree(text)?;
    let (cluster, _) = current(&config)?;
    let moved = json!(format!("{}{path}", base(cluster)));
    for entry in config["clusters"].as_array_mut().into_iter().flatten() {
        entry["cluster"]["server"] = moved.clone();
    }
    Ok(config.to_string())
}

/// The same, with further contexts: each a name, and the workspace of the same server that it leads to.
pub fn with_contexts(text: &str, contexts: &[(String, String)]) -> Result<String, KubeconfigError> {
    let mut config = tree(text)?;
    let (cluster, _) = current(&config)?;
    let (server, mut cluster) = (base(cluster).to_owned(), cluster.clone());
    let user = config["contexts"][0]["context"]["user"].clone();
    for (name, workspace) in contexts {
        cluster["server"] = json!(format!("{server}/clusters/{workspace}"));
        let context = json!({ "cluster": name, "user": user });
        for (list, kind, entry) in [("clusters", "cluster", &cluster), ("contexts", "context", &context)] {
            let items = config[list].as_array_mut().ok_or_else(|| wrong(format!("it has no {list}")))?;
            items.push(json!({ "name": name, kind: entry }));
        }
    }
    serde_saphyr::to_string(&config).map_err(|error| wrong(error.to_string()))
}

/// Where a server is, whatever workspace of it is meant.
fn base(cluster: &Value) -> &str {
    let server = cluster["server"].as_str().unwrap_or_default();
    server.split_once("/clusters/").map_or(server.trim_end_matches('/'), |(base, _)| base)
}

fn tree(text: &str) -> Result<Value, KubeconfigError> {
    let tree: Value = serde_saphyr::from_str(text).map_err(|error| wrong(first_line(&error.to_string())))?;
    if tree.is_object() { Ok(tree) } else { Err(wrong("it is not a YAML mapping")) }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn current_name(config: &Value) -> Result<&str, KubeconfigError> {
    let name = config["current-context"].as_str().filter(|name| !name.is_empty());
    name.ok_or_else(|| wrong("it has no current-context"))
}

/// The cluster and the user of the current context.
fn current(config: &Value) -> Result<(&Value, &Value), KubeconfigError> {
    let context = named(config, "contexts", "context", current_name(config)?)?;
    let word = |key: &str| context[key].as_str().unwrap_or_default();
    let cluster = named(config, "clusters", "cluster", word("cluster"))?;
    let user = match word("user") {
        "" => &Value::Null,
        user => named(config, "users", "user", user)?,
    };
    Ok((cluster, user))
}

fn named<'a>(config: &'a Value, list: &str, kind: &str, name: &str) -> Result<&'a Value, KubeconfigError> {
    let items = || config[list].as_array().into_iter().flatten();
    let found = items().filter(|item| item["name"] == name).map(|item| &item[kind]).next();
    found.ok_or_else(|| {
        let others: Vec<&str> = items().filter_map(|item| item["name"].as_str()).collect();
        let others = if others.is_empty() { "none".to_owned() } else { others.join(", ") };
        wrong(format!("no {kind} {name:?}; it has {others}"))
    })
}

/// What a kubeconfig has to bring. The server runs no programs to get in somewhere.
const INSTEAD: &str = "use a token (`kubectl create token`) or a client certificate";

fn access(cluster: &Value, user: &Value) -> Result<Access, KubeconfigError> {
    for (unknown, of) in [("exec", user), ("auth-provider", user), ("proxy-url", cluster)] {
        if !of[unknown].is_null() {
            return Err(wrong(format!("{unknown} is not supported; {INSTEAD}")));
        }
    }
    let server = cluster["server"].as_str().unwrap_or_default();
    let uri: Uri = server.parse().map_err(|error| wrong(format!("server {server:?}: {error}")))?;
    if uri.host().is_none() || !matches!(uri.scheme_str(), Some("https" | "http")) {
        return Err(wrong(format!("server {server:?} is not an https or http URL")));
    }
    Ok(Access {
        server: uri,
        authorities: data(cluster, "certificate-authority")?,
        insecure: cluster["insecure-skip-tls-verify"] == true,
        server_name: cluster["tls-server-name"].as_str().map(str::to_owned),
        credential: credential(user)?,
    })
}

fn credential(user: &Value) -> Result<Credential, KubeconfigError> {
    let word = |key: &str| user[key].as_str().filter(|word| !word.is_empty()).map(str::to_owned);
    if let Some(token) = word("token") {
        return Ok(Credential::Token(token));
    }
    if let (Some(chain_pem), Some(key_pem)) = (data(user, "client-certificate")?, data(user, "client-key")?) {
        return Ok(Credential::Certificate(Certificate { chain_pem, key_pem }));
    }
    Ok(match (word("username"), word("password")) {
        (Some(user), Some(password)) => Credential::Basic { user, password },
        _ => Credential::None,
    })
}

/// The bytes of `<key>-data`. A file instead is refused: whoever reads this may be on another machine.
fn data(of: &Value, key: &str) -> Result<Option<Vec<u8>>, KubeconfigError> {
    if let Some(text) = of[format!("{key}-data")].as_str().filter(|text| !text.is_empty()) {
        let bytes = STANDARD.decode(text).map_err(|_| wrong(format!("{key}-data is not base64")))?;
        return Ok(Some(bytes));
    }
    match of[key].as_str() {
        Some(path) => Err(wrong(format!("{key} names the file {path:?}; put its content into {key}-data"))),
        None => Ok(None),
    }
}

fn inline(of: &mut Value, key: &str, dir: &Path) -> Result<(), KubeconfigError> {
    if let Some(path) = take(of, key) {
        of[format!("{key}-data")] = json!(STANDARD.encode(file(dir, &path)?));
    }
    Ok(())
}

fn take(of: &mut Value, key: &str) -> Option<String> {
    let taken = of.as_object_mut()?.remove(key)?;
    taken.as_str().filter(|path| !path.is_empty()).map(str::to_owned)
}

fn file(dir: &Path, path: &str) -> Result<Vec<u8>, KubeconfigError> {
    std::fs::read(dir.join(path)).map_err(|error| wrong(format!("{path}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "
apiVersion: v1
current-context: a
contexts: [{name: a, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: 'https://10.0.0.1:6443/x', certificate-authority-data: UEVN}}]
users: [{name: u, user: {token: t}}]
";

    #[test]
    fn the_current_context_says_where_and_who() {
        let access = read(TOKEN).unwrap();
        assert_eq!(access.server.to_string(), "https://10.0.0.1:6443/x");
        assert_eq!(access.authorities.as_deref(), Some(&b"PEM"[..]));
        assert!(access.credential == Credential::Token("t".to_owned()));
        assert!(!format!("{access:?}").contains("Token"), "secrets are not shown");
    }

    #[test]
    fn what_is_missing_is_named() {
        let check = |from: &str, to: &str, expect: &str| {
            let error = read(&TOKEN.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(expect), "{error}");
        };
        check("current-context: a", "", "no current-context");
        check("current-context: a", "current-context: b", "no context \"b\"");
        check("cluster: c,", "cluster: d,", "no cluster \"d\"; it has c");
        check("https://10", "ftp://10", "is not an https or http URL");
        check("token: t", "exec: {}", "exec is not supported");
        check(
            "certificate-authority-data: UEVN",
            "certificate-authority: f",
            "put its content into certificate-authority-data",
        );
        check("UEVN", "'!'", "not base64");
    }

    #[test]
    fn another_context_may_be_meant() {
        let two = TOKEN.replace("contexts: [", "contexts: [{name: b, context: {cluster: c}}, ");
        assert!(read(&in_context(&two, "b").unwrap()).unwrap().credential == Credential::None);
        let error = in_context(&two, "d").unwrap_err().to_string();
        assert!(error.ends_with("no context \"d\"; it has b, a"), "{error}");
    }

    #[test]
    fn several_files_are_read_as_kubectl_reads_them() {
        let other = "current-context: b\ncontexts: [{name: b, context: {cluster: c, user: v, namespace: shop}}, {name: a}]\n\
            clusters: [{name: c, cluster: {server: 'https://elsewhere'}}]\nusers: [{name: v, user: {tokenFile: t}}]";
        let mut all = Merged::default();
        assert_eq!(all.text(), None);
        all.add(&TOKEN.replace("current-context: a", ""), Path::new("/one")).unwrap();
        all.add(other, Path::new("/two")).unwrap();
        let text = all.text().unwrap();
        assert_eq!(namespace(&text).unwrap().as_deref(), Some("shop"), "the second says which context");
        let config = tree(&text).unwrap();
        assert_eq!(config["users"][1]["user"]["tokenFile"], "/two/t");
        let access = read(&in_context(&text, "a").unwrap()).unwrap();
        assert_eq!(access.server.host(), Some("10.0.0.1"), "the first says what c is");
        assert_eq!(namespace(&in_context(&text, "a").unwrap()).unwrap(), None);
    }

    #[test]
    fn another_workspace_of_the_same_server_is_a_path_away() {
        let there = read(&in_workspace(&TOKEN.replace(":6443/x", ":6443/clusters/a"), "root").unwrap()).unwrap();
        assert_eq!(there.server.to_string(), "https://10.0.0.1:6443/clusters/root");
        let whole = read(&of_server(&TOKEN.replace(":6443/x", ":6443/clusters/a")).unwrap()).unwrap();
        assert_eq!(whole.server.to_string(), "https://10.0.0.1:6443/");
    }

    #[test]
    fn files_are_written_into_what_is_handed_on() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("ca.pem"), "PEM").unwrap();
        std::fs::write(dir.path().join("t"), "secret\n").unwrap();
        let text = TOKEN
            .replace("certificate-authority-data: UEVN", "certificate-authority: ca.pem")
            .replace("token: t", "tokenFile: t");
        let access = read(&flattened(&text, dir.path()).unwrap()).unwrap();
        assert_eq!(access.authorities.as_deref(), Some(&b"PEM"[..]));
        assert!(access.credential == Credential::Token("secret".to_owned()));
    }
}
