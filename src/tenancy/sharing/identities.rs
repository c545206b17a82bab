//! Which exports have an identity.

use super::words::EXPORTS;
use crate::tenancy::index::Digest;
use apiserver::keyspace;
use apiserver::object::Peek;
use std::collections::{BTreeSet, HashMap};
use storage::Key;

/// Workspace and name of those who share a key share an identity.
#[derive(Debug, Default)]
pub(in crate::tenancy) struct Identities {
    exports: HashMap<String, BTreeSet<(String, String)>>,
}

impl Identities {
    /// Where exports are that have an identity, and what they are called.
    pub(super) fn of(&self, identity: &str) -> Vec<(String, String)> {
        self.exports.get(identity).into_iter().flatten().cloned().collect()
    }
}

impl Digest for Identities {
    const OF: (&'static str, &'static str, &'static str) = EXPORTS;

    fn note(&mut self, key: &Key, before: Option<&[u8]>, now: Option<&[u8]>) {
        let Some(parts) = keyspace::parse(key) else { return };
        let place = (parts.workspace.to_owned(), parts.name.to_owned());
        let identity = |bytes: &[u8]| Peek::of(bytes).text(&["status", "identityHash"]).map(|hash| hash.into_owned());
        if let Some(old) = before.and_then(identity)
            && let Some(places) = self.exports.get_mut(&old)
        {
            places.remove(&place);
            if places.is_empty() {
                self.exports.remove(&old);
            }
        }
        if let Some(new) = now.and_then(identity) {
            self.exports.entry(new).or_default().insert(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_are_known_by_the_identity_that_they_have_now() {
        let mut known = Identities::default();
        let key = |name: &str| Key::new(format!("apis.kcp.io/apiexports/-/w//{name}"));
        let says = |hash: &str| format!(r#"{{"status":{{"identityHash":"{hash}"}}}}"#);
        let place = |name: &str| ("w".to_owned(), name.to_owned());
        known.note(&key("a"), None, Some(b"{}"));
        known.note(&key("a"), Some(b"{}"), Some(says("h").as_bytes()));
        known.note(&key("b"), None, Some(says("h").as_bytes()));
        assert_eq!(known.of("h"), [place("a"), place("b")]);
        known.note(&key("a"), Some(says("h").as_bytes()), None);
        known.note(&key("b"), Some(says("h").as_bytes()), Some(says("i").as_bytes()));
        assert_eq!((known.of("h"), known.of("i")), (vec![], vec![place("b")]));
        assert_eq!(known.exports.len(), 1);
    }
}
