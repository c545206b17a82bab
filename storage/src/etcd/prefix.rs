//! Where in etcd a store lives.

use crate::key::Key;

/// Every key of the store begins with it, and the key that is nothing but the prefix is the store's marker: no store
/// has an empty key. It ends with a slash, so that no store lies inside the range of another by accident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prefix(Vec<u8>);

impl Prefix {
    pub(super) fn new(name: &str) -> Self {
        let mut bytes = name.as_bytes().to_vec();
        if !bytes.ends_with(b"/") {
            bytes.push(b'/');
        }
        Self(bytes)
    }

    /// The marker, which is also the first key of the range.
    pub(super) fn marker(&self) -> Vec<u8> {
        self.0.clone()
    }

    /// The first key after the range.
    pub(super) fn end(&self) -> Vec<u8> {
        let mut end = self.0.clone();
        // The last byte is a slash: the next one is no carry.
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        end
    }

    pub(super) fn key(&self, key: &Key) -> Vec<u8> {
        [&self.0, key.as_bytes()].concat()
    }

    /// The store's name for a key in etcd; `None` for the marker and for what lies elsewhere.
    pub(super) fn strip(&self, stored: &[u8]) -> Option<Key> {
        stored.strip_prefix(&*self.0).filter(|key| !key.is_empty()).map(Key::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_there_and_back_and_others_do_not() {
        let prefix = Prefix::new("/stores/a");
        assert_eq!(prefix, Prefix::new("/stores/a/"));
        assert_eq!(prefix.key(&Key::new([0, 0xff])), b"/stores/a/\0\xff");
        assert_eq!(prefix.strip(b"/stores/a/\0\xff"), Some(Key::new([0, 0xff])));
        assert_eq!(prefix.strip(&prefix.marker()), None);
        assert_eq!(prefix.strip(b"/stores/ab/k"), None);
    }

    #[test]
    fn the_range_holds_its_keys_and_no_neighbour() {
        let prefix = Prefix::new("");
        let range = prefix.marker()..prefix.end();
        assert!(range.contains(&prefix.key(&Key::new([0xff; 9]))));
        assert!(range.contains(&prefix.marker()));
        assert!(!Prefix::new("a").end().starts_with(b"a/") && !range.contains(&b"0".to_vec()));
    }
}
