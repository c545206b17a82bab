//! A certificate's bytes: what they say, whose signature they carry, and other names put into them.

use std::collections::BTreeSet;
use std::net::IpAddr;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_ASN1, UnparsedPublicKey};
use rcgen::SigningKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::{GeneralName, ParsedExtension};
use x509_parser::parse_x509_certificate;
use yasna::{ASN1Error, ASN1ErrorKind, ASN1Result, construct_der, parse_der};

use crate::error::{Error, Flaw};
use crate::subject::SubjectName;

/// Where things stand in the signed part: version, serial number, algorithm, issuer, validity, subject, ...
const ALGORITHM_AT: usize = 2;
const ISSUER_AT: usize = 3;
const SUBJECT_AT: usize = 5;
const KEY_AT: usize = 6;

/// What a certificate says of itself. Times are seconds since 1970.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Distinguished names, in DER.
    pub(crate) issuer: Vec<u8>,
    pub(crate) subject: Vec<u8>,
    pub(crate) names: BTreeSet<SubjectName>,
    pub(crate) not_before: i64,
    pub(crate) not_after: i64,
    pub(crate) is_authority: bool,
    pub(crate) key_id: Option<Vec<u8>>,
    /// As it stands in the certificate: a point on a curve.
    pub(crate) public_key: Vec<u8>,
    signed: Vec<u8>,
    signature: Vec<u8>,
}

impl Facts {
    pub(crate) fn read(der: &[u8]) -> Result<Self, Flaw> {
        let (rest, certificate) = parse_x509_certificate(der).map_err(Flaw::Certificate)?;
        if !rest.is_empty() {
            return Err(Flaw::Trailing);
        }
        let signed = certificate.tbs_certificate.as_ref();
        let signature = &certificate.signature_value.data;
        // What stands around the signed part is protected by nothing but this.
        let algorithm = elements(signed).ok().and_then(|elements| elements.into_iter().nth(ALGORITHM_AT));
        if algorithm.is_none_or(|algorithm| assemble(signed, &algorithm, signature) != der) {
            return Err(Flaw::Frame);
        }
        let validity = certificate.validity();
        Ok(Self {
            issuer: certificate.issuer().as_raw().to_vec(),
            subject: certificate.subject().as_raw().to_vec(),
            names: names(&certificate)?,
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
            is_authority: certificate.is_ca(),
            key_id: key_id(&certificate),
            public_key: certificate.public_key().subject_public_key.data.to_vec(),
            signed: signed.to_vec(),
            signature: signature.to_vec(),
        })
    }

    pub(crate) fn is_issued_by(&self, authority: &Facts) -> bool {
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_ASN1, &authority.public_key);
        self.issuer == authority.subject && key.verify(&self.signed, &self.signature).is_ok()
    }
}

/// Names of other kinds than ours count as none: a certificate that has them is not one that we issued.
fn names(certificate: &X509Certificate<'_>) -> Result<BTreeSet<SubjectName>, Flaw> {
    let Some(extension) = certificate.subject_alternative_name().map_err(Flaw::Extension)? else {
        return Ok(BTreeSet::new());
    };
    Ok(extension.value.general_names.iter().filter_map(name).collect())
}

fn name(name: &GeneralName<'_>) -> Option<SubjectName> {
    match name {
        GeneralName::DNSName(name) => Some(SubjectName::Dns((*name).to_owned())),
        GeneralName::IPAddress(bytes) => {
            let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = v4.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(SubjectName::Ip)
        }
        _ => None,
    }
}

fn key_id(certificate: &X509Certificate<'_>) -> Option<Vec<u8>> {
    certificate.iter_extensions().find_map(|extension| match extension.parsed_extension() {
        ParsedExtension::SubjectKeyIdentifier(id) => Some(id.0.to_vec()),
        _ => None,
    })
}

/// What a certificate is to say instead, in DER.
pub(crate) struct Instead<'a> {
    pub(crate) issuer: &'a [u8],
    pub(crate) subject: &'a [u8],
    /// `None`: the key stays.
    pub(crate) public_key: Option<&'a [u8]>,
}

/// The same certificate with other distinguished names, and maybe of another key, signed anew.
///
/// rcgen keeps one value of a kind in a name, but a user is in many groups, and each is an organization. And it knows
/// some sorts of keys only; what sort others have is their business.
pub(crate) fn rename(der: &[u8], instead: &Instead<'_>, key: &impl SigningKey) -> Result<Vec<u8>, Error> {
    let parts = elements(der).map_err(Error::Encode)?;
    let [signed, algorithm, _] = parts.as_slice() else {
        return Err(Error::Encode(ASN1Error::new(ASN1ErrorKind::Invalid)));
    };
    let signed = elements(signed).map_err(Error::Encode)?;
    let signed = sequence(signed.iter().enumerate().map(|(at, element)| match at {
        ISSUER_AT => instead.issuer,
        SUBJECT_AT => instead.subject,
        KEY_AT => instead.public_key.unwrap_or(element),
        _ => element.as_slice(),
    }));
    let signature = key.sign(&signed).map_err(Error::Sign)?;
    Ok(assemble(&signed, algorithm, &signature))
}

fn assemble(signed: &[u8], algorithm: &[u8], signature: &[u8]) -> Vec<u8> {
    let signature = construct_der(|writer| writer.write_bitvec_bytes(signature, signature.len() * 8));
    sequence([signed, algorithm, &signature])
}

fn elements(der: &[u8]) -> ASN1Result<Vec<Vec<u8>>> {
    parse_der(der, |reader| reader.collect_sequence_of(|element| element.read_der()))
}

fn sequence<'a>(elements: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    construct_der(|writer| {
        writer.write_sequence(|sequence| {
            for element in elements {
                sequence.next().write_der(element);
            }
        });
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(Facts::read(&bytes).is_err());
        }
    }
}
