//! A request for a certificate (PKCS#10): what its author says of themselves, and the proof that the key is theirs.

use std::net::IpAddr;

use rcgen::{ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType};
use rustls_pki_types::pem::{PemObject, SectionKind};
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

use crate::error::RequestFlaw;
use crate::subject::SubjectName;

/// What somebody asks for. Nothing of it is true because they say so, but for the key, which they have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    pub common_name: String,
    pub organizations: Vec<String>,
    pub dns_names: Vec<String>,
    pub addresses: Vec<IpAddr>,
    pub emails: Vec<String>,
    pub uris: Vec<String>,
    /// SubjectPublicKeyInfo, in DER.
    pub(crate) public_key: Vec<u8>,
}

/// A section of a PEM file, whatever it is.
struct Section(SectionKind, Vec<u8>);

impl PemObject for Section {
    fn from_pem(kind: SectionKind, der: Vec<u8>) -> Option<Self> {
        Some(Self(kind, der))
    }
}

impl Request {
    /// Reads PEM. Whoever sent it has signed it with the key that it names.
    pub fn parse(pem: &[u8]) -> Result<Self, RequestFlaw> {
        let Ok(Section(SectionKind::Csr, der)) = Section::from_pem_slice(pem) else {
            return Err(RequestFlaw::NotARequest);
        };
        let (rest, request) = X509CertificationRequest::from_der(&der).map_err(|_| RequestFlaw::Unreadable)?;
        if !rest.is_empty() {
            return Err(RequestFlaw::Unreadable);
        }
        request.verify_signature().map_err(|_| RequestFlaw::Signature)?;
        let info = &request.certification_request_info;
        let mut read = Self {
            common_name: common_name(&info.subject)?,
            organizations: organizations(&info.subject)?,
            public_key: info.subject_pki.raw.to_vec(),
            ..Self::default()
        };
        for extension in request.requested_extensions().into_iter().flatten() {
            if let ParsedExtension::SubjectAlternativeName(names) = extension {
                names.general_names.iter().try_for_each(|name| read.add(name))?;
            }
        }
        Ok(read)
    }

    fn add(&mut self, name: &GeneralName<'_>) -> Result<(), RequestFlaw> {
        match name {
            GeneralName::DNSName(name) => self.dns_names.push((*name).to_owned()),
            GeneralName::RFC822Name(name) => self.emails.push((*name).to_owned()),
            GeneralName::URI(uri) => self.uris.push((*uri).to_owned()),
            GeneralName::IPAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
                let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
                self.addresses.push(address.map_err(|_| RequestFlaw::Name)?);
            }
            // Kubernetes passes over those, too.
            _ => {}
        }
        Ok(())
    }

    /// The names by which a server is reached that has the key.
    pub(crate) fn server_names(&self) -> Result<Vec<SanType>, crate::Error> {
        let dns = self.dns_names.iter().cloned().map(SubjectName::Dns);
        let all = dns.chain(self.addresses.iter().copied().map(SubjectName::Ip));
        all.map(|name| name.encoded()).collect()
    }
}

fn common_name(subject: &X509Name<'_>) -> Result<String, RequestFlaw> {
    let mut names = subject.iter_common_name();
    match (names.next(), names.next()) {
        (None, _) => Ok(String::new()),
        (Some(name), None) => name.as_str().map(str::to_owned).map_err(|_| RequestFlaw::Name),
        // Readers of certificates disagree about which of several counts.
        (Some(_), Some(_)) => Err(RequestFlaw::Name),
    }
}

fn organizations(subject: &X509Name<'_>) -> Result<Vec<String>, RequestFlaw> {
    let read = |name: &x509_parser::x509::AttributeTypeAndValue<'_>| name.as_str().map(str::to_owned);
    subject.iter_organization().map(read).collect::<Result<_, _>>().map_err(|_| RequestFlaw::Name)
}

/// What a certificate may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Client,
    Server,
}

/// What an authority grants to the author of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub purpose: Purpose,
    /// The key may also hide other keys (RSA).
    pub key_encipherment: bool,
    /// Put into the certificate by whoever signs it. Those of the request never are.
    pub uri: Option<String>,
}

impl Grant {
    pub(crate) fn usages(&self) -> Vec<KeyUsagePurpose> {
        let mut usages = vec![KeyUsagePurpose::DigitalSignature];
        if self.key_encipherment {
            usages.push(KeyUsagePurpose::KeyEncipherment);
        }
        usages
    }

    pub(crate) fn extended_usage(&self) -> ExtendedKeyUsagePurpose {
        match self.purpose {
            Purpose::Client => ExtendedKeyUsagePurpose::ClientAuth,
            Purpose::Server => ExtendedKeyUsagePurpose::ServerAuth,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, DnType, KeyPair};

    use super::*;

    fn pem(params: CertificateParams) -> String {
        let key = KeyPair::generate().unwrap();
        crate::pem::encode("CERTIFICATE REQUEST", params.serialize_request(&key).unwrap().der())
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let mut params = CertificateParams::new(vec!["node.example".to_owned(), "10.0.0.7".to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, "ada");
        params.distinguished_name.push(DnType::OrganizationName, "dev");
        let read = Request::parse(pem(params).as_bytes()).unwrap();
        assert_eq!((&*read.common_name, &read.organizations[..]), ("ada", &["dev".to_owned()][..]));
        assert_eq!(read.dns_names, ["node.example"]);
        assert_eq!(read.addresses, ["10.0.0.7".parse::<IpAddr>().unwrap()]);
    }

    #[test]
    fn somebody_elses_signature_is_no_proof() {
        use base64::Engine;
        use base64::engine::general_purpose::STANDARD;
        let text = pem(CertificateParams::default());
        let body: String = text.lines().filter(|line| !line.starts_with("--")).collect();
        let mut der = STANDARD.decode(body).unwrap();
        // The last byte is one of the signature.
        *der.last_mut().unwrap() ^= 1;
        let forged = crate::pem::encode("CERTIFICATE REQUEST", &der);
        assert!(matches!(Request::parse(forged.as_bytes()), Err(RequestFlaw::Signature | RequestFlaw::Unreadable)));
        assert!(matches!(Request::parse(b"nothing"), Err(RequestFlaw::NotARequest)));
        let other = crate::pem::encode("CERTIFICATE", &der);
        assert!(matches!(Request::parse(other.as_bytes()), Err(RequestFlaw::NotARequest)));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let text = crate::pem::encode("CERTIFICATE REQUEST", &bytes);
            prop_assert!(Request::parse(text.as_bytes()).is_err() && Request::parse(&bytes).is_err());
        }
    }
}
