//! What the server is told before it starts. Flags and environment are read here and nowhere else.

mod aggregated;
mod audit;
mod authentication;
mod authorization;
mod dev;
mod keys;
mod kubeconfig;
mod limits;

pub use aggregated::{AggregatedFlags, Lookup, Standing};
pub use audit::AuditFlags;
pub use authentication::{AuthenticationError, AuthenticationFlags, Reload, Vouching};
pub use authorization::{AuthorizationError, AuthorizationFlags};
pub use dev::DevFlags;
pub use keys::KeyFlags;
pub use limits::LimitFlags;

use apiserver::hooks::{Endpoint, Identity, Token};
use apiserver::keyspace;
use certs::SubjectName;
use clap::{Args, ValueEnum};
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use storage::{Engine, HistoryBounds, Limits, Options, Place, ShareOf};
#[cfg(feature = "etcd")]
use storage::{EtcdIdentity, EtcdTls};
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};

/// The variable that says what is logged: `warn`, `storage=debug,fjall=info`, ...
pub const LOG_VARIABLE: &str = "HANSE_LOG";

/// The service by which a host reaches an aggregated server, unless somebody says otherwise.
pub const SERVICE: &str = "hanse";
pub const SERVICE_NAMESPACE: &str = "hanse-system";

/// Everything the server needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    pub place: Place,
    pub storage: Options,
    /// Where certificates and the administrator's kubeconfig are, and the store if it is embedded.
    pub data_dir: PathBuf,
    pub listen: SocketAddr,
    /// Names besides its own that clients reach the server by.
    pub names: Vec<SubjectName>,
    pub authentication: AuthenticationFlags,
    pub authorization: AuthorizationFlags,
    pub aggregated: AggregatedFlags,
    pub audit: AuditFlags,
    pub keys: KeyFlags,
    pub limits: LimitFlags,
    /// Karmada's policies do harm where they do in Karmada.
    pub karmada_hazards: bool,
}

/// A file that a flag names, and that is no use.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read {}", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("cannot write {}", .path.display())]
    Unwritable { path: PathBuf, source: std::io::Error },
    #[error("{}: {why}", .path.display())]
    Wrong { path: PathBuf, why: String },
}

/// The flags of `hanse serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeFlags {
    /// The storage engine
    #[arg(long, value_enum, default_value_t = StorageKind::Log)]
    pub storage: StorageKind,
    /// The directory for the store, the certificates and admin.kubeconfig; created if missing
    #[arg(long, value_name = "DIR")]
    pub data_dir: PathBuf,
    /// The address to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:6443")]
    pub listen: SocketAddr,
    /// A further DNS name or IP address for the server's certificate; can be repeated
    #[arg(long = "tls-san", value_name = "NAME")]
    pub tls_san: Vec<String>,
    /// How long older versions of objects stay readable
    #[arg(long, value_name = "SECONDS", default_value_t = HistoryBounds::default().age_max.as_secs())]
    pub history_secs_max: u64,
    /// How much memory older versions of objects may take
    #[arg(long, value_name = "BYTES", default_value_t = HistoryBounds::default().bytes_max)]
    pub history_bytes_max: usize,
    /// The size of the largest object that is accepted
    #[arg(long, value_name = "BYTES", default_value_t = Limits::default().value_bytes_max)]
    pub value_bytes_max: usize,
    /// Treat Karmada policies exactly as Karmada 1.18 does, where that does harm: a workload that fits no cluster any more
    /// is deleted from all of them, and a spread constraint without maxGroups fits none
    #[arg(long)]
    pub karmada_hazards: bool,
    #[command(flatten)]
    pub authentication: AuthenticationFlags,
    #[command(flatten)]
    pub authorization: AuthorizationFlags,
    #[command(flatten)]
    pub aggregated: AggregatedFlags,
    #[command(flatten)]
    pub audit: AuditFlags,
    #[command(flatten)]
    pub keys: KeyFlags,
    #[command(flatten)]
    pub limits: LimitFlags,
    #[cfg(feature = "etcd")]
    #[command(flatten)]
    pub etcd: EtcdFlags,
}

/// Where `--storage etcd` finds its etcd.
#[cfg(feature = "etcd")]
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "etcd")]
pub struct EtcdFlags {
    /// The URLs of the etcd cluster, separated by commas
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    pub etcd_endpoints: Vec<String>,
    /// The prefix of all keys in etcd; servers with the same prefix share one store
    #[arg(long, value_name = "PREFIX", default_value = "/hanse/")]
    pub etcd_prefix: String,
    /// The CA of etcd's certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub etcd_ca: Option<PathBuf>,
    /// The client certificate for etcd (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_key", requires = "etcd_ca")]
    pub etcd_cert: Option<PathBuf>,
    /// The key of the client certificate for etcd (PEM)
    #[arg(long, value_name = "FILE", requires = "etcd_cert")]
    pub etcd_key: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum StorageKind {
    /// The embedded default
    Log,
    /// Embedded; takes more disk where the same objects are overwritten often
    Fjall,
    /// Embedded, slower
    Sled,
    /// Nothing on disk: all data is lost when the server stops
    Memory,
    /// An etcd cluster, shared by several servers (--etcd-endpoints)
    #[cfg(feature = "etcd")]
    Etcd,
}

/// Flags that do not go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlagError {
    #[cfg(feature = "etcd")]
    #[error("--storage etcd needs --etcd-endpoints")]
    NoEndpoints,
}

impl TryFrom<ServeFlags> for Config {
    type Error = FlagError;

    fn try_from(flags: ServeFlags) -> Result<Self, FlagError> {
        let history = HistoryBounds {
            age_max: Duration::from_secs(flags.history_secs_max),
            bytes_max: flags.history_bytes_max,
            ..HistoryBounds::default()
        };
        let limits = Limits { value_bytes_max: flags.value_bytes_max, ..Limits::default() };
        // Always: any workspace can be given a limit of its own while the server runs, and counting what is there by then
        // would hold up everybody. It takes 70 to 100 bytes for each workspace, and 0.1 us of a write.
        let share_of: Option<ShareOf> = Some(keyspace::owner);
        let storage = Options { limits, history, share_of, ..Options::default() };
        let place = match flags.storage {
            #[cfg(feature = "etcd")]
            StorageKind::Etcd => etcd(flags.etcd)?,
            StorageKind::Memory => Place::Memory,
            StorageKind::Log => Place::Dir { dir: flags.data_dir.clone(), engine: Engine::Log },
            StorageKind::Fjall => Place::Dir { dir: flags.data_dir.clone(), engine: Engine::Fjall },
            StorageKind::Sled => Place::Dir { dir: flags.data_dir.clone(), engine: Engine::Sled },
        };
        // What `hanse install apiservice` calls the service by which a host reaches us.
        let by_host = flags.aggregated.aggregated.then(|| format!("{SERVICE}.{SERVICE_NAMESPACE}.svc"));
        let karmada_hazards = flags.karmada_hazards;
        let names = flags.tls_san.iter().chain(&by_host).map(|name| subject_name(name)).collect();
        let ServeFlags { data_dir, listen, authentication, authorization, aggregated, audit, keys, limits, .. } = flags;
        Ok(Self {
            place,
            storage,
            data_dir,
            listen,
            names,
            authentication,
            authorization,
            aggregated,
            audit,
            keys,
            limits,
            karmada_hazards,
        })
    }
}

fn subject_name(name: &str) -> SubjectName {
    name.parse().map_or_else(|_| SubjectName::Dns(name.to_owned()), SubjectName::Ip)
}

#[cfg(feature = "etcd")]
fn etcd(flags: EtcdFlags) -> Result<Place, FlagError> {
    let EtcdFlags { etcd_endpoints: endpoints, etcd_prefix: prefix, etcd_ca, etcd_cert, etcd_key } = flags;
    if endpoints.is_empty() {
        return Err(FlagError::NoEndpoints);
    }
    let identity = etcd_cert.zip(etcd_key).map(|(cert, key)| EtcdIdentity { cert, key });
    let tls = etcd_ca.map(|ca| EtcdTls { ca, identity });
    Ok(Place::Etcd { endpoints, prefix, tls })
}

/// The API server of the cluster that this process runs in: what every pod is told.
fn in_pod() -> Result<Endpoint, FileError> {
    let dir = PathBuf::from("/var/run/secrets/kubernetes.io/serviceaccount");
    let wrong = |why: &str| FileError::Wrong { path: dir.clone(), why: why.to_owned() };
    let host = std::env::var("KUBERNETES_SERVICE_HOST");
    let host = host.map_err(|_| wrong("not running in a pod; give a kubeconfig of the host"))?;
    let port = std::env::var("KUBERNETES_SERVICE_PORT").unwrap_or_else(|_| "443".to_owned());
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let ca = dir.join("ca.crt");
    let authorities = std::fs::read(&ca).map_err(|source| FileError::Unreadable { path: ca, source })?;
    let at = Endpoint::read(&json!({ "url": format!("https://{host}:{port}") })).map_err(|why| wrong(&why))?;
    let identity = Identity { token: Some(Token::File(dir.join("token"))), certificate: None };
    Ok(Endpoint { ca: Some(authorities.into()), identity: Some(Arc::new(identity)), ..at })
}

/// Where a client finds its server when nobody says, as Kubernetes' own clients do: in the files that a variable names, or
/// in the one in the home directory, if it is there.
pub fn kubeconfigs() -> Vec<PathBuf> {
    if let Some(named) = std::env::var_os("KUBECONFIG").filter(|named| !named.is_empty()) {
        return std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect();
    }
    let home = std::env::home_dir().map(|home| home.join(".kube/config"));
    home.filter(|path| path.exists()).into_iter().collect()
}

/// Whether what is written to a terminal may be coloured: <https://no-color.org>.
pub fn colour_is_welcome() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// How this program was called: a person can call it so again.
pub fn program() -> PathBuf {
    std::env::args_os().next().map_or_else(|| PathBuf::from("hanse"), PathBuf::from)
}

/// What is logged: what [`LOG_VARIABLE`] says, or warnings of everybody and news of our own.
pub fn log_filter() -> Result<Targets, ParseError> {
    match std::env::var(LOG_VARIABLE) {
        Ok(directives) => directives.parse(),
        Err(_) => Ok(Targets::new().with_default(LevelFilter::WARN).with_target("hanse", LevelFilter::INFO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_are_told_apart() {
        assert_eq!(subject_name("10.1.2.3"), SubjectName::Ip("10.1.2.3".parse().unwrap()));
        assert_eq!(subject_name("hanse.example"), SubjectName::Dns("hanse.example".to_owned()));
    }

    #[cfg(feature = "etcd")]
    #[test]
    fn etcd_is_asked_where_it_is() {
        let flags = |urls: &[&str]| EtcdFlags {
            etcd_endpoints: urls.iter().map(ToString::to_string).collect(),
            etcd_prefix: "/h/".into(),
            etcd_ca: Some("ca.pem".into()),
            ..EtcdFlags::default()
        };
        assert_eq!(etcd(flags(&[])), Err(FlagError::NoEndpoints));
        let tls = Some(EtcdTls { ca: "ca.pem".into(), identity: None });
        let expected = Place::Etcd { endpoints: vec!["http://a".into()], prefix: "/h/".into(), tls };
        assert_eq!(etcd(flags(&["http://a"])), Ok(expected));
    }
}
