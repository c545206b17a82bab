//! Whom a cell has to be vouched for by, and with what we vouch for ourselves.

use super::kubeconfig::{Access, Credential};
use apiserver::trust::{Trusted, client_config};
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;

/// The error says what is wrong with the access.
pub(super) fn config(access: &Access) -> Result<ClientConfig, String> {
    let certificate = match &access.credential {
        Credential::Certificate(certificate) => Some(certificate),
        Credential::None | Credential::Token(_) | Credential::Basic { .. } => None,
    };
    client_config(&trusted(access)?, certificate, true)
}

fn trusted(access: &Access) -> Result<Trusted<'_>, String> {
    if access.insecure {
        return Ok(Trusted::Anybody);
    }
    let pem = access.authorities.as_deref().ok_or("no authority is named that signs for the server")?;
    if !CertificateDer::pem_slice_iter(pem).any(|found| found.is_ok()) {
        return Err("certificate-authority-data holds no certificate".to_owned());
    }
    Ok(Trusted::Only(Some(pem)))
}
