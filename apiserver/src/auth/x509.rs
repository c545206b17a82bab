//! Who a client certificate says its holder is: the common name, and an organization for each group; and where they are
//! that, if it was signed for one workspace alone.

use super::User;
use crate::place::Workspace;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    #[error("the client certificate cannot be read")]
    Unreadable(#[source] x509_parser::nom::Err<x509_parser::error::X509Error>),
    #[error("the client certificate has no common name")]
    NoName,
    #[error("the client certificate is bound to a workspace in a way that cannot be read")]
    Unbound,
}

/// What the name of a workspace stands after in a certificate that counts nowhere else. Whoever signs on behalf of a
/// workspace puts it there, and lets nobody choose it.
const WITHIN: &str = "urn:hanse:workspace:";

/// What a certificate has among its alternative names that is good in one workspace.
pub fn uri_of_workspace(workspace: &Workspace) -> String {
    format!("{WITHIN}{}", workspace.as_str())
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
    let credential = format!("X509SHA256={:x}", Sha256::digest(der));
    let extra = BTreeMap::from([("authentication.kubernetes.io/credential-id".to_owned(), vec![credential])]);
    Ok(User { within: within(&certificate)?, extra, ..User::authenticated(name, groups) })
}

/// The workspace that a certificate is good in; nothing if it is good everywhere.
fn within(certificate: &X509Certificate<'_>) -> Result<Option<Workspace>, CertificateError> {
    let names = certificate.subject_alternative_name().map_err(|_| CertificateError::Unbound)?;
    let names = names.iter().flat_map(|extension| &extension.value.general_names);
    let mut bound = names.filter_map(|name| match name {
        GeneralName::URI(uri) => uri.strip_prefix(WITHIN),
        _ => None,
    });
    match (bound.next(), bound.next()) {
        (None, _) => Ok(None),
        (Some(name), None) if !name.is_empty() => Ok(Some(Workspace::new(name))),
        _ => Err(CertificateError::Unbound),
    }
}
