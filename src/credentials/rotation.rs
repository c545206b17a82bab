//! What is replaced while the server runs: certificates before they end, and the keys of tokens when somebody says so.

use super::{CredentialsError, Pairs, moment};
use apiserver::ambient::Ambient;
use apiserver::auth::{Keys, MASTERS};
use certs::{Authority, Identity, KeyPair, Origin, SigningKey, Subject, SubjectName, Validity};
use parking_lot::RwLock;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_util::sync::CancellationToken;

/// Certificates are made anew when a third of this is left.
const LASTS: Duration = Duration::from_secs(365 * 24 * 3600);

/// How often it is looked whether one is due: far more often than it could matter.
const LOOK_EVERY: Duration = Duration::from_mins(10);

/// What is shown to whoever shakes hands from now on. Connections that are open do not notice a change.
#[derive(Debug)]
pub(super) struct Shown(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().clone())
    }
}

/// Keeps the server's certificate, and those of its administrator, from running out.
#[derive(Clone, Debug)]
pub struct Renewal {
    authority: Arc<Authority>,
    pub(super) dir: PathBuf,
    names: Vec<SubjectName>,
    pub(super) shown: Arc<Shown>,
}

/// What is kept, or was just issued.
struct Kept {
    server: Identity,
    admin: Identity,
    shard_admin: Identity,
}

impl Kept {
    fn load(
        authority: &Authority,
        dir: &Path,
        names: &[SubjectName],
        now: SystemTime,
    ) -> Result<Self, CredentialsError> {
        let (kept, validity) = (dir.join("certs"), Validity { now, lasts: LASTS });
        let load = |name: &str, subject: &Subject| Identity::load_or_issue(authority, &kept, name, subject, validity);
        let client = |user: &str, groups: &[&str]| Subject::Client {
            user: user.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        };
        Ok(Self {
            server: load("server", &Subject::Server { names: names.to_vec() })?,
            admin: load("admin", &client("kcp-admin", &["system:kcp:admin", MASTERS]))?,
            shard_admin: load("shard-admin", &client("shard-admin", &[MASTERS]))?,
        })
    }

    fn is_new(&self) -> bool {
        [&self.server, &self.admin, &self.shard_admin].iter().any(|identity| identity.origin != Origin::Kept)
    }

    fn pairs(self) -> Pairs {
        Pairs { admin: self.admin.pair, shard_admin: self.shard_admin.pair }
    }
}

fn certified(pair: &KeyPair) -> Result<Arc<CertifiedKey>, CredentialsError> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(pair.cert_chain_pem.as_bytes()).collect::<Result<_, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(pair.key_pem.as_bytes())?;
    Ok(Arc::new(CertifiedKey::from_der(chain, key, &default_provider())?))
}

impl Renewal {
    pub(super) fn begin(
        authority: Arc<Authority>,
        dir: &Path,
        names: Vec<SubjectName>,
        now: SystemTime,
    ) -> Result<(Self, Pairs), CredentialsError> {
        let kept = Kept::load(&authority, dir, &names, now)?;
        let shown = Arc::new(Shown(RwLock::new(certified(&kept.server.pair)?)));
        Ok((Self { authority, dir: dir.to_owned(), names, shown }, kept.pairs()))
    }

    /// Issues anew what ends soon. `at`: where the server listens, for the administrator's kubeconfig.
    pub(super) fn renew(&self, at: SocketAddr, now: SystemTime) -> Result<bool, CredentialsError> {
        let kept = Kept::load(&self.authority, &self.dir, &self.names, now)?;
        if !kept.is_new() {
            return Ok(false);
        }
        *self.shown.0.write() = certified(&kept.server.pair)?;
        kept.pairs().write_kubeconfig(&self.dir, self.authority.cert_pem(), at)?;
        Ok(true)
    }

    /// Looks after certificates until it is stopped.
    pub async fn keep(self, at: SocketAddr, ambient: Ambient, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        while stop.run_until_cancelled(ticks.tick()).await.is_some() {
            match self.renew(at, moment(&ambient)) {
                Ok(true) => tracing::info!("certificates were renewed"),
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "certificates could not be renewed; they may run out"),
            }
        }
    }
}

/// Where the keys of service account tokens are.
#[derive(Clone, Debug)]
pub struct TokenKeys {
    dir: PathBuf,
    signing: Option<PathBuf>,
    accepted: Vec<PathBuf>,
}

impl TokenKeys {
    /// Those in the directory of the server, and in files that somebody has chosen.
    pub fn new(dir: &Path, signing: Option<PathBuf>, accepted: Vec<PathBuf>) -> Self {
        Self { dir: dir.join("certs"), signing, accepted }
    }

    /// One signs; its own tokens, those of the others, and those of the keys in the directory are accepted.
    pub fn read(&self) -> Result<Keys, CredentialsError> {
        let own = SigningKey::open_or_create(&self.dir)?;
        let signing = self.signing.as_deref().map(SigningKey::read).transpose()?;
        let first = signing.as_ref().unwrap_or(&own);
        let mut keys = Keys::new(first.private_pem().as_bytes(), first.public_pem().as_bytes())?;
        let kept = SigningKey::former(&self.dir)?;
        for key in std::iter::once(&own).chain(&kept) {
            keys = keys.accept(key.public_pem().as_bytes())?;
        }
        for path in &self.accepted {
            for public in certs::public_keys(path)? {
                keys = keys.accept(public.as_bytes())?;
            }
        }
        Ok(keys)
    }

    /// Something else whenever one of the files is another.
    pub fn stamp(&self) -> String {
        let kept = std::fs::read_dir(&self.dir).into_iter().flatten().flatten().map(|entry| entry.path());
        let kept = kept.filter(|path| path.to_string_lossy().contains("service-account"));
        let mut files: Vec<PathBuf> = kept.chain(self.signing.clone()).chain(self.accepted.clone()).collect();
        files.sort();
        let changed = |path: &PathBuf| std::fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        format!("{:?}", files.iter().map(|path| (path, changed(path))).collect::<Vec<_>>())
    }
}

/// From now on, another key signs tokens of service accounts.
pub fn rotate_token_key(dir: &Path, ambient: &Ambient) -> Result<(), certs::Error> {
    SigningKey::rotate(&dir.join("certs"), moment(ambient))
}

/// Answers how many keys are accepted no more.
pub fn retire_token_keys(dir: &Path) -> Result<usize, certs::Error> {
    SigningKey::retire(&dir.join("certs"))
}

#[cfg(test)]
mod tests;
