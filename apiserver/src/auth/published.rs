//! The public half of the key that signs tokens, as others are told it.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What stands before the point in the public half of every ECDSA key on P-256: that it is one, and how it is written.
const PREFIX_BYTES: usize = 26;
/// A point that is written out: one byte that says so, and two numbers of this many.
const COORDINATE_BYTES: usize = 32;
const WRITTEN_OUT: u8 = 4;

/// A point on P-256, and a name for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    id: String,
    x: String,
    y: String,
}

impl PublicKey {
    /// Reads `-----BEGIN PUBLIC KEY-----`; nothing if it is no point on P-256.
    pub fn from_pem(pem: &[u8]) -> Option<Self> {
        let text = str::from_utf8(pem).ok()?;
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("-----"));
        let der = STANDARD.decode(lines.collect::<String>()).ok()?;
        let (form, point) = der.get(PREFIX_BYTES..)?.split_first()?;
        if *form != WRITTEN_OUT || point.len() != 2 * COORDINATE_BYTES {
            return None;
        }
        let (x, y) = point.split_at(COORDINATE_BYTES);
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(&der));
        Some(Self { id, x: URL_SAFE_NO_PAD.encode(x), y: URL_SAFE_NO_PAD.encode(y) })
    }

    /// Follows from the key, as in Kubernetes.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The key as it stands in a set of them.
    pub fn told(&self) -> Value {
        let Self { id, x, y } = self;
        json!({ "use": "sig", "kty": "EC", "kid": id, "crv": "P-256", "alg": "ES256", "x": x, "y": y })
    }
}
