//! The envelope that names an object's kind: magic bytes and `runtime.Unknown`.

use super::DecodeError;
use super::wire::{BYTES, Reader, Tag, Writer};

/// What every enveloped object starts with.
pub const MAGIC: [u8; 4] = *b"k8s\0";

/// An object whose message has not been read yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Envelope<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    pub message: &'a [u8],
}

pub fn is_enveloped(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

impl<'a> Envelope<'a> {
    /// Takes the envelope off. Kind and version may be empty: a server fills them in from the request.
    pub fn open(bytes: &'a [u8]) -> Result<Envelope<'a>, DecodeError> {
        let unknown = bytes.strip_prefix(&MAGIC).ok_or(DecodeError::NoMagic)?;
        let mut envelope = Envelope::default();
        each_bytes(unknown, &["", "typeMeta", "raw", "contentEncoding", "contentType"], |number, value| {
            match number {
                1 => each_bytes(value, &["", "apiVersion", "kind"], |number, value| {
                    match number {
                        1 => envelope.api_version = text(value)?,
                        2 => envelope.kind = text(value)?,
                        _ => {}
                    }
                    Ok(())
                })?,
                2 => envelope.message = value,
                // The content encoding and type of the message, which nobody sets and nobody reads.
                _ => {}
            }
            Ok(())
        })?;
        Ok(envelope)
    }

    /// Closes the envelope around a message that `writer` has written.
    pub(super) fn seal(api_version: &str, kind: &str, mut message: Writer) -> Vec<u8> {
        message.close(2, 0);
        let since = message.len();
        message.bytes_field(2, kind.as_bytes());
        message.bytes_field(1, api_version.as_bytes());
        message.close(1, since);
        message.prepend(&MAGIC);
        let mut sealed = message.finish();
        // Go writes the empty content encoding and content type as well.
        sealed.extend_from_slice(&[3 << 3 | BYTES, 0, 4 << 3 | BYTES, 0]);
        sealed
    }
}

/// Visits the fields of a message whose known fields, by number, all hold bytes.
fn each_bytes<'a>(
    message: &'a [u8],
    known: &[&'static str],
    mut visit: impl FnMut(u32, &'a [u8]) -> Result<(), DecodeError>,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(message);
    while let Some(Tag { number, wire }) = reader.tag()? {
        match known.get(number as usize) {
            None => reader.skip(wire)?,
            Some(_) if wire == BYTES => visit(number, reader.bytes()?)?,
            Some(field) => return Err(DecodeError::WireType { field, wire }),
        }
    }
    Ok(())
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).map_err(|_| DecodeError::Malformed("the object's kind is not UTF-8"))
}
