//! Kubeconfig files: how clients are told where a server is, whom to trust and who they are.

use std::fmt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::authority::KeyPair;
use crate::error::Error;
use crate::file::{self, Readers};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kubeconfig {
    /// The context that is used when none is asked for; may be empty.
    pub current: String,
    pub contexts: Vec<Context>,
    pub clusters: Vec<Cluster>,
    pub users: Vec<User>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    pub name: String,
    pub cluster: String,
    pub user: String,
    pub namespace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    pub name: String,
    /// `https://host:port/path`
    pub server: String,
    pub ca_pem: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub credential: Credential,
}

/// How a user proves to be one. Secrets are never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    Certificate(KeyPair),
    Token(String),
}

impl fmt::Debug for Credential {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credential::Certificate(pair) => out.debug_tuple("Certificate").field(pair).finish(),
            Credential::Token(_) => out.debug_tuple("Token").finish_non_exhaustive(),
        }
    }
}

impl Kubeconfig {
    /// Writes the file for its owner alone, in place of the one that may be there. What clients would stumble over is
    /// refused: a context without its cluster or user, and a current one that is not there.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        if let Some((from, kind, name)) = self.dangling() {
            return Err(Error::Dangling { path: path.to_owned(), from, kind, name: name.to_owned() });
        }
        file::replace(path, self.to_yaml().as_bytes(), Readers::Owner)
    }

    fn dangling(&self) -> Option<(String, &'static str, &str)> {
        if !self.current.is_empty() && !self.contexts.iter().any(|context| context.name == self.current) {
            return Some(("current-context".to_owned(), "context", &self.current));
        }
        self.contexts.iter().find_map(|context| {
            let from = || format!("context {:?}", context.name);
            if !self.clusters.iter().any(|cluster| cluster.name == context.cluster) {
                return Some((from(), "cluster", context.cluster.as_str()));
            }
            let known = self.users.iter().any(|user| user.name == context.user);
            (!known).then(|| (from(), "user", context.user.as_str()))
        })
    }

    pub fn to_yaml(&self) -> String {
        let mut yaml = Yaml::default();
        yaml.line("apiVersion: v1");
        yaml.line("kind: Config");
        yaml.field("current-context: ", &self.current);
        yaml.list("clusters", &self.clusters, Cluster::write);
        yaml.list("contexts", &self.contexts, Context::write);
        yaml.list("users", &self.users, User::write);
        yaml.0
    }
}

impl Cluster {
    fn write(&self, yaml: &mut Yaml) {
        yaml.field("- name: ", &self.name);
        yaml.line("  cluster:");
        yaml.field("    server: ", &self.server);
        yaml.data("    certificate-authority-data: ", &self.ca_pem);
    }
}

impl Context {
    fn write(&self, yaml: &mut Yaml) {
        yaml.field("- name: ", &self.name);
        yaml.line("  context:");
        yaml.field("    cluster: ", &self.cluster);
        if let Some(namespace) = &self.namespace {
            yaml.field("    namespace: ", namespace);
        }
        yaml.field("    user: ", &self.user);
    }
}

impl User {
    fn write(&self, yaml: &mut Yaml) {
        yaml.field("- name: ", &self.name);
        yaml.line("  user:");
        match &self.credential {
            Credential::Certificate(pair) => {
                yaml.data("    client-certificate-data: ", &pair.cert_chain_pem);
                yaml.data("    client-key-data: ", &pair.key_pem);
            }
            Credential::Token(token) => yaml.field("    token: ", token),
        }
    }
}

#[derive(Default)]
struct Yaml(String);

impl Yaml {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn list<T>(&mut self, name: &str, items: &[T], write: impl Fn(&T, &mut Yaml)) {
        if items.is_empty() {
            return self.line(&format!("{name}: []"));
        }
        self.line(&format!("{name}:"));
        for item in items {
            write(item, self);
        }
    }

    /// Always in double quotes: then no name is taken for a number, a boolean, null or structure.
    fn field(&mut self, key: &str, value: &str) {
        self.0.push_str(key);
        self.0.push('"');
        for character in value.chars() {
            self.quoted(character);
        }
        self.line("\"");
    }

    fn quoted(&mut self, character: char) {
        match character {
            '"' | '\\' => self.0.extend(['\\', character]),
            _ if is_plain(character) => self.0.push(character),
            _ => self.0.push_str(&format!("\\U{:08X}", u32::from(character))),
        }
    }

    fn data(&mut self, key: &str, value: &str) {
        self.line(&format!("{key}{}", STANDARD.encode(value)));
    }
}

/// Whether readers take a character as it is. They refuse what is not printable, and fold what breaks lines.
fn is_plain(character: char) -> bool {
    let breaks_lines = matches!(character, '\u{2028}' | '\u{2029}');
    let refused = matches!(character, '\u{feff}' | '\u{fffe}' | '\u{ffff}');
    !character.is_control() && !breaks_lines && !refused
}
