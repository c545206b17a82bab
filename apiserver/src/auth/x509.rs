//! Who a client certificate says its holder is: the common name, and an organization for each group.

use super::User;
use x509_parser::prelude::{FromDer, X509Certificate};

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the client certificate cannot be read")]
    Unreadable(#[source] x509_parser::nom::Err<x509_parser::error::X509Error>),
    #[error("the client certificate has no common name")]
    NoName,
}

/// The user of a certificate that the handshake has found to be signed by an authority of clients.
pub fn user_of_certificate(der: &[u8]) -> Result<User, CertificateError> {
    let (_, certificate) = X509Certificate::from_der(der).map_err(CertificateError::Unreadable)?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or_default();
    if name.is_empty() {
        return Err(CertificateError::NoName);
    }
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok()).map(str::to_owned).collect();
    Ok(User::authenticated(name, groups))
}
