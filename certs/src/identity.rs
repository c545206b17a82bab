//! A certificate that is kept over restarts and issued anew before it is of no use.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rcgen::PublicKeyData;

use crate::authority::seconds;
use crate::authority::{Authority, KeyPair, Validity};
use crate::certificate::Facts;
use crate::error::{Error, Flaw};
use crate::file::{self, Readers};
use crate::pem;
use crate::subject::Subject;

/// With less than one part in so many of its life left, a certificate is replaced: two chances to notice a failure.
const LIFE_PARTS: i64 = 3;

/// Files of the same directory that are not for an identity to overwrite.
const RESERVED: [&str; 2] = ["ca", crate::signing::NAME];

/// Who we are to others, in `<name>.crt` and `<name>.key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub pair: KeyPair,
    pub origin: Origin,
    /// When to call [`Identity::load_or_issue`] again.
    pub renew_at: SystemTime,
}

/// Where an identity came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Kept,
    Issued(Reason),
}

/// Why an identity was issued although one may have been there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Absent,
    /// Unreadable, or key and certificate are not of one pair: a crash may have come between the two files.
    Damaged,
    /// Another authority signed it.
    Foreign,
    /// It is for another subject.
    Renamed,
    /// Less than a third of its life is left, or it has not begun.
    OutOfDate,
}

impl Identity {
    /// What is kept under this name, as long as it is good for `subject`; otherwise it is issued and kept.
    pub fn load_or_issue(
        authority: &Authority,
        dir: &Path,
        name: &str,
        subject: &Subject,
        validity: Validity,
    ) -> Result<Self, Error> {
        let files = Files::new(dir, name)?;
        let reason = match files.read()? {
            Found::Nothing => Reason::Absent,
            Found::Damaged => Reason::Damaged,
            Found::Pair(pair, facts) => match objection(&facts, authority, subject, seconds(validity.now)?) {
                None => return Ok(Self { pair, origin: Origin::Kept, renew_at: renew_at(&facts) }),
                Some(reason) => reason,
            },
        };
        let pair = authority.issue(subject, validity)?;
        let facts = files.replace(&pair)?;
        Ok(Self { pair, origin: Origin::Issued(reason), renew_at: renew_at(&facts) })
    }
}

fn objection(facts: &Facts, authority: &Authority, subject: &Subject, now: i64) -> Option<Reason> {
    if !authority.issued(facts) {
        Some(Reason::Foreign)
    } else if facts.subject != subject.distinguished_name() || facts.names != subject.names() {
        Some(Reason::Renamed)
    } else if now < facts.not_before || now > last_good(facts) {
        Some(Reason::OutOfDate)
    } else {
        None
    }
}

/// The last second at which a third of its life is still left.
fn last_good(facts: &Facts) -> i64 {
    facts.not_after - (facts.not_after - facts.not_before) / LIFE_PARTS
}

fn renew_at(facts: &Facts) -> SystemTime {
    let seconds = u64::try_from(last_good(facts)).unwrap_or_default().saturating_add(1);
    UNIX_EPOCH + Duration::from_secs(seconds)
}

enum Found {
    /// Or only one of the two files.
    Nothing,
    Damaged,
    Pair(KeyPair, Box<Facts>),
}

struct Files {
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(dir: &Path, name: &str) -> Result<Self, Error> {
        let plain = Path::new(name).file_name().is_some_and(|last| last == name);
        if !plain || RESERVED.contains(&name) {
            return Err(Error::FileName { name: name.to_owned() });
        }
        Ok(Self { certificate: dir.join(format!("{name}.crt")), key: dir.join(format!("{name}.key")) })
    }

    fn read(&self) -> Result<Found, Error> {
        let Some((certificate, key)) = file::read(&self.certificate)?.zip(file::read(&self.key)?) else {
            return Ok(Found::Nothing);
        };
        Ok(read_pair(&certificate, &key).unwrap_or(Found::Damaged))
    }

    fn replace(&self, pair: &KeyPair) -> Result<Facts, Error> {
        file::replace(&self.key, pair.key_pem.as_bytes(), Readers::Owner)?;
        file::replace(&self.certificate, pair.cert_chain_pem.as_bytes(), Readers::Everybody)?;
        let read = pem::certificate(pair.cert_chain_pem.as_bytes()).and_then(|der| Facts::read(&der));
        read.map_err(|source| Error::Damaged { path: self.certificate.clone(), source })
    }
}

fn read_pair(certificate: &[u8], key: &[u8]) -> Result<Found, Flaw> {
    let der = pem::certificate(certificate)?;
    let facts = Facts::read(&der)?;
    let key = pem::key(key)?;
    if key.der_bytes() != facts.public_key {
        return Ok(Found::Damaged);
    }
    let pair = KeyPair {
        cert_chain_pem: pem::encode(pem::CERTIFICATE, &der),
        key_pem: pem::encode(pem::PRIVATE_KEY, key.serialized_der()),
    };
    Ok(Found::Pair(pair, Box::new(facts)))
}
