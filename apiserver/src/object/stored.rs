//! Objects as bytes: how they are stored, and what can be seen of them without reading them whole.

use super::Object;
use super::scan::{find, same};
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::{Map, Value};
use std::borrow::Cow;
use storage::{Draft, Revision, Version};

const RESOURCE_VERSION: [&str; 2] = ["metadata", "resourceVersion"];

/// An object on its way into the store. Its revision is filled in when it is known.
pub fn draft(mut object: Object) -> Draft {
    draft_of(&mut object)
}

/// The same of an object that is still needed; it has no revision then.
pub(crate) fn draft_of(object: &mut Object) -> Draft {
    object.set_metadata("resourceVersion", "");
    let bytes = object.as_tree(|tree| tree.to_string().into_bytes());
    match find(&bytes, &RESOURCE_VERSION) {
        // Between the two quotes.
        Some((start, _)) => Draft::with_gap(bytes, start + 1),
        None => Draft::plain(bytes),
    }
}

/// The same object as of another revision: a deleted object carries the revision of its deletion.
pub fn with_revision(bytes: &Bytes, revision: Revision) -> Bytes {
    let Some((start, value)) = find(bytes, &RESOURCE_VERSION) else { return bytes.clone() };
    let mut changed = BytesMut::with_capacity(bytes.len() + 20);
    changed.put_slice(&bytes[..=start]);
    changed.put_slice(revision.to_string().as_bytes());
    changed.put_slice(&bytes[start + value.len() - 1..]);
    changed.freeze()
}

/// The same object with an annotation, whose name and value need no escaping.
pub fn with_annotation(bytes: &Bytes, name: &str, value: &str) -> Bytes {
    let Some((metadata, inner)) = find(bytes, &["metadata"]) else { return bytes.clone() };
    let (at, text) = match find(bytes, &["metadata", "annotations"]) {
        Some((start, b"{}")) => (start + 1, format!("{name:?}:{value:?}")),
        Some((start, [b'{', ..])) => match find(bytes, &["metadata", "annotations", name]) {
            Some((old, was)) => return replaced(bytes, old..old + was.len(), &format!("{value:?}")),
            None => (start + 1, format!("{name:?}:{value:?},")),
        },
        Some((null, was)) => return replaced(bytes, null..null + was.len(), &format!("{{{name:?}:{value:?}}}")),
        None => {
            let comma = if inner == b"{}" { "" } else { "," };
            (metadata + 1, format!("\"annotations\":{{{name:?}:{value:?}}}{comma}"))
        }
    };
    replaced(bytes, at..at, &text)
}

fn replaced(bytes: &Bytes, range: std::ops::Range<usize>, text: &str) -> Bytes {
    if bytes[range.clone()] == *text.as_bytes() {
        return bytes.clone();
    }
    let mut changed = BytesMut::with_capacity(bytes.len() + text.len());
    changed.put_slice(&bytes[..range.start]);
    changed.put_slice(text.as_bytes());
    changed.put_slice(&bytes[range.end..]);
    changed.freeze()
}

/// A stored object, of which only what is asked for is read.
#[derive(Clone, Copy, Debug)]
pub struct Peek<'a>(&'a [u8]);

impl<'a> Peek<'a> {
    pub fn new(version: &'a Version) -> Self {
        Self(&version.value)
    }

    pub fn of(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn labels(self) -> Option<Map<String, Value>> {
        self.value(&["metadata", "labels"])
    }

    pub fn metadata(self) -> Option<Map<String, Value>> {
        self.value(&["metadata"])
    }

    /// The text of a string, or of any other scalar.
    pub fn text(self, path: &[&str]) -> Option<Cow<'a, str>> {
        let (_, value) = find(self.0, path)?;
        match value {
            b"null" => None,
            [b'"', inner @ .., b'"'] if !inner.contains(&b'\\') => str::from_utf8(inner).ok().map(Cow::Borrowed),
            [b'"', ..] => serde_json::from_slice::<String>(value).ok().map(Cow::Owned),
            _ => str::from_utf8(value).ok().map(Cow::Borrowed),
        }
    }

    /// Reads one part of the object.
    pub fn value<T: serde::de::DeserializeOwned>(self, path: &[&str]) -> Option<T> {
        serde_json::from_slice(find(self.0, path)?.1).ok()
    }

    /// Whether another says the same, whatever the two say under these paths.
    pub fn is_same_but(self, other: Peek<'_>, but: &[&[&str]]) -> bool {
        same(self.0, other.0, but)
    }

    /// The bytes of one part of the object.
    pub fn raw(self, path: &[&str]) -> Option<&'a [u8]> {
        find(self.0, path).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(tree: Value) -> Object {
        tree.try_into().unwrap()
    }

    #[test]
    fn an_object_is_stored_with_the_revision_of_its_commit() {
        let draft = draft(object(json!({"involved": {"resourceVersion": "7"}, "metadata": {"name": "a\"b"}})));
        let stored = draft.stamped(Revision(42));
        assert_eq!(stored, r#"{"involved":{"resourceVersion":"7"},"metadata":{"name":"a\"b","resourceVersion":"42"}}"#);
        let deleted = with_revision(&stored, Revision(1234));
        assert_eq!(Object::parse(&deleted).unwrap().resource_version(), "1234");
        assert_eq!(Peek::of(&deleted).text(&["metadata", "name"]).unwrap(), "a\"b");
    }

    #[test]
    fn an_annotation_is_put_on_an_object_without_reading_the_rest() {
        let check = |stored: &'static str, expected: &str| {
            assert_eq!(with_annotation(&Bytes::from_static(stored.as_bytes()), "a.b/c", "x"), expected, "{stored}");
        };
        check(r#"{"metadata":{}}"#, r#"{"metadata":{"annotations":{"a.b/c":"x"}}}"#);
        check(r#"{"metadata":{"name":"n"},"d":1}"#, r#"{"metadata":{"annotations":{"a.b/c":"x"},"name":"n"},"d":1}"#);
        check(r#"{"metadata":{"annotations":{}}}"#, r#"{"metadata":{"annotations":{"a.b/c":"x"}}}"#);
        check(r#"{"metadata":{"annotations":null}}"#, r#"{"metadata":{"annotations":{"a.b/c":"x"}}}"#);
        check(r#"{"metadata":{"annotations":{"k":"v"}}}"#, r#"{"metadata":{"annotations":{"a.b/c":"x","k":"v"}}}"#);
        check(r#"{"metadata":{"annotations":{"a.b/c":"y"}}}"#, r#"{"metadata":{"annotations":{"a.b/c":"x"}}}"#);
        check(r#"{"kind":"odd"}"#, r#"{"kind":"odd"}"#);
    }
}
