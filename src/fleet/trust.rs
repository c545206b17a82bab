//! Whom a cell has to be vouched for by, and with what we vouch for ourselves.

use super::kubeconfig::{Access, Credential};
use std::sync::Arc;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The error says what is wrong with the access.
pub(super) fn config(access: &Access) -> Result<ClientConfig, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let roots = roots(access)?;
    let builder = if access.insecure {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody))
    } else {
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::new(default_provider()));
        let verifier = verifier.build().map_err(|_| "no authority is named that signs for the server".to_owned())?;
        builder.with_webpki_verifier(verifier)
    };
    let mut config = match &access.credential {
        Credential::Certificate { chain_pem, key_pem } => {
            let unreadable = |what: &str| format!("the client's {what} cannot be read");
            let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(chain_pem).collect();
            let chain = chain.map_err(|_| unreadable("certificate"))?;
            let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| unreadable("key"))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
        }
        _ => builder.with_no_client_auth(),
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn roots(access: &Access) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = &access.authorities {
        let named: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem).flatten().collect();
        if roots.add_parsable_certificates(named).0 == 0 {
            return Err("certificate-authority-data holds no certificate".to_owned());
        }
    }
    Ok(roots)
}

/// For those who have asked for no proof.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        default_provider().signature_verification_algorithms.supported_schemes()
    }
}
