//! The key that service account tokens are signed with (ES256), and those that did before.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rcgen::PublicKeyData;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};

use crate::Error;
use crate::authority::seconds;
use crate::error::Flaw;
use crate::file::{self, Readers};
use crate::pem;

/// The file's name, before `.key`.
pub(crate) const NAME: &str = "service-account";

/// An ECDSA P-256 key. Never shown by `Debug`.
pub struct SigningKey(rcgen::KeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("SigningKey").finish_non_exhaustive()
    }
}

impl SigningKey {
    /// The key in `service-account.key`; a new one if there is none.
    ///
    /// What is there is never overwritten: a new key would make every token invalid.
    pub fn open_or_create(dir: &Path) -> Result<Self, Error> {
        let path = dir.join(format!("{NAME}.key"));
        if let Some(text) = file::read(&path)? {
            return pem::key(&text).map(Self).map_err(|source| Error::Damaged { path, source });
        }
        let key = Self(rcgen::KeyPair::generate().map_err(Error::Sign)?);
        file::create(&path, key.private_pem().as_bytes(), Readers::Owner)?;
        Ok(key)
    }

    /// The key in a file of somebody's choice, PKCS#8 or SEC 1.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = required(path)?;
        private(&text).map(Self).map_err(|source| Error::Damaged { path: path.to_owned(), source })
    }

    /// A new key in place of the one in the directory, which is kept beside it: what it signed is good until it is
    /// [retired](Self::retire).
    pub fn rotate(dir: &Path, now: SystemTime) -> Result<(), Error> {
        let former = Self::open_or_create(dir)?;
        let aside = dir.join(format!("{NAME}.{}.key", seconds(now)?));
        file::create(&aside, former.private_pem().as_bytes(), Readers::Owner)?;
        let key = Self(rcgen::KeyPair::generate().map_err(Error::Sign)?);
        file::replace(&dir.join(format!("{NAME}.key")), key.private_pem().as_bytes(), Readers::Owner)
    }

    /// Keys that signed before.
    pub fn former(dir: &Path) -> Result<Vec<Self>, Error> {
        former_files(dir)?.iter().map(|path| Self::read(path)).collect()
    }

    /// From now on, what former keys signed is worth nothing. Answers how many there were.
    pub fn retire(dir: &Path) -> Result<usize, Error> {
        let files = former_files(dir)?;
        for path in &files {
            std::fs::remove_file(path).map_err(|source| Error::Write { path: path.clone(), source })?;
        }
        Ok(files.len())
    }

    /// PKCS#8.
    pub fn private_der(&self) -> &[u8] {
        self.0.serialized_der()
    }

    /// PKCS#8.
    pub fn private_pem(&self) -> String {
        pem::encode(pem::PRIVATE_KEY, self.private_der())
    }

    /// SubjectPublicKeyInfo.
    pub fn public_der(&self) -> Vec<u8> {
        self.0.subject_public_key_info()
    }

    /// SubjectPublicKeyInfo.
    pub fn public_pem(&self) -> String {
        pem::encode(pem::PUBLIC_KEY, &self.public_der())
    }
}

/// The public halves of the keys in a file: of a private one, or as they stand there.
pub fn public_keys(path: &Path) -> Result<Vec<String>, Error> {
    let text = required(path)?;
    let damaged = |source| Error::Damaged { path: path.to_owned(), source };
    if PrivateKeyDer::from_pem_slice(&text).is_ok() {
        return Ok(vec![private(&text).map(|key| SigningKey(key).public_pem()).map_err(damaged)?]);
    }
    let all: Result<Vec<_>, _> = SubjectPublicKeyInfoDer::pem_slice_iter(&text).collect();
    let all = all.map_err(|error| damaged(Flaw::Pem(error)))?;
    if all.is_empty() {
        return Err(damaged(Flaw::Pem(rustls_pki_types::pem::Error::NoItemsFound)));
    }
    Ok(all.iter().map(|der| pem::encode(pem::PUBLIC_KEY, der)).collect())
}

fn private(text: &[u8]) -> Result<rcgen::KeyPair, Flaw> {
    let der = PrivateKeyDer::from_pem_slice(text).map_err(Flaw::Pem)?;
    rcgen::KeyPair::from_der_and_sign_algo(&der, &rcgen::PKCS_ECDSA_P256_SHA256).map_err(Flaw::Key)
}

fn required(path: &Path) -> Result<Vec<u8>, Error> {
    let missing = || std::io::Error::from(std::io::ErrorKind::NotFound);
    file::read(path)?.ok_or_else(|| Error::Read { path: path.to_owned(), source: missing() })
}

/// `service-account.<seconds>.key`, oldest first.
fn former_files(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::Read { path: dir.to_owned(), source };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let middle = name.strip_prefix(NAME).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(".key"));
        if middle.is_some_and(|middle| !middle.is_empty() && middle.bytes().all(|byte| byte.is_ascii_digit())) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
