//! Values that only the holder of a key can read: on the disk, in backups and in etcd. In memory they are plain.
//!
//! ```text
//!   "\0sealed1"  name length(1)  name  id of the key(8)  salt(32)  AES-256-GCM of the value, bound to its key
//! ```
//!
//! Every value is sealed with a key of its own, derived from the named one and the salt, so that no number of writes
//! wears a key out. The *id* tells keys of the same name apart and gives nothing of them away.

use crate::key::Key;
use crate::txn::Revision;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};
use aws_lc_rs::rand;
use parking_lot::{Mutex, RwLock};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

const MAGIC: &[u8; 8] = b"\0sealed1";
const ID_BYTES: usize = 8;
const SALT_BYTES: usize = 32;

/// A secret, and the name by which it is asked for.
#[derive(Clone)]
pub struct SealKey {
    name: String,
    id: [u8; ID_BYTES],
    secret: Arc<Prk>,
}

/// A secret that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitKey {
    #[error("the name of a key has 1 to 255 bytes")]
    Name,
    #[error("a secret has at least {SECRET_BYTES_MIN} bytes, not {0}")]
    Secret(usize),
}

/// Less can be guessed.
const SECRET_BYTES_MIN: usize = 16;

/// How many bytes are derived.
struct Bytes(usize);

impl KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

impl SealKey {
    pub fn new(name: impl Into<String>, secret: &[u8]) -> Result<Self, UnfitKey> {
        let name = name.into();
        if name.is_empty() || name.len() > usize::from(u8::MAX) {
            return Err(UnfitKey::Name);
        }
        if secret.len() < SECRET_BYTES_MIN {
            return Err(UnfitKey::Secret(secret.len()));
        }
        let secret = Salt::new(HKDF_SHA256, MAGIC).extract(secret);
        let mut id = [0; ID_BYTES];
        let derived = secret.expand(&[b"id"], Bytes(ID_BYTES)).and_then(|bytes| bytes.fill(&mut id));
        derived.unwrap_or_else(|_| unreachable!("a few bytes can always be derived"));
        Ok(Self { name, id, secret: Arc::new(secret) })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The key of one value. Its salt is never used twice, so its nonce need not differ.
    fn derived(&self, salt: &[u8]) -> LessSafeKey {
        let bytes = self.secret.expand(&[b"value", salt], &AES_256_GCM).map(UnboundKey::from);
        LessSafeKey::new(bytes.unwrap_or_else(|_| unreachable!("a key can always be derived")))
    }

    fn seal(&self, key: &Key, plain: &[u8]) -> Vec<u8> {
        let mut salt = [0; SALT_BYTES];
        // Without randomness nothing may be written that claims to be secret.
        rand::fill(&mut salt).unwrap_or_else(|_| panic!("the system has no random numbers"));
        let mut body = plain.to_vec();
        let sealed = self.derived(&salt).seal_in_place_append_tag(nonce(), Aad::from(key.as_bytes()), &mut body);
        sealed.unwrap_or_else(|_| panic!("a value of {} bytes cannot be sealed", plain.len()));
        let name = self.name.as_bytes();
        [MAGIC, &[name.len() as u8][..], name, &self.id, &salt, &body].concat()
    }

    fn open(&self, key: &Key, parts: &Parts<'_>) -> Option<Vec<u8>> {
        let mut body = parts.body.to_vec();
        let opened = self.derived(parts.salt).open_in_place(nonce(), Aad::from(key.as_bytes()), &mut body);
        let length = opened.ok()?.len();
        body.truncate(length);
        Some(body)
    }
}

fn nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; NONCE_LEN])
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SealKey").field(&self.name).finish()
    }
}

/// The parts of a sealed value.
struct Parts<'a> {
    name: &'a str,
    id: &'a [u8],
    salt: &'a [u8],
    body: &'a [u8],
}

impl<'a> Parts<'a> {
    fn read(sealed: &'a [u8]) -> Option<Self> {
        let (length, rest) = sealed.strip_prefix(MAGIC)?.split_first()?;
        let (name, rest) = rest.split_at_checked(usize::from(*length))?;
        let (id, rest) = rest.split_at_checked(ID_BYTES)?;
        let (salt, body) = rest.split_at_checked(SALT_BYTES)?;
        Some(Self { name: str::from_utf8(name).ok()?, id, salt, body })
    }
}

/// The name of the key that a value is sealed with; `None` if it is not sealed.
pub fn sealed_by(value: &[u8]) -> Option<&str> {
    Parts::read(value).map(|parts| parts.name)
}

/// Why a sealed value stays closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Locked {
    #[error("is sealed with the key {0:?}, which is not among those given")]
    Missing(String),
    #[error("is sealed with another key of the name {0:?} than the one given")]
    Other(String),
    #[error("does not open with the key {0:?}: it was changed, or was another key's")]
    Broken(String),
    #[error("is not what a sealed value looks like")]
    Malformed,
}

impl Locked {
    /// Whether it would open if somebody gave the right key.
    pub(crate) fn wants_a_key(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Other(_))
    }
}

/// For a key of the store, which of the ring's keys seals what is written there; `None`: it is written as it is.
type Choice = dyn Fn(&Key) -> Option<usize> + Send + Sync;

/// The keys there are: all of them open, one of them seals.
pub struct Ring {
    keys: Vec<SealKey>,
    choose: Box<Choice>,
}

impl Ring {
    pub fn new(keys: Vec<SealKey>, choose: impl Fn(&Key) -> Option<usize> + Send + Sync + 'static) -> Self {
        Self { keys, choose: Box::new(choose) }
    }

    fn seal(&self, key: &Key, plain: &[u8]) -> Option<Vec<u8>> {
        (self.choose)(key).and_then(|nth| self.keys.get(nth)).map(|chosen| chosen.seal(key, plain))
    }

    fn open(&self, key: &Key, sealed: &[u8]) -> Result<Vec<u8>, Locked> {
        let parts = Parts::read(sealed).ok_or(Locked::Malformed)?;
        let name = || parts.name.to_owned();
        match self.keys.iter().find(|known| known.id == parts.id) {
            Some(known) => known.open(key, &parts).ok_or_else(|| Locked::Broken(name())),
            None if self.keys.iter().any(|known| known.name == parts.name) => Err(Locked::Other(name())),
            None => Err(Locked::Missing(name())),
        }
    }
}

impl Default for Ring {
    fn default() -> Self {
        Self::new(Vec::new(), |_| None)
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Ring").field(&self.keys).finish()
    }
}

/// What a store seals and opens values with. Clones share their keys. By default there are none.
#[derive(Clone, Debug, Default)]
pub struct Seal(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Leaf lock, as is the other.
    ring: RwLock<Arc<Ring>>,
    shut: bool,
    unopened: Mutex<HashSet<(Revision, Key)>>,
}

impl Seal {
    pub fn new(ring: Ring) -> Self {
        Self(Arc::new(Inner { ring: RwLock::new(Arc::new(ring)), ..Inner::default() }))
    }

    /// For those who look at a store and copy it without its keys: what is sealed stays so, and nothing can be written.
    pub fn shut() -> Self {
        Self(Arc::new(Inner { shut: true, ..Inner::default() }))
    }

    /// From now on these keys are used; what is stored stays as it is until it is written again.
    pub fn use_ring(&self, ring: Ring) {
        *self.0.ring.write() = Arc::new(ring);
    }

    pub(crate) fn is_shut(&self) -> bool {
        self.0.shut
    }

    /// The value as it is to be stored; `None` if it is stored as it is.
    pub(crate) fn seal(&self, key: &Key, plain: &[u8]) -> Option<Vec<u8>> {
        let ring = self.0.ring.read().clone();
        ring.seal(key, plain)
    }

    pub(crate) fn open(&self, key: &Key, sealed: &[u8]) -> Result<Vec<u8>, Locked> {
        let ring = self.0.ring.read().clone();
        ring.open(key, sealed)
    }

    /// Remembers that what is in memory of this version is sealed.
    pub(crate) fn leave_closed(&self, key: &Key, modified: Revision) {
        self.0.unopened.lock().insert((modified, key.clone()));
    }

    pub(crate) fn is_left_closed(&self, key: &Key, modified: Revision) -> bool {
        self.0.shut && self.0.unopened.lock().contains(&(modified, key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn key(name: &str, secret: u8) -> SealKey {
        SealKey::new(name, &[secret; 32]).unwrap()
    }

    fn ring(keys: &[(&str, u8)]) -> Ring {
        Ring::new(keys.iter().map(|(name, secret)| key(name, *secret)).collect(), |key| {
            (!key.as_bytes().starts_with(b"plain")).then_some(0)
        })
    }

    #[test]
    fn the_first_key_seals_and_all_open() {
        let (old, new) = (ring(&[("a", 1)]), ring(&[("b", 2), ("a", 1)]));
        let at = Key::new("k");
        let sealed = old.seal(&at, b"secret").unwrap();
        assert_eq!(sealed_by(&sealed), Some("a"));
        assert_eq!(new.open(&at, &sealed).unwrap(), b"secret");
        assert_eq!(sealed_by(&new.seal(&at, b"secret").unwrap()), Some("b"));
        assert_eq!(new.seal(&Key::new("plain/k"), b"open"), None);
        assert_ne!(old.seal(&at, b"secret").unwrap(), sealed, "no two are alike");
    }

    #[test]
    fn what_stays_closed_says_which_key_it_wants() {
        let at = Key::new("k");
        let sealed = ring(&[("a", 1)]).seal(&at, b"secret").unwrap();
        let why = |keys: &[(&str, u8)]| ring(keys).open(&at, &sealed).unwrap_err();
        assert_eq!(why(&[("b", 2)]), Locked::Missing("a".to_owned()));
        assert_eq!(why(&[("b", 2), ("a", 3)]), Locked::Other("a".to_owned()));
        assert_eq!(ring(&[("b", 1)]).open(&at, &sealed).unwrap(), b"secret", "the name does not matter");
        let moved = ring(&[("a", 1)]).open(&Key::new("elsewhere"), &sealed);
        assert_eq!(moved, Err(Locked::Broken("a".to_owned())));
    }

    #[test]
    fn keys_that_protect_nothing_are_refused_and_secrets_are_not_printed() {
        assert_eq!(SealKey::new("", &[7; 32]).unwrap_err(), UnfitKey::Name);
        assert_eq!(SealKey::new("x".repeat(256), &[7; 32]).unwrap_err(), UnfitKey::Name);
        assert_eq!(SealKey::new("a", &[7; 15]).unwrap_err(), UnfitKey::Secret(15));
        assert_eq!(format!("{:?}", Seal::new(ring(&[("a", 7)]))).matches('7').count(), 0);
    }

    proptest! {
        #[test]
        fn sealed_values_open_as_they_were(value in prop::collection::vec(any::<u8>(), 0..200), at in "[a-z]{1,9}") {
            let ring = ring(&[("a", 1)]);
            let sealed = ring.seal(&Key::new(&at), &value).unwrap();
            prop_assert_eq!(ring.open(&Key::new(&at), &sealed).unwrap(), value);
        }

        #[test]
        fn one_flipped_bit_keeps_it_closed(at in any::<prop::sample::Index>(), bit in 0..8) {
            let ring = ring(&[("a", 1)]);
            let mut sealed = ring.seal(&Key::new("k"), b"some value").unwrap();
            let at = at.index(sealed.len());
            sealed[at] ^= 1u8 << bit;
            // The name is for people; the id is what counts.
            let in_name = at == MAGIC.len() + 1;
            prop_assert_eq!(ring.open(&Key::new("k"), &sealed).is_ok(), in_name && str::from_utf8(&sealed[at..=at]).is_ok());
        }

        #[test]
        fn any_bytes_stay_closed(bytes in prop::collection::vec(any::<u8>(), 0..90)) {
            prop_assert!(ring(&[("a", 1)]).open(&Key::new("k"), &bytes).is_err());
            prop_assert!(ring(&[("a", 1)]).open(&Key::new("k"), &[MAGIC, &bytes[..]].concat()).is_err());
        }
    }
}
