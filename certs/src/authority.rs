//! A certificate authority of one's own: made once, kept in two files, and the signer of all that is issued.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyIdMethod, KeyUsagePurpose,
    PublicKeyData, SanType,
};
use time::OffsetDateTime;

use crate::certificate::{self, Facts, Instead};
use crate::error::{Error, Flaw};
use crate::file::{self, Readers};
use crate::pem;
use crate::request::{Grant, Request};
use crate::subject::{self, Subject, SubjectName};

/// How long an authority lasts. To replace it, every client has to be told: seldom.
const AUTHORITY_LASTS: Duration = Duration::from_secs(10 * 365 * 24 * 3600);
/// How far a certificate begins in the past, for readers whose clock is behind ours.
const BACKDATED: Duration = Duration::from_secs(5 * 60);

/// For how long something is issued, and what the time is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Validity {
    pub now: SystemTime,
    pub lasts: Duration,
}

/// A certificate with its key, as text. The key is never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyPair {
    pub cert_chain_pem: String,
    /// PKCS#8.
    pub key_pem: String,
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("KeyPair").field("cert_chain_pem", &self.cert_chain_pem).finish_non_exhaustive()
    }
}

pub struct Authority {
    path: PathBuf,
    cert_pem: String,
    facts: Facts,
    issuer: Issuer<'static, rcgen::KeyPair>,
}

impl fmt::Debug for Authority {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Authority").field("path", &self.path).finish_non_exhaustive()
    }
}

impl Authority {
    /// The authority of this directory, in `ca.crt` and `ca.key`; a new one if there is neither.
    ///
    /// What is there is never overwritten: if it is damaged, expired or only half there, that is an error.
    pub fn open_or_create(dir: &Path, now: SystemTime) -> Result<Self, Error> {
        let (crt, key) = (dir.join("ca.crt"), dir.join("ca.key"));
        let authority = match (file::read(&crt)?, file::read(&key)?) {
            (Some(crt_pem), Some(key_pem)) => Self::open(crt, &crt_pem, key, &key_pem)?,
            (None, None) => Self::create(crt, &key, now)?,
            (Some(_), None) => return Err(Error::Missing { path: key, beside: crt }),
            (None, Some(_)) => return Err(Error::Missing { path: crt, beside: key }),
        };
        authority.check_valid(seconds(now)?)?;
        Ok(authority)
    }

    fn create(crt: PathBuf, key_path: &Path, now: SystemTime) -> Result<Self, Error> {
        let (not_before, not_after) = period(Validity { now, lasts: AUTHORITY_LASTS })?;
        let key = rcgen::KeyPair::generate().map_err(Error::Sign)?;
        let mut params = CertificateParams::default();
        (params.not_before, params.not_after) = (date(not_before)?, date(not_after)?);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages =
            vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        // Two authorities of different times are different names, lest the one be taken for the other.
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("hanse-ca@{}", seconds(now)?));
        let certificate = params.self_signed(&key).map_err(Error::Sign)?;
        let crt_pem = pem::encode(pem::CERTIFICATE, certificate.der());
        let key_pem = pem::encode(pem::PRIVATE_KEY, key.serialized_der());
        file::create(key_path, key_pem.as_bytes(), Readers::Owner)?;
        file::create(&crt, crt_pem.as_bytes(), Readers::Everybody)?;
        Self::open(crt, crt_pem.as_bytes(), key_path.to_owned(), key_pem.as_bytes())
    }

    fn open(crt: PathBuf, crt_pem: &[u8], key_path: PathBuf, key_pem: &[u8]) -> Result<Self, Error> {
        let (der, facts) = read_authority(crt_pem).map_err(|source| Error::Damaged { path: crt.clone(), source })?;
        let key = pem::key(key_pem).map_err(|source| Error::Damaged { path: key_path.clone(), source })?;
        if key.der_bytes() != facts.public_key {
            return Err(Error::Mismatch { certificate: crt, key: key_path });
        }
        if !facts.is_issued_by(&facts) {
            return Err(Error::Damaged { path: crt, source: Flaw::Signature });
        }
        let mut params = CertificateParams::default();
        if let Some(id) = &facts.key_id {
            params.key_identifier_method = KeyIdMethod::PreSpecified(id.clone());
        }
        let issuer = Issuer::new(params, key);
        Ok(Self { path: crt, cert_pem: pem::encode(pem::CERTIFICATE, &der), facts, issuer })
    }

    fn check_valid(&self, now: i64) -> Result<(), Error> {
        if now >= self.facts.not_after {
            return Err(Error::Expired { path: self.path.clone(), on: date(self.facts.not_after)?.date() });
        }
        if now < self.facts.not_before {
            return Err(Error::NotYetValid { path: self.path.clone(), from: date(self.facts.not_before)?.date() });
        }
        Ok(())
    }

    /// What clients and servers must have to trust whatever this authority issued.
    pub fn cert_pem(&self) -> &str {
        &self.cert_pem
    }

    pub fn issue_server(&self, names: &[SubjectName], validity: Validity) -> Result<KeyPair, Error> {
        self.issue(&Subject::Server { names: names.to_vec() }, validity)
    }

    /// `user` becomes the common name, each of `groups` an organization.
    pub fn issue_client(&self, user: &str, groups: &[&str], validity: Validity) -> Result<KeyPair, Error> {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        self.issue(&Subject::Client { user: user.to_owned(), groups }, validity)
    }

    /// A new key, and a certificate for it. Nothing that is issued outlives the authority.
    pub fn issue(&self, subject: &Subject, validity: Validity) -> Result<KeyPair, Error> {
        subject.check()?;
        let mut params = self.params(validity)?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![subject.usage()];
        params.subject_alt_names = subject.alternative_names()?;
        let key = rcgen::KeyPair::generate().map_err(Error::Sign)?;
        let unnamed = params.signed_by(&key, &self.issuer).map_err(Error::Sign)?;
        let instead = Instead { issuer: &self.facts.subject, subject: &subject.distinguished_name(), public_key: None };
        let der = certificate::rename(unnamed.der(), &instead, self.issuer.key())?;
        Ok(KeyPair {
            cert_chain_pem: pem::encode(pem::CERTIFICATE, &der),
            key_pem: pem::encode(pem::PRIVATE_KEY, key.serialized_der()),
        })
    }

    /// A certificate for the key of a request, as text. It says who its holder is as the request does, and what it is
    /// for as the grant does.
    pub fn sign(&self, request: &Request, grant: &Grant, validity: Validity) -> Result<String, Error> {
        let mut params = self.params(validity)?;
        params.key_usages = grant.usages();
        params.extended_key_usages = vec![grant.extended_usage()];
        params.subject_alt_names = request.server_names()?;
        if let Some(uri) = &grant.uri {
            params.subject_alt_names.push(SanType::URI(uri.as_str().try_into().map_err(Error::Sign)?));
        }
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &request.public_key);
        params.key_identifier_method = KeyIdMethod::PreSpecified(digest.as_ref()[..20].to_vec());
        // A key for a moment: the requester's takes its place.
        let key = rcgen::KeyPair::generate().map_err(Error::Sign)?;
        let unnamed = params.signed_by(&key, &self.issuer).map_err(Error::Sign)?;
        let subject = subject::distinguished_name(&request.common_name, &request.organizations);
        let instead = Instead { issuer: &self.facts.subject, subject: &subject, public_key: Some(&request.public_key) };
        let der = certificate::rename(unnamed.der(), &instead, self.issuer.key())?;
        Ok(pem::encode(pem::CERTIFICATE, &der))
    }

    /// What all certificates of this authority have in common.
    fn params(&self, validity: Validity) -> Result<CertificateParams, Error> {
        self.check_valid(seconds(validity.now)?)?;
        let (not_before, not_after) = period(validity)?;
        let mut params = CertificateParams::default();
        (params.not_before, params.not_after) = (date(not_before)?, date(not_after.min(self.facts.not_after))?);
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        Ok(params)
    }

    pub(crate) fn issued(&self, facts: &Facts) -> bool {
        facts.is_issued_by(&self.facts)
    }
}

fn read_authority(text: &[u8]) -> Result<(Vec<u8>, Facts), Flaw> {
    let der = pem::certificate(text)?;
    let facts = Facts::read(&der)?;
    if !facts.is_authority {
        return Err(Flaw::NotAnAuthority);
    }
    Ok((der.to_vec(), facts))
}

/// When the first certificate of a text ends, in seconds since 1970; nothing if there is none.
pub fn expires(text: &[u8]) -> Option<i64> {
    Facts::read(&pem::certificate(text).ok()?).ok().map(|facts| facts.not_after)
}

/// First and last second.
fn period(validity: Validity) -> Result<(i64, i64), Error> {
    let begin = validity.now.checked_sub(BACKDATED).ok_or(Error::Date)?;
    let end = validity.now.checked_add(validity.lasts).ok_or(Error::Date)?;
    Ok((seconds(begin)?, seconds(end)?))
}

pub(crate) fn seconds(time: SystemTime) -> Result<i64, Error> {
    let since = time.duration_since(UNIX_EPOCH).map_err(|_| Error::Date)?;
    i64::try_from(since.as_secs()).map_err(|_| Error::Date)
}

/// Refuses years that a certificate has no digits for.
fn date(seconds: i64) -> Result<OffsetDateTime, Error> {
    OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| Error::Date)
}
