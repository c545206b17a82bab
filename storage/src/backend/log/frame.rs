//! One batch as it is written: numbered, and with a checksum over all of it.
//!
//! ```text
//!   head      "HLOG"  length of the body(4)  number(8)  oldest(8)  checksum(8)
//!   body      puts(4)  removals(4)  ledger length(4)  ledger  put*  removal*
//!   put       key length(4)  value length(4)  key  value
//!   removal   key length(4)  key
//! ```
//!
//! Numbers follow each other without a gap through all segments. `oldest` is the number of the first frame that is
//! still needed: the segments before it may be gone.

use super::super::Batch;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const MAGIC: [u8; 4] = *b"HLOG";
pub(super) const HEAD_BYTES: usize = 32;
const SUMMED_HEAD_BYTES: usize = HEAD_BYTES - 8;
const COUNTS_BYTES: usize = 12;
/// Far more than any batch has; places in a segment are told by four bytes.
const BODY_BYTES_MAX: usize = 1 << 30;

/// Puts that are still needed, as they are stored, from a segment that is about to go.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub(super) bytes: Vec<u8>,
    pub(super) puts: u32,
}

impl Carried {
    pub(super) fn add(&mut self, put: &[u8]) {
        self.bytes.extend_from_slice(put);
        self.puts += 1;
    }
}

/// Writes a frame into `bytes`, whatever was in it before. Answers with `false` if it would be too large.
pub(super) fn encode(bytes: &mut Vec<u8>, number: u64, oldest: u64, batch: &Batch, carried: &Carried) -> bool {
    bytes.clear();
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&[0; 4]);
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&oldest.to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    let puts = batch.puts.len() + carried.puts as usize;
    [puts, batch.removals.len(), batch.ledger.len()].iter().for_each(|count| push_length(bytes, *count));
    bytes.extend_from_slice(&batch.ledger);
    for (key, value) in &batch.puts {
        push_length(bytes, key.len());
        push_length(bytes, value.len());
        bytes.extend_from_slice(key);
        bytes.extend_from_slice(value);
    }
    bytes.extend_from_slice(&carried.bytes);
    for key in &batch.removals {
        push_length(bytes, key.len());
        bytes.extend_from_slice(key);
    }
    let length = bytes.len() - HEAD_BYTES;
    bytes[4..8].copy_from_slice(&(length as u32).to_le_bytes());
    let checksum = checksum(&bytes[..SUMMED_HEAD_BYTES], &bytes[HEAD_BYTES..]);
    bytes[SUMMED_HEAD_BYTES..HEAD_BYTES].copy_from_slice(&checksum.to_le_bytes());
    length <= BODY_BYTES_MAX
}

fn push_length(bytes: &mut Vec<u8>, length: usize) {
    bytes.extend_from_slice(&(length as u32).to_le_bytes());
}

fn checksum(head: &[u8], body: &[u8]) -> u64 {
    xxh3_64_with_seed(body, xxh3_64(head))
}

/// How long the frame is that begins with `head`; `None` if none does.
pub(super) fn length(head: &[u8]) -> Option<usize> {
    let (magic, rest) = head.split_first_chunk()?;
    let (body, _) = rest.split_first_chunk()?;
    let body = u32::from_le_bytes(*body) as usize;
    (*magic == MAGIC && body <= BODY_BYTES_MAX).then_some(HEAD_BYTES + body)
}

/// A whole frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub(super) number: u64,
    pub(super) oldest: u64,
    pub(super) ledger: &'a [u8],
    pub(super) length: usize,
    puts: u32,
    removals: u32,
    entries: &'a [u8],
}

impl<'a> Frame<'a> {
    /// The frame that `bytes` begin with, if it is whole.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let frame = bytes.get(..length(bytes)?)?;
        let (head, body) = frame.split_at(HEAD_BYTES);
        let (summed, sum) = head.split_at(SUMMED_HEAD_BYTES);
        if checksum(summed, body).to_le_bytes() != sum {
            return None;
        }
        Self::trusted(frame)
    }

    /// The same for a frame that was checked before, or just made.
    pub(super) fn trusted(frame: &'a [u8]) -> Option<Self> {
        let (head, body) = frame.split_at_checked(HEAD_BYTES)?;
        let (number, oldest) = (take_u64(head, 8)?, take_u64(head, 16)?);
        let mut rest = Walk(body);
        let (puts, removals, ledger) = (rest.length()?, rest.length()?, rest.length()?);
        let ledger = rest.take(ledger as usize)?;
        Some(Self { number, oldest, ledger, length: frame.len(), puts, removals, entries: rest.0 })
    }

    pub(super) fn entries(&self) -> Entries<'a> {
        let begin = self.length - self.entries.len();
        Entries { end: self.length, begin, puts: self.puts, removals: self.removals, rest: Walk(self.entries) }
    }
}

/// Whether a whole frame after number `number` begins anywhere in `bytes`.
pub(super) fn resumes(bytes: &[u8], number: u64) -> bool {
    let starts = bytes.windows(MAGIC.len()).enumerate().filter(|(_, window)| *window == MAGIC);
    starts.into_iter().any(|(at, _)| Frame::parse(&bytes[at..]).is_some_and(|frame| frame.number > number))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// `bytes` is the put as it is stored, `at` its place in the frame.
    Put {
        key: &'a [u8],
        at: usize,
        bytes: &'a [u8],
    },
    Removal {
        key: &'a [u8],
    },
}

/// What a frame does, in order.
#[derive(Debug)]
pub(super) struct Entries<'a> {
    begin: usize,
    end: usize,
    puts: u32,
    removals: u32,
    rest: Walk<'a>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        if self.puts > 0 {
            self.puts -= 1;
            let stored = self.rest.0;
            let at = self.end - stored.len();
            debug_assert!(at >= self.begin);
            let (key, value) = pair(stored)?;
            let bytes = self.rest.take(COUNTS_BYTES - 4 + key.len() + value.len())?;
            return Some(Entry::Put { key, at, bytes });
        }
        self.removals = self.removals.checked_sub(1)?;
        let length = self.rest.length()?;
        Some(Entry::Removal { key: self.rest.take(length as usize)? })
    }
}

/// The key and the value of a put as it is stored.
pub(super) fn pair(stored: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = Walk(stored);
    let (key, value) = (rest.length()?, rest.length()?);
    Some((rest.take(key as usize)?, rest.take(value as usize)?))
}

#[derive(Debug)]
struct Walk<'a>(&'a [u8]);

impl<'a> Walk<'a> {
    fn length(&mut self) -> Option<u32> {
        let (length, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*length))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }
}

fn take_u64(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|number| u64::from_le_bytes(*number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), 0..max)
    }

    fn any_batch() -> impl Strategy<Value = Batch> {
        let puts = prop::collection::vec((bytes(20), bytes(60)), 0..6);
        let removals = prop::collection::vec(bytes(20), 0..6);
        (puts, removals, bytes(50)).prop_map(|(puts, removals, ledger)| Batch { puts, removals, ledger })
    }

    fn frame(number: u64, batch: &Batch, carried: &Carried) -> Vec<u8> {
        let mut bytes = vec![7; 3];
        assert!(encode(&mut bytes, number, 1, batch, carried));
        bytes
    }

    proptest! {
        #[test]
        fn a_frame_reads_back_as_it_was_written(batch in any_batch(), later in bytes(9)) {
            let whole = frame(8, &batch, &Carried::default());
            let read = Frame::parse(&whole).unwrap();
            prop_assert_eq!((read.number, read.oldest, read.ledger), (8, 1, &batch.ledger[..]));
            let (mut puts, mut removals) = (Vec::new(), Vec::new());
            for entry in read.entries() {
                match entry {
                    Entry::Put { at, bytes, .. } => {
                        prop_assert_eq!(&whole[at..at + bytes.len()], bytes);
                        puts.push(pair(bytes).map(|(key, value)| (key.to_vec(), value.to_vec())).unwrap());
                    }
                    Entry::Removal { key } => removals.push(key.to_vec()),
                }
            }
            prop_assert_eq!((&puts, &removals), (&batch.puts, &batch.removals));
            let followed = [&whole[..], &later].concat();
            prop_assert_eq!(Frame::parse(&followed).unwrap().length, whole.len());
        }

        #[test]
        fn what_is_carried_is_a_put_like_any_other(batch in any_batch()) {
            let whole = frame(1, &batch, &Carried::default());
            let mut carried = Carried::default();
            for entry in Frame::parse(&whole).unwrap().entries() {
                if let Entry::Put { bytes, .. } = entry {
                    carried.add(bytes);
                }
            }
            let again = frame(1, &Batch { puts: Vec::new(), ..batch }, &carried);
            prop_assert_eq!(again, whole);
        }

        #[test]
        fn one_flipped_bit_or_a_cut_is_noticed(batch in any_batch(), at in any::<prop::sample::Index>(), bit in 0..8) {
            let mut whole = frame(1, &batch, &Carried::default());
            let at = at.index(whole.len());
            prop_assert!(Frame::parse(&whole[..at]).is_none());
            whole[at] ^= 1u8 << bit;
            prop_assert!(Frame::parse(&whole).is_none());
        }

        #[test]
        fn any_bytes_are_a_frame_or_none(bytes in bytes(80)) {
            let _ = Frame::parse(&bytes);
            let _ = Frame::trusted(&bytes).map(|frame| frame.entries().count());
            prop_assert!(!resumes(&bytes, 0));
        }

        #[test]
        fn a_whole_frame_is_found_behind_what_cannot_be_read(before in bytes(40), number in 1u64..9) {
            let bytes = [before, frame(number, &Batch::default(), &Carried::default())].concat();
            prop_assert!(resumes(&bytes, number - 1));
            prop_assert!(!resumes(&bytes, number), "one of before is not what should follow");
        }
    }
}
