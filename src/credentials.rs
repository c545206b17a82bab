//! What the server proves itself with, and what it hands to its administrator: made on the first start, kept after.

mod rotation;
mod trust;

pub use rotation::{Renewal, TokenKeys, retire_token_keys, rotate_token_key};
pub use trust::Trust;

use apiserver::ambient::Ambient;
use apiserver::auth::{KeyError, TokenIssuer};
use apiserver::serve::Recognise;
use certs::kubeconfig::{Cluster, Context, Credential, Kubeconfig, User};
use certs::{Authority, KeyPair, SigningKey, SubjectName, Validity};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_rustls::rustls::pki_types::pem;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{ServerConfig, server::VerifierBuilderError};

/// The file through which an administrator finds the server.
const KUBECONFIG: &str = "admin.kubeconfig";

/// Who issues tokens, and whom they are meant for unless somebody says otherwise.
const ISSUER: &str = "https://kubernetes.default.svc";

/// The address of the service `kubernetes` that every workspace has.
pub const SERVICE_ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

#[derive(Debug, thiserror::Error)]
pub enum CredentialsError {
    #[error("cannot use {}", .dir.display())]
    Dir { dir: PathBuf, source: std::io::Error },
    #[error(transparent)]
    Certs(#[from] certs::Error),
    #[error("a certificate cannot be used")]
    Pem(#[from] pem::Error),
    #[error("a certificate cannot be used")]
    Tls(#[from] tokio_rustls::rustls::Error),
    #[error("the client CA cannot be used")]
    Clients(#[from] VerifierBuilderError),
    #[error(transparent)]
    Tokens(#[from] KeyError),
    #[error("no server has run in this directory yet: cannot read {}", .path.display())]
    NoServer { path: PathBuf, source: std::io::Error },
    #[error("{} does not name the server; use --server", .path.display())]
    Unsaid { path: PathBuf },
}

/// Who signs for others besides this server itself, in PEM.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authorities<'a> {
    pub clients: Option<&'a str>,
    pub proxies: Option<&'a str>,
    /// Those of a host that vouches for them.
    pub host_clients: Option<&'a str>,
}

/// Everything that a server proves itself with, and recognises others by.
pub struct Credentials {
    pub tls: Arc<ServerConfig>,
    /// Whose certificates are believed.
    pub trust: Arc<Trust>,
    /// Tells clients and front proxies by their certificates.
    pub recognise: Recognise,
    pub tokens: TokenIssuer,
    pub ca_pem: String,
    /// Signs for clients, too.
    pub authority: Arc<Authority>,
    /// Keeps certificates from running out.
    pub renewal: Renewal,
    pairs: Pairs,
}

/// Who the administrator is to this server, in two roles.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pairs {
    admin: KeyPair,
    shard_admin: KeyPair,
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Credentials").field("renewal", &self.renewal).finish_non_exhaustive()
    }
}

impl Credentials {
    /// Opens what is kept in `dir/certs`, or makes it.
    pub fn open(
        dir: &Path,
        names: &[SubjectName],
        others: Authorities<'_>,
        ambient: &Ambient,
    ) -> Result<Self, CredentialsError> {
        let now = moment(ambient);
        let kept = dir.join("certs");
        std::fs::create_dir_all(&kept).map_err(|source| CredentialsError::Dir { dir: kept.clone(), source })?;
        let authority = Authority::open_or_create(&kept, now)?;
        let authority = Arc::new(authority);
        let names = server_names(names);
        let (renewal, pairs) = Renewal::begin(authority.clone(), dir, names, now)?;
        let signing = SigningKey::open_or_create(&kept)?;
        let tokens = TokenIssuer::new(ISSUER, signing.private_pem().as_bytes(), signing.public_pem().as_bytes())?;
        let trust = Arc::new(Trust::new(authority.cert_pem(), others)?);
        let tls = Arc::new(tls(&renewal, trust.clone()));
        let recognise = trust::recognise(trust.clone(), ambient.clone());
        Ok(Self { tls, trust, recognise, tokens, ca_pem: authority.cert_pem().to_owned(), authority, renewal, pairs })
    }

    /// Writes the administrator's kubeconfig and answers where it is.
    pub fn write_kubeconfig(&self, at: SocketAddr) -> Result<PathBuf, CredentialsError> {
        self.pairs.write_kubeconfig(&self.renewal.dir, &self.ca_pem, at)
    }
}

impl Pairs {
    fn write_kubeconfig(&self, dir: &Path, ca_pem: &str, at: SocketAddr) -> Result<PathBuf, CredentialsError> {
        let path = dir.join(KUBECONFIG);
        self.kubeconfig(&url(at), ca_pem).write(&path)?;
        Ok(path)
    }

    /// The contexts that clients of kcp expect, and one that plain kubectl starts with.
    fn kubeconfig(&self, url: &str, ca_pem: &str) -> Kubeconfig {
        let cluster = |name: &str, server: String| Cluster { name: name.to_owned(), server, ca_pem: ca_pem.to_owned() };
        let user = |name: &str, pair: &KeyPair| User {
            name: name.to_owned(),
            credential: Credential::Certificate(pair.clone()),
        };
        let context = |name: &str, cluster: &str, user: &str| Context {
            name: name.to_owned(),
            cluster: cluster.to_owned(),
            user: user.to_owned(),
            namespace: None,
        };
        Kubeconfig {
            current: "default".to_owned(),
            contexts: vec![
                context("default", "base", "kcp-admin"),
                context("root", "root", "kcp-admin"),
                context("base", "base", "kcp-admin"),
                context("system:admin", "system:admin", "shard-admin"),
                context("shard-base", "base", "shard-admin"),
            ],
            clusters: vec![
                cluster("root", format!("{url}/clusters/root")),
                cluster("base", url.to_owned()),
                cluster("system:admin", format!("{url}/clusters/system:admin")),
            ],
            users: vec![user("kcp-admin", &self.admin), user("shard-admin", &self.shard_admin)],
        }
    }
}

/// Somebody who is to reach a server.
#[derive(Clone, Debug)]
pub struct Client {
    pub user: String,
    pub groups: Vec<String>,
    /// A path.
    pub workspace: Option<String>,
    /// Where the server is found, if not where it said itself.
    pub server: Option<String>,
    pub lasts: Duration,
}

/// A certificate for somebody, signed by the authority of the server in `dir`, and the kubeconfig to use it with.
pub fn kubeconfig_for(dir: &Path, client: &Client, ambient: &Ambient) -> Result<Kubeconfig, CredentialsError> {
    let Client { user, groups, workspace, server, lasts } = client;
    let own = dir.join(KUBECONFIG);
    let text =
        std::fs::read_to_string(&own).map_err(|source| CredentialsError::NoServer { path: own.clone(), source })?;
    let said = || said_server(&text).ok_or_else(|| CredentialsError::Unsaid { path: own.clone() });
    let server = server.clone().map_or_else(said, Ok)?;
    let now = moment(ambient);
    // There is a server, so there is an authority, and none is made here.
    let authority = Authority::open_or_create(&dir.join("certs"), now)?;
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let pair = authority.issue_client(user, &groups, Validity { now, lasts: *lasts })?;
    let path = workspace.as_ref().map(|path| format!("/clusters/{path}")).unwrap_or_default();
    let (name, server) = ("hanse".to_owned(), format!("{}{path}", server.trim_end_matches('/')));
    Ok(Kubeconfig {
        current: name.clone(),
        contexts: vec![Context { name: name.clone(), cluster: name.clone(), user: user.clone(), namespace: None }],
        clusters: vec![Cluster { name, server, ca_pem: authority.cert_pem().to_owned() }],
        users: vec![User { name: user.clone(), credential: Credential::Certificate(pair) }],
    })
}

/// Where the server said that it is, in the administrator's kubeconfig.
fn said_server(kubeconfig: &str) -> Option<String> {
    let file: serde_json::Value = serde_saphyr::from_str(kubeconfig).ok()?;
    let base = file["clusters"].as_array()?.iter().find(|cluster| cluster["name"] == "base")?;
    base["cluster"]["server"].as_str().map(str::to_owned)
}

/// What a server in `dir` has signed is believed by whoever believes this, in PEM.
pub fn authority_of(dir: &Path, ambient: &Ambient) -> Result<String, CredentialsError> {
    Ok(Authority::open_or_create(&dir.join("certs"), moment(ambient))?.cert_pem().to_owned())
}

/// Where a client on this machine finds a server that listens here.
pub fn url(at: SocketAddr) -> String {
    format!("https://{}", reachable(at))
}

/// An address that a client on this machine can use, whatever is listened on.
fn reachable(at: SocketAddr) -> SocketAddr {
    let ip = match at.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::LOCALHOST),
    };
    SocketAddr::new(ip, at.port())
}

/// What this server is called, whoever asks.
fn server_names(others: &[SubjectName]) -> Vec<SubjectName> {
    let dns = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let ips = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), SERVICE_ADDRESS];
    let mut names: Vec<SubjectName> = dns.iter().map(|name| SubjectName::Dns((*name).to_owned())).collect();
    names.extend(ips.map(SubjectName::Ip));
    names.extend(others.iter().filter(|name| !names.contains(name)).cloned().collect::<Vec<_>>());
    names
}

fn tls(renewal: &Renewal, clients: Arc<dyn ClientCertVerifier>) -> ServerConfig {
    let mut config =
        ServerConfig::builder().with_client_cert_verifier(clients).with_cert_resolver(renewal.shown.clone());
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config
}

fn moment(ambient: &Ambient) -> SystemTime {
    let seconds = u64::try_from(ambient.now().seconds).unwrap_or_default();
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;
    use openapi::scalar::time::Instant;
    use tokio_rustls::rustls::pki_types::CertificateDer;
    use tokio_rustls::rustls::pki_types::pem::PemObject;

    #[test]
    fn what_was_made_once_is_kept_and_clients_find_the_server() {
        let dir = tempfile::tempdir().unwrap();
        let ambient = Ambient::new(|| Instant { seconds: 1_800_000_000, nanos: 0 }, || 1);
        let open = || Credentials::open(dir.path(), &[], Authorities::default(), &ambient).unwrap();
        let (first, again) = (open(), open());
        assert_eq!((first.ca_pem, first.pairs), (again.ca_pem.clone(), again.pairs.clone()));
        let path = again.write_kubeconfig("0.0.0.0:6443".parse().unwrap()).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        for expected in ["current-context: default", "https://127.0.0.1:6443/clusters/root", "shard-base"] {
            assert!(text.replace('"', "").contains(expected), "{expected} in {text}");
        }
    }

    #[test]
    fn somebody_gets_a_certificate_of_a_server_that_was_started() {
        let dir = tempfile::tempdir().unwrap();
        let ambient = Ambient::new(|| Instant { seconds: 1_800_000_000, nanos: 0 }, || 1);
        let mut client = Client {
            user: "ada".to_owned(),
            groups: vec!["dev".to_owned()],
            workspace: Some("root:team".to_owned()),
            server: None,
            lasts: Duration::from_secs(3600),
        };
        let early = kubeconfig_for(dir.path(), &client, &ambient).unwrap_err();
        assert!(early.to_string().contains("no server has run in this directory"), "{early}");
        let server = Credentials::open(dir.path(), &[], Authorities::default(), &ambient).unwrap();
        server.write_kubeconfig("0.0.0.0:6443".parse().unwrap()).unwrap();
        let made = kubeconfig_for(dir.path(), &client, &ambient).unwrap();
        assert_eq!(made.clusters[0].server, "https://127.0.0.1:6443/clusters/root:team");
        let Credential::Certificate(pair) = &made.users[0].credential else { panic!("no certificate") };
        let leaf = CertificateDer::from_pem_slice(pair.cert_chain_pem.as_bytes()).unwrap();
        let peer = (server.recognise)(&[leaf]);
        let user = peer.user.unwrap();
        assert_eq!((&*user.name, &user.groups[0]), ("ada", &"dev".to_owned()));
        client.server = Some("https://hanse.example/".to_owned());
        let made = kubeconfig_for(dir.path(), &client, &ambient).unwrap();
        assert_eq!(made.clusters[0].server, "https://hanse.example/clusters/root:team");
    }
}
