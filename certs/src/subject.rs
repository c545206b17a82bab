//! Whom a certificate is for.

use std::collections::BTreeSet;
use std::net::IpAddr;

use rcgen::{ExtendedKeyUsagePurpose, SanType};
use rustls_pki_types::DnsName;
use yasna::models::ObjectIdentifier;
use yasna::{DERWriter, construct_der};

use crate::Error;

const COMMON_NAME: [u64; 4] = [2, 5, 4, 3];
const ORGANIZATION: [u64; 4] = [2, 5, 4, 10];

/// Clients look for a server among the alternative names alone; this one is for people.
const SERVER: &str = "server";

/// A name that a server is reached by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SubjectName {
    /// `*.` may stand before it, for any one label.
    Dns(String),
    Ip(IpAddr),
}

/// The holder of a certificate, in one of the two roles that a connection has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Server { names: Vec<SubjectName> },
    Client { user: String, groups: Vec<String> },
}

impl Subject {
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self {
            Subject::Server { names } if names.is_empty() => Err(Error::NoServerName),
            Subject::Client { user, .. } if user.is_empty() => Err(Error::NoUser),
            _ => Ok(()),
        }
    }

    /// The distinguished name in DER. Each group is an organization of its own, before the user.
    pub(crate) fn distinguished_name(&self) -> Vec<u8> {
        let (user, groups) = match self {
            Subject::Server { .. } => (SERVER, &[][..]),
            Subject::Client { user, groups } => (user.as_str(), groups.as_slice()),
        };
        distinguished_name(user, groups)
    }

    /// What belongs among the alternative names of its certificate.
    pub(crate) fn names(&self) -> BTreeSet<SubjectName> {
        match self {
            Subject::Server { names } => names.iter().cloned().collect(),
            Subject::Client { .. } => BTreeSet::new(),
        }
    }

    pub(crate) fn alternative_names(&self) -> Result<Vec<SanType>, Error> {
        self.names().iter().map(SubjectName::encoded).collect()
    }

    pub(crate) fn usage(&self) -> ExtendedKeyUsagePurpose {
        match self {
            Subject::Server { .. } => ExtendedKeyUsagePurpose::ServerAuth,
            Subject::Client { .. } => ExtendedKeyUsagePurpose::ClientAuth,
        }
    }
}

impl SubjectName {
    pub(crate) fn encoded(&self) -> Result<SanType, Error> {
        let name = match self {
            SubjectName::Ip(address) => return Ok(SanType::IpAddress(*address)),
            SubjectName::Dns(name) => name,
        };
        let refused = || Error::ServerName { name: name.clone() };
        DnsName::try_from(name.strip_prefix("*.").unwrap_or(name)).map_err(|_| refused())?;
        Ok(SanType::DnsName(name.as_str().try_into().map_err(|_| refused())?))
    }
}

/// In DER. A common name that is empty is left out.
pub(crate) fn distinguished_name(user: &str, groups: &[String]) -> Vec<u8> {
    construct_der(|writer| {
        writer.write_sequence(|parts| {
            for group in groups {
                write_part(parts.next(), &ORGANIZATION, group);
            }
            if !user.is_empty() {
                write_part(parts.next(), &COMMON_NAME, user);
            }
        });
    })
}

fn write_part(writer: DERWriter<'_>, kind: &[u64], value: &str) {
    writer.write_set(|set| {
        set.next().write_sequence(|part| {
            part.next().write_oid(&ObjectIdentifier::from_slice(kind));
            part.next().write_utf8_string(value);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, fits: bool) {
        let found = SubjectName::Dns(name.to_owned()).encoded();
        assert_eq!(found.is_ok(), fits, "{name:?}: {found:?}");
    }

    #[test]
    fn servers_are_reached_by_names_that_dns_has() {
        for name in ["localhost", "api.example.org", "*.example.org", "kubernetes.default.svc.cluster.local"] {
            check(name, true);
        }
        for name in ["", "*", "*.", "a b", "a..b", "ünicode.org", "a\0b", "*.*.example.org", &"a".repeat(64)] {
            check(name, false);
        }
    }

    #[test]
    fn a_subject_without_a_name_is_refused() {
        let nobody = Subject::Client { user: String::new(), groups: vec!["admins".into()] };
        assert!(matches!(nobody.check(), Err(Error::NoUser)));
        assert!(matches!(Subject::Server { names: vec![] }.check(), Err(Error::NoServerName)));
    }
}
