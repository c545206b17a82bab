//! Who has to vouch for another server, and with what we vouch for ourselves there.

use std::fmt;
use std::sync::Arc;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::client::{Resumption, WebPkiServerVerifier};
use tokio_rustls::rustls::crypto::aws_lc_rs::default_provider;
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::ParsedCertificate;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use x509_parser::parse_x509_certificate;

/// Sessions that can be taken up again with a server: as many as it has tickets for.
const SESSIONS_KEPT: usize = 8;

/// Who is believed to be at the other end.
#[derive(Clone, Copy, Debug)]
pub enum Trusted<'a> {
    /// Whoever these authorities signed for, in PEM; nobody if there are none.
    Only(Option<&'a [u8]>),
    /// Whoever answers.
    Anybody,
}

/// A certificate and its key, in PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    pub chain_pem: Vec<u8>,
    pub key_pem: Vec<u8>,
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificate(..)")
    }
}

/// The certificate is our own. The error says what cannot be used.
pub fn client_config(
    trusted: &Trusted<'_>,
    certificate: Option<&Certificate>,
    http2: bool,
) -> Result<ClientConfig, String> {
    let provider = Arc::new(default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match trusted {
        Trusted::Only(None) => builder.with_root_certificates(RootCertStore::empty()),
        Trusted::Anybody => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))),
        Trusted::Only(Some(pem)) => {
            let unreadable = "unable to load root certificates: unable to parse bytes as PEM block";
            let named: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem).flatten().collect();
            let mut roots = RootCertStore::empty();
            roots.add_parsable_certificates(named.iter().cloned());
            let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
            let inner = inner.map_err(|_| unreadable)?;
            let verifier = Arc::new(Verifier { inner, named });
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
    };
    let mut config = match certificate {
        None => builder.with_no_client_auth(),
        Some(Certificate { chain_pem, key_pem }) => {
            let unreadable = |what: &str| format!("the {what} that we would show cannot be read");
            let chain: Result<Vec<CertificateDer<'static>>, _> = CertificateDer::pem_slice_iter(chain_pem).collect();
            let chain = chain.map_err(|_| unreadable("certificate"))?;
            let key = PrivateKeyDer::from_pem_slice(key_pem).map_err(|_| unreadable("key"))?;
            builder.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
        }
    };
    // A configuration is for one server: room for the sessions of others would be the larger part of it.
    config.resumption = Resumption::in_memory_sessions(SESSIONS_KEPT);
    config.alpn_protocols = if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    Ok(config)
}

/// Accepts what Go accepts: also a certificate that is itself among the authorities, as those are which sign
/// themselves. The usual verifier takes no authority for a server.
#[derive(Debug)]
struct Verifier {
    inner: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if !self.named.contains(end_entity) {
            return self.inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now);
        }
        check_itself(end_entity, now)?;
        let parsed = ParsedCertificate::try_from(end_entity)?;
        tokio_rustls::rustls::client::verify_server_name(&parsed, server_name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Believes whoever holds the key of the certificate that is shown, whatever it says.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

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
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// A certificate that nobody else vouches for has to be of this time, and a server's.
fn check_itself(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let refused = Error::InvalidCertificate;
    let (_, parsed) = parse_x509_certificate(certificate).map_err(|_| refused(CertificateError::BadEncoding))?;
    let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
    if now < parsed.validity().not_before.timestamp() {
        return Err(refused(CertificateError::NotValidYet));
    }
    if now > parsed.validity().not_after.timestamp() {
        return Err(refused(CertificateError::Expired));
    }
    match parsed.extended_key_usage() {
        Ok(None) => Ok(()),
        Ok(Some(usage)) if usage.value.server_auth || usage.value.any => Ok(()),
        _ => Err(refused(CertificateError::InvalidPurpose)),
    }
}
