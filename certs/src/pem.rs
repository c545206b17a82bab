//! Keys and certificates as text.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer};

use crate::Flaw;

pub(crate) const CERTIFICATE: &str = "CERTIFICATE";
pub(crate) const PRIVATE_KEY: &str = "PRIVATE KEY";
pub(crate) const PUBLIC_KEY: &str = "PUBLIC KEY";

/// Characters of base64 in a line, as RFC 7468 wants them.
const LINE: usize = 64;

pub(crate) fn encode(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    for (at, character) in STANDARD.encode(der).chars().enumerate() {
        if at > 0 && at % LINE == 0 {
            text.push('\n');
        }
        text.push(character);
    }
    text.push_str(&format!("\n-----END {label}-----\n"));
    text
}

/// The first certificate of a file.
pub(crate) fn certificate(text: &[u8]) -> Result<CertificateDer<'static>, Flaw> {
    CertificateDer::from_pem_slice(text).map_err(Flaw::Pem)
}

/// The ECDSA P-256 key of a file. Its public half is checked against it.
pub(crate) fn key(text: &[u8]) -> Result<rcgen::KeyPair, Flaw> {
    let der = PrivatePkcs8KeyDer::from_pem_slice(text).map_err(Flaw::Pem)?;
    rcgen::KeyPair::from_pkcs8_der_and_sign_algo(&der, &rcgen::PKCS_ECDSA_P256_SHA256).map_err(Flaw::Key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read_back(der in proptest::collection::vec(any::<u8>(), 1..300)) {
            let text = encode(CERTIFICATE, &der);
            prop_assert!(text.lines().all(|line| line.len() <= LINE));
            prop_assert_eq!(certificate(text.as_bytes()).unwrap().to_vec(), der);
        }

        #[test]
        fn no_text_makes_it_panic(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(certificate(&text).is_err() && key(&text).is_err());
        }
    }
}
