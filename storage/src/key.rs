//! Keys and ranges of keys: the only coordinates this crate knows.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A key: a non-empty string of bytes, ordered as bytes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Arc<[u8]>);

impl Key {
    pub fn new(bytes: impl AsRef<[u8]>) -> Self {
        Self(Arc::from(bytes.as_ref()))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The first key after this one, in byte order.
    pub fn successor(&self) -> Self {
        let mut bytes = Vec::with_capacity(self.0.len() + 1);
        bytes.extend_from_slice(&self.0);
        bytes.push(0);
        Self::new(bytes)
    }
}

impl<T: AsRef<[u8]>> From<T> for Key {
    fn from(bytes: T) -> Self {
        Self::new(bytes)
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

/// The keys from `start` (included) to `end` (excluded; `None` means no upper end).
///
/// A range is never inverted; an empty one is allowed and contains nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyRange {
    start: Key,
    end: Option<Key>,
}

/// The start of the range lies after its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("inverted range: {start} lies after {end}")]
pub struct Inverted {
    pub start: Key,
    pub end: Key,
}

impl KeyRange {
    pub fn all() -> Self {
        Self { start: Key::new([]), end: None }
    }

    /// Every key that begins with `prefix`.
    pub fn prefix(prefix: impl AsRef<[u8]>) -> Self {
        let prefix = prefix.as_ref();
        Self { start: Key::new(prefix), end: after_prefix(prefix) }
    }

    /// Just this key.
    pub fn key(key: impl Into<Key>) -> Self {
        let start = key.into();
        let end = Some(start.successor());
        Self { start, end }
    }

    pub fn between(start: impl Into<Key>, end: impl Into<Key>) -> Result<Self, Inverted> {
        let (start, end) = (start.into(), end.into());
        if start > end {
            return Err(Inverted { start, end });
        }
        Ok(Self { start, end: Some(end) })
    }

    /// What is left of this range after `key`: where a list continues.
    pub fn after(&self, key: &Key) -> Self {
        let start = key.successor().max(self.start.clone());
        let end = self.end.clone().map(|end| end.max(start.clone()));
        Self { start, end }
    }

    pub fn start(&self) -> &Key {
        &self.start
    }

    pub fn end(&self) -> Option<&Key> {
        self.end.as_ref()
    }

    pub fn is_empty(&self) -> bool {
        self.end.as_ref() == Some(&self.start)
    }

    pub fn contains(&self, key: &[u8]) -> bool {
        key >= self.start.as_bytes() && self.end.as_ref().is_none_or(|end| key < end.as_bytes())
    }

    /// The longest prefix that every key of this range begins with: where the watcher index files it.
    ///
    /// `[ab, ac)` covers exactly what begins with `ab`; `[ab1, ab7)` is found under `ab`; `[a, z)` under the root.
    pub(crate) fn covering_prefix(&self) -> &[u8] {
        let start = self.start.as_bytes();
        let Some(end) = &self.end else { return &[] };
        if after_prefix(start).as_ref() == Some(end) {
            return start;
        }
        let shared = start.iter().zip(end.as_bytes()).take_while(|(a, b)| a == b).count();
        &start[..shared]
    }
}

/// The first key that sorts after everything beginning with `prefix`; `None` if nothing does (`""`, `"\xff\xff"`).
fn after_prefix(prefix: &[u8]) -> Option<Key> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(Key::new(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_contains_what_begins_with_it_and_nothing_else() {
        let range = KeyRange::prefix("a/b/");
        for (key, inside) in [("a/b/", true), ("a/b/c", true), ("a/b/\u{7f}", true), ("a/b", false), ("a/c", false)] {
            assert_eq!(range.contains(key.as_bytes()), inside, "{key}");
        }
        assert!(KeyRange::prefix([0xff, 0xff]).contains(&[0xff, 0xff, 3]));
        assert!(!KeyRange::prefix([0xff, 0xff]).contains(&[0xff, 0xfe]));
        assert!(KeyRange::prefix("").contains(b"anything"));
    }

    #[test]
    fn one_key_is_a_range() {
        let range = KeyRange::key("a");
        assert!(range.contains(b"a") && !range.contains(b"a\0") && !range.contains(b"b"));
    }

    #[test]
    fn inverted_ranges_are_refused_and_empty_ones_contain_nothing() {
        let refused = KeyRange::between("b", "a").unwrap_err();
        assert_eq!(refused.to_string(), "inverted range: b lies after a");
        let empty = KeyRange::between("a", "a").unwrap();
        assert!(empty.is_empty() && !empty.contains(b"a"));
    }

    #[test]
    fn a_list_continues_after_its_last_key_and_never_leaves_the_range() {
        let range = KeyRange::prefix("a/");
        assert!(!range.after(&Key::new("a/m")).contains(b"a/m"));
        assert!(range.after(&Key::new("a/m")).contains(b"a/m\0"));
        assert!(range.after(&Key::new("z")).is_empty());
        assert_eq!(range.after(&Key::new("A")), range);
    }

    #[test]
    fn every_range_is_filed_under_a_prefix_of_all_its_keys() {
        let filed = |range: &KeyRange| range.covering_prefix().to_vec();
        assert_eq!(filed(&KeyRange::prefix("ab")), b"ab");
        assert_eq!(filed(&KeyRange::prefix([7, 0xff])), [7, 0xff]);
        assert_eq!(filed(&KeyRange::key("ab")), b"ab");
        assert_eq!(filed(&KeyRange::between("ab1", "ab7").unwrap()), b"ab");
        assert_eq!(filed(&KeyRange::between("a", "z").unwrap()), b"");
        assert_eq!(filed(&KeyRange::all()), b"");
    }
}
