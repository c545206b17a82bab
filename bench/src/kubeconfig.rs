//! Where a server is and how to get in, as its admin.kubeconfig says.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    current_context: String,
    contexts: Vec<NamedContext>,
    clusters: Vec<NamedCluster>,
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster {
    server: String,
    certificate_authority_data: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    token: Option<String>,
}

/// What a connection needs.
#[derive(Clone, Debug)]
pub struct Access {
    /// Host and port.
    pub authority: String,
    /// What every path begins with.
    pub prefix: String,
    pub token: Option<String>,
    pub tls: Arc<ClientConfig>,
}

impl Access {
    /// Nothing while the file is not there or not yet complete.
    pub fn read(path: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(path).ok()?;
        let file: File = serde_saphyr::from_str(&text).ok()?;
        let context = file.contexts.into_iter().find(|named| named.name == file.current_context)?.context;
        let place = file.clusters.into_iter().find(|named| named.name == context.cluster)?.cluster;
        let user = file.users.into_iter().find(|named| named.name == context.user)?.user;
        let address = place.server.strip_prefix("https://")?;
        let (authority, prefix) = address.split_once('/').map_or((address, String::new()), |(authority, path)| {
            (authority, format!("/{}", path.trim_end_matches('/')))
        });
        let tls = Arc::new(tls(&place, &user)?);
        Some(Self { authority: authority.to_owned(), prefix, token: user.token, tls })
    }
}

fn tls(place: &Cluster, user: &User) -> Option<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates(&place.certificate_authority_data)?);
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?
        .with_root_certificates(roots);
    let mut config = match (&user.client_certificate_data, &user.client_key_data) {
        (Some(certificate), Some(key)) => {
            let key = PrivateKeyDer::from_pem_slice(&BASE64_STANDARD.decode(key).ok()?).ok()?;
            config.with_client_auth_cert(certificates(certificate)?, key).ok()?
        }
        _ => config.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec()];
    Some(config)
}

fn certificates(data: &str) -> Option<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_slice_iter(&BASE64_STANDARD.decode(data).ok()?).collect::<Result<_, _>>().ok()
}
