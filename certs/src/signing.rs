//! The key that service account tokens are signed with (ES256).

use std::fmt;
use std::path::Path;

use rcgen::PublicKeyData;

use crate::Error;
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
