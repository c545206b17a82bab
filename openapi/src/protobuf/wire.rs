//! Tags, varints and lengths, read and written as the generated Go code does.

use super::DecodeError;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// Reads a message from its front.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The next field's tag, or `None` at the end of the message.
    pub(super) fn tag(&mut self) -> Result<Option<Tag>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let word = self.varint()?;
        let wire = (word & 7) as u8;
        if wire == END_GROUP {
            return Err(DecodeError::Malformed("wiretype end group for non-group"));
        }
        // Go keeps the low 32 bits of the number and takes them as signed.
        let number = (word >> 3) as u32;
        if number == 0 || number > i32::MAX as u32 {
            return Err(DecodeError::Malformed("illegal tag"));
        }
        Ok(Some(Tag { number, wire }))
    }

    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for (at, byte) in self.rest.iter().enumerate() {
            if at == 10 {
                return Err(DecodeError::Malformed("integer overflow"));
            }
            value |= u64::from(byte & 0x7f) << (7 * at);
            if *byte < 0x80 {
                self.rest = &self.rest[at + 1..];
                return Ok(value);
            }
        }
        Err(if self.rest.len() >= 10 { DecodeError::Malformed("integer overflow") } else { DecodeError::Truncated })
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.varint()?;
        if length > i64::MAX as u64 {
            return Err(DecodeError::Malformed("negative length found during unmarshaling"));
        }
        let length = usize::try_from(length).map_err(|_| DecodeError::Truncated)?;
        self.take(length)
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, DecodeError> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(word))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// Passes over the value of a field nobody knows. Groups may nest; they are counted, not recursed into.
    pub(super) fn skip(&mut self, mut wire: u8) -> Result<(), DecodeError> {
        let mut depth = 0usize;
        loop {
            match wire {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                BYTES => drop(self.bytes()?),
                START_GROUP => depth += 1,
                END_GROUP if depth > 0 => depth -= 1,
                END_GROUP => return Err(DecodeError::Malformed("unexpected end of group")),
                FIXED32 => drop(self.take(4)?),
                _ => return Err(DecodeError::Malformed("illegal wireType")),
            }
            if depth == 0 {
                return Ok(());
            }
            if self.is_done() {
                return Err(DecodeError::Truncated);
            }
            wire = (self.varint()? & 7) as u8;
        }
    }
}

/// Writes a message from its end, so that every length is known when its turn comes.
#[derive(Default)]
pub(crate) struct Writer {
    /// The message is `buffer[start..]`.
    buffer: Vec<u8>,
    start: usize,
}

const FIRST_BUFFER: usize = 1024;

impl Writer {
    pub(crate) fn len(&self) -> usize {
        self.buffer.len() - self.start
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.buffer.drain(..self.start);
        self.buffer
    }

    pub(crate) fn prepend(&mut self, bytes: &[u8]) {
        if self.start < bytes.len() {
            self.grow(bytes.len());
        }
        self.start -= bytes.len();
        self.buffer[self.start..self.start + bytes.len()].copy_from_slice(bytes);
    }

    /// Makes room in front, at least doubling.
    fn grow(&mut self, room: usize) {
        let more = room.max(self.buffer.len()).max(FIRST_BUFFER);
        let mut larger = vec![0; self.buffer.len() + more];
        larger[self.start + more..].copy_from_slice(&self.buffer[self.start..]);
        self.buffer = larger;
        self.start += more;
    }

    pub(crate) fn varint(&mut self, mut value: u64) {
        let mut bytes = [0u8; 10];
        let mut length = 0;
        loop {
            bytes[length] = (value & 0x7f) as u8 | if value > 0x7f { 0x80 } else { 0 };
            length += 1;
            value >>= 7;
            if value == 0 {
                break;
            }
        }
        self.prepend(&bytes[..length]);
    }

    fn tag(&mut self, number: u32, wire: u8) {
        self.varint(u64::from(number) << 3 | u64::from(wire));
    }

    pub(crate) fn varint_field(&mut self, number: u32, value: u64) {
        self.varint(value);
        self.tag(number, VARINT);
    }

    pub(crate) fn fixed64_field(&mut self, number: u32, value: u64) {
        self.prepend(&value.to_le_bytes());
        self.tag(number, FIXED64);
    }

    pub(crate) fn bytes_field(&mut self, number: u32, bytes: &[u8]) {
        self.prepend(bytes);
        self.varint(bytes.len() as u64);
        self.tag(number, BYTES);
    }

    /// Closes a nested message: everything written since `len()` was `since`.
    pub(crate) fn close(&mut self, number: u32, since: usize) {
        self.varint((self.len() - since) as u64);
        self.tag(number, BYTES);
    }
}
