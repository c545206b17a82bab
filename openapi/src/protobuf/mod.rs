//! Built-in objects in protobuf: the bytes that typed clients send, to and from JSON trees.
//!
//! On the wire an object is the magic `k8s\0` and a `runtime.Unknown` message that names its kind and holds its bytes.
//! Inside, messages follow the table: field numbers, structs that JSON inlines as messages of their own, and the
//! special messages of [`special`]. Zero values are always written and never missed, so that the JSON side decides as
//! Go's `omitempty` does what to show. Unknown fields are skipped. Nothing that a client sends makes it panic,
//! recurse beyond [`DEPTH_MAX`] or grow beyond [`WEIGHT_MAX`].

mod decode;
mod encode;
mod envelope;
mod special;
mod wire;

pub use decode::{decode, decode_message};
pub use encode::{EncodeError, encode, encode_message, encode_watch_event};
pub use envelope::{Envelope, MAGIC, is_enveloped};
pub(crate) use wire::Writer;

/// Levels of JSON nesting that a message may reach: what the JSON parser accepts too, so that everything that comes in
/// as protobuf can be read back as JSON.
pub const DEPTH_MAX: usize = 127;

/// Values that one body may decode to, an object counting as [`OBJECT_WEIGHT`]. A message of two bytes can become an
/// object of a kilobyte, so that without a bound three megabytes could ask for more than a gigabyte. This much is what
/// the densest JSON of that size becomes; an honest body has a tenth to a half of a value per byte.
pub const WEIGHT_MAX: usize = 2_000_000;

/// What an object counts for in [`WEIGHT_MAX`].
pub const OBJECT_WEIGHT: usize = 5;

/// Why bytes are no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoMagic,
    #[error("unexpected EOF")]
    Truncated,
    #[error("proto: {0}")]
    Malformed(&'static str),
    #[error("proto: wrong wireType = {wire} for field {field}")]
    WireType { field: &'static str, wire: u8 },
    #[error("Object 'Kind' is missing")]
    NoKind,
    #[error("no kind \"{kind}\" is registered for version \"{api_version}\"")]
    UnknownKind { api_version: String, kind: String },
    #[error("field {field}: {why}")]
    Value { field: &'static str, why: String },
    #[error("the object is nested too deeply")]
    TooDeep,
    #[error("the object has too many values")]
    TooHeavy,
}

#[cfg(test)]
mod tests;
