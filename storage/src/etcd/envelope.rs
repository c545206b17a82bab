//! A value as it lies in etcd: the draft itself, because its revision is known only after etcd has taken it.
//!
//! ```text
//!   format(1)  gap(4, u32::MAX: none)  the draft's bytes
//! ```

use crate::key::Key;
use crate::txn::{Draft, Revision};
use bytes::Bytes;
use std::sync::atomic::{AtomicU64, Ordering};

const FORMAT: u8 = 1;
const HEADER_BYTES: usize = 5;
const NO_GAP: u32 = u32::MAX;

/// Why bytes under our prefix are not a value of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Foreign {
    #[error("it is shorter than any value of ours")]
    Short,
    #[error("it has the unknown format {0}")]
    Format(u8),
    #[error("its gap lies at {gap}, after its end at {end}")]
    Gap { gap: u32, end: usize },
}

pub(super) fn encode(draft: &Draft) -> Vec<u8> {
    // No request to etcd comes near 4 GiB, so a gap beyond that is refused with the rest of it.
    let gap = draft.gap().map_or(NO_GAP, |gap| u32::try_from(gap).unwrap_or(NO_GAP));
    let mut bytes = Vec::with_capacity(HEADER_BYTES + draft.len());
    bytes.push(FORMAT);
    bytes.extend_from_slice(&gap.to_le_bytes());
    bytes.extend_from_slice(draft.bytes());
    bytes
}

pub(super) fn decode(bytes: Vec<u8>) -> Result<Draft, Foreign> {
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
#[derive(Debug, Default)]
pub(super) struct Reading {
    unreadable: AtomicU64,
}

/// Foreign values named in the log, one by one. If there are more, the prefix belongs to somebody else.
const NAMED_MAX: u64 = 100;

impl Reading {
    /// The value as every reader sees it; `None` if it is not ours.
    pub(super) fn value(&self, key: &Key, revision: Revision, bytes: Vec<u8>) -> Option<Bytes> {
        match decode(bytes) {
            Ok(draft) => Some(draft.stamped(revision)),
            Err(reason) => {
                if self.unreadable.fetch_add(1, Ordering::Relaxed) < NAMED_MAX {
                    tracing::error!(%key, %revision, %reason, "a foreign value hides this key");
                }
                None
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
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_draft_reads_back_as_it_was_written(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            gap in prop::option::of(0usize..400),
        ) {
            let draft = gap.map_or(Draft::plain(bytes.clone()), |gap| Draft::with_gap(bytes.clone(), gap));
            prop_assert_eq!(decode(encode(&draft)), Ok(draft));
        }

        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(draft) = decode(bytes.clone()) {
                prop_assert_eq!(encode(&draft), bytes);
            }
        }

        #[test]
        fn whatever_has_our_format_is_decoded_or_its_gap_is_wrong(gap in any::<u32>(), rest in prop::collection::vec(any::<u8>(), 0..9)) {
            let bytes = [&[FORMAT][..], &gap.to_le_bytes(), &rest].concat();
            let expected = gap == NO_GAP || gap as usize <= rest.len();
            prop_assert_eq!(decode(bytes).is_ok(), expected);
        }
    }

    #[test]
    fn foreign_values_are_passed_over_and_counted() {
        let reading = Reading::default();
        let (key, revision) = (Key::new("k"), Revision(12));
        let ours = encode(&Draft::with_gap("rv=", 3));
        assert_eq!(reading.value(&key, revision, ours), Some("rv=12".into()));
        assert_eq!(reading.value(&key, revision, b"theirs".to_vec()), None);
        assert_eq!(reading.unreadable(), 1);
    }

    #[test]
    fn what_is_foreign_is_named() {
        assert_eq!(decode(b"1234".to_vec()), Err(Foreign::Short));
        assert_eq!(decode(b"{\"kind\":1}".to_vec()), Err(Foreign::Format(b'{')));
        assert_eq!(decode(vec![FORMAT, 3, 0, 0, 0, b'a']), Err(Foreign::Gap { gap: 3, end: 1 }));
    }
}
