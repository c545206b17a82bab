//! A value as it lies in etcd: the draft itself, because its revision is known only after etcd has taken it.
//!
//! ```text
//!   1  gap(4, u32::MAX: none)  the draft's bytes
//!   2  all that comes after a 1, sealed (`seal`)
//! ```

use crate::key::Key;
use crate::seal::{Locked, Seal};
use crate::txn::{Draft, Revision};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};

const FORMAT: u8 = 1;
const SEALED: u8 = 2;
const HEADER_BYTES: usize = 5;
const NO_GAP: u32 = u32::MAX;

/// Why bytes under our prefix are not a value of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Foreign {
    #[error("it is shorter than any value of ours")]
    Short,
    #[error("it has the unknown format {0}")]
    Format(u8),
    #[error("its gap lies at {gap}, after its end at {end}")]
    Gap { gap: u32, end: usize },
    #[error("it {0}")]
    Locked(Locked),
}

pub(super) fn encode(key: &Key, draft: &Draft, seal: &Seal) -> Vec<u8> {
    let mut plain = encode_plain(draft);
    match seal.seal(key, &plain[1..]) {
        Some(sealed) => {
            plain.truncate(1);
            plain[0] = SEALED;
            plain.extend(sealed);
            plain
        }
        None => plain,
    }
}

fn encode_plain(draft: &Draft) -> Vec<u8> {
    // No request to etcd comes near 4 GiB, so a gap beyond that is refused with the rest of it.
    let gap = draft.gap().map_or(NO_GAP, |gap| u32::try_from(gap).unwrap_or(NO_GAP));
    let mut bytes = Vec::with_capacity(HEADER_BYTES + draft.len());
    bytes.push(FORMAT);
    bytes.extend_from_slice(&gap.to_le_bytes());
    bytes.extend_from_slice(draft.bytes());
    bytes
}

pub(super) fn decode(key: &Key, bytes: Vec<u8>, seal: &Seal) -> Result<Draft, Foreign> {
    match bytes.split_first() {
        Some((&SEALED, sealed)) => {
            let mut opened = seal.open(key, sealed).map_err(Foreign::Locked)?;
            opened.insert(0, FORMAT);
            decode_plain(opened)
        }
        _ => decode_plain(bytes),
    }
}

fn decode_plain(bytes: Vec<u8>) -> Result<Draft, Foreign> {
    let bytes = Bytes::from(bytes);
    let [format, gap @ ..] = *bytes.first_chunk::<HEADER_BYTES>().ok_or(Foreign::Short)?;
    if format != FORMAT {
        return Err(Foreign::Format(format));
    }
    let draft = bytes.slice(HEADER_BYTES..);
    match u32::from_le_bytes(gap) {
        NO_GAP => Ok(Draft::plain(draft)),
        gap if gap as usize <= draft.len() => Ok(Draft::with_gap(draft, gap as usize)),
        gap => Err(Foreign::Gap { gap, end: draft.len() }),
    }
}

/// Reads values, and counts those that cannot be read.
///
/// A value that is not ours hides its key: to readers the key is absent, and was deleted if it had been there. To
/// writers it is there: etcd checks conditions, and the conflict names the revision of the foreign value. An
/// unconditional write or delete takes the key back.
///
/// A value that is sealed with a key we do not have is ours, and is not passed over: nothing after it can be read.
#[derive(Debug, Default)]
pub(super) struct Reading {
    seal: Seal,
    unreadable: AtomicU64,
}

/// Foreign values named in the log, one by one. If there are more, the prefix belongs to somebody else.
const NAMED_MAX: u64 = 100;

impl Reading {
    pub(super) fn new(seal: Seal) -> Self {
        Self { seal, ..Self::default() }
    }

    /// The value as every reader sees it; `None` if it is not ours.
    pub(super) fn value(&self, key: &Key, revision: Revision, bytes: Vec<u8>) -> Result<Option<Bytes>, String> {
        match decode(key, bytes, &self.seal) {
            Ok(draft) => Ok(Some(draft.stamped(revision))),
            Err(Foreign::Locked(why)) if why.wants_a_key() => {
                Err(format!("the value of {key} at revision {revision} {why}"))
            }
            Err(reason) => {
                if self.unreadable.fetch_add(1, Ordering::Relaxed) < NAMED_MAX {
                    tracing::error!(%key, %revision, %reason, "a foreign value hides this key");
                }
                Ok(None)
            }
        }
    }

    pub(super) fn unreadable(&self) -> u64 {
        self.unreadable.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seal::{Ring, SealKey};
    use proptest::prelude::*;

    fn sealing(secret: u8) -> Seal {
        Seal::new(Ring::new(vec![SealKey::new("a", &[secret; 32]).unwrap()], |_| Some(0)))
    }

    #[test]
    fn what_another_key_opens_is_not_taken_for_foreign() {
        let (key, revision) = (Key::new("k"), Revision(12));
        let sealed = encode(&key, &Draft::with_gap("rv=", 3), &sealing(1));
        assert_eq!(Reading::new(sealing(1)).value(&key, revision, sealed.clone()), Ok(Some("rv=12".into())));
        let why = Reading::new(sealing(2)).value(&key, revision, sealed.clone()).unwrap_err();
        assert_eq!(
            why,
            "the value of k at revision 12 is sealed with another key of the name \"a\" than the one given"
        );
        let moved = Reading::new(sealing(1));
        assert_eq!(moved.value(&Key::new("l"), revision, sealed), Ok(None));
        assert_eq!(moved.unreadable(), 1);
    }

    proptest! {
        #[test]
        fn a_draft_reads_back_as_it_was_written(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            gap in prop::option::of(0usize..400),
        ) {
            let draft = gap.map_or(Draft::plain(bytes.clone()), |gap| Draft::with_gap(bytes.clone(), gap));
            prop_assert_eq!(decode_plain(encode_plain(&draft)), Ok(draft.clone()));
            let (key, seal) = (Key::new("k"), sealing(1));
            let sealed = encode(&key, &draft, &seal);
            prop_assert_eq!(sealed[0], SEALED);
            prop_assert_eq!(decode(&key, sealed, &seal), Ok(draft));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(draft) = decode_plain(bytes.clone()) {
                prop_assert_eq!(encode_plain(&draft), bytes);
            }
        }

        #[test]
        fn whatever_has_our_format_is_decoded_or_its_gap_is_wrong(gap in any::<u32>(), rest in prop::collection::vec(any::<u8>(), 0..9)) {
            let bytes = [&[FORMAT][..], &gap.to_le_bytes(), &rest].concat();
            let expected = gap == NO_GAP || gap as usize <= rest.len();
            prop_assert_eq!(decode_plain(bytes).is_ok(), expected);
        }
    }

    #[test]
    fn foreign_values_are_passed_over_and_counted() {
        let reading = Reading::default();
        let (key, revision) = (Key::new("k"), Revision(12));
        let ours = encode_plain(&Draft::with_gap("rv=", 3));
        assert_eq!(reading.value(&key, revision, ours), Ok(Some("rv=12".into())));
        assert_eq!(reading.value(&key, revision, b"theirs".to_vec()), Ok(None));
        assert_eq!(reading.unreadable(), 1);
    }

    #[test]
    fn what_is_foreign_is_named() {
        let decode = decode_plain;
        assert_eq!(decode(b"1234".to_vec()), Err(Foreign::Short));
        assert_eq!(decode(b"{\"kind\":1}".to_vec()), Err(Foreign::Format(b'{')));
        assert_eq!(decode(vec![FORMAT, 3, 0, 0, 0, b'a']), Err(Foreign::Gap { gap: 3, end: 1 }));
    }
}
