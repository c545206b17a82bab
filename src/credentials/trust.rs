//! Whose certificates are believed: those of our own authority, of others that were named, and of a host that we stand
//! behind, which may name others while we run.

use super::{Authorities, CredentialsError, moment};
use apiserver::ambient::Ambient;
use apiserver::auth::{User, user_of_certificate};
use apiserver::pipeline::Peer;
use apiserver::serve::Recognise;
use parking_lot::RwLock;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;
use tokio_rustls::rustls::client::danger::HandshakeSignatureValid;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

type Verifier = Arc<dyn ClientCertVerifier>;

/// See the module.
pub struct Trust {
    own_pem: String,
    /// Read at each handshake, replaced as a whole.
    now: RwLock<Arc<Verifiers>>,
}

struct Verifiers {
    everybody: Verifier,
    clients: Verifier,
    host_clients: Option<Verifier>,
    proxies: Option<Verifier>,
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Trust")
    }
}

impl Trust {
    pub(super) fn new(own_pem: &str, others: Authorities<'_>) -> Result<Self, CredentialsError> {
        let now = RwLock::new(Arc::new(Verifiers::new(own_pem, others)?));
        Ok(Self { own_pem: own_pem.to_owned(), now })
    }

    /// From now on, these are believed besides our own.
    pub fn renew(&self, others: Authorities<'_>) -> Result<(), CredentialsError> {
        let verifiers = Arc::new(Verifiers::new(&self.own_pem, others)?);
        *self.now.write() = verifiers;
        Ok(())
    }

    fn everybody(&self) -> Verifier {
        self.now.read().everybody.clone()
    }
}

impl Verifiers {
    fn new(own_pem: &str, others: Authorities<'_>) -> Result<Self, CredentialsError> {
        let Authorities { clients, proxies, host_clients } = others;
        let named = format!("{own_pem}\n{}", clients.unwrap_or_default());
        let everybody = format!("{named}\n{}\n{}", proxies.unwrap_or_default(), host_clients.unwrap_or_default());
        Ok(Self {
            everybody: verifier(&everybody)?,
            clients: verifier(&named)?,
            host_clients: host_clients.map(verifier).transpose()?,
            proxies: proxies.map(verifier).transpose()?,
        })
    }
}

/// Clients may come without a certificate; one that they show must be signed by one of these.
fn verifier(authorities_pem: &str) -> Result<Verifier, CredentialsError> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authorities_pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    Ok(WebPkiClientVerifier::builder(Arc::new(roots)).allow_unauthenticated().build()?)
}

/// The handshake has found that somebody signed for the certificate; this finds out who. One authority may sign for
/// clients and for front proxies, ours and those of a host: whoever is ours is ours.
pub(super) fn recognise(trust: Arc<Trust>, ambient: Ambient) -> Recognise {
    Arc::new(move |shown| {
        let Some((leaf, others)) = shown.split_first() else { return Peer::default() };
        let Ok(user) = user_of_certificate(leaf) else {
            tracing::debug!("a client certificate names nobody");
            return Peer::default();
        };
        let now = moment(&ambient).duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let now = UnixTime::since_unix_epoch(now);
        let signed = |by: &Verifier| by.verify_client_cert(leaf, others, now).is_ok();
        let verifiers = trust.now.read().clone();
        let proxy = verifiers.proxies.as_ref().filter(|by| signed(by)).map(|_| user.name.as_str().into());
        let foreign = !signed(&verifiers.clients);
        let known = !foreign || verifiers.host_clients.as_ref().is_some_and(signed);
        Peer { user: known.then(|| Arc::new(User { foreign, ..user })), proxy }
    })
}

impl ClientCertVerifier for Trust {
    /// Nobody is told whose certificates would do: that changes, and who has one shows it.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.everybody().verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.everybody().verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.everybody().verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.everybody().supported_verify_schemes()
    }
}
