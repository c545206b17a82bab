//! Why nobody could be trusted at the other end.

use std::io;
use tokio_rustls::rustls::{CertificateError, Error};

/// Why a handshake failed, in Go's words where they are known.
pub(super) fn reason(error: &io::Error, server_name: &str, has_authorities: bool) -> String {
    let found = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let why = match found {
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer)) if !has_authorities => {
            "certificate signed by unknown authority: the webhook configuration has no caBundle, and this server \
             trusts no other authorities"
        }
        Some(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
            "certificate signed by unknown authority"
        }
        Some(Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        )) => return format!("tls: failed to verify certificate: x509: certificate is not valid for {server_name}"),
        Some(Error::InvalidCertificate(
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. },
        )) => "certificate has expired or is not yet valid",
        Some(Error::InvalidCertificate(
            CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. },
        )) => "certificate specifies an incompatible key usage",
        Some(Error::InvalidMessage(_)) => return "tls: first record does not look like a TLS handshake".to_owned(),
        Some(other) => return format!("tls: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => return "EOF".to_owned(),
        None => return error.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}
