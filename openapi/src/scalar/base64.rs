//! Bytes as text: standard alphabet, padded, line breaks skipped.

use std::borrow::Cow;

use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{DecodeError, Engine};

const ENGINE: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct Base64Error(pub usize);

pub fn decode(text: &str) -> Result<Vec<u8>, Base64Error> {
    let breaks = ['\r', '\n'];
    let plain: Cow<str> = if text.contains(breaks) { text.replace(breaks, "").into() } else { text.into() };
    ENGINE.decode(plain.as_bytes()).map_err(|error| {
        Base64Error(match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
            // The last group of four is not whole, and Go points at its start.
            DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => plain.len() / 4 * 4,
        })
    })
}

pub fn encode(bytes: &[u8]) -> String {
    ENGINE.encode(bytes)
}
