//! What is known of an object in a cell, packed: there may be a hundred thousand of them, and what they say is mostly numbers
//! that are written as text.
//!
//! ```text
//!   is there a version(1) version(8)
//!   name generation(8) deleting(1) uid source fields status-fields    status, as JSON, if there is one
//!
//!   a text: its length and one more, in as few bytes as that needs, and its bytes
//!   or, where it says a number in the usual way: 0 and that number
//! ```

use super::Actual;
use crate::apis::uid;
use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};

/// How much stands before what matters of an object.
const VERSION_BYTES: usize = 9;
/// Stands where the length of a text would, and says that a number follows.
const NUMBER: usize = 0;
/// How long a hash is as text.
const HASH_DIGITS: usize = 16;

/// An object under its name as of a version of it; versions that cannot be compared are none.
#[derive(Clone, Debug)]
pub(super) struct Kept(Box<[u8]>);

impl Kept {
    pub(super) fn new(name: &str, version: Option<u64>, actual: &Actual) -> Self {
        let Actual { uid, source, fields, status_fields, generation, deleting, status } = actual;
        let mut bytes = Vec::with_capacity(128);
        bytes.push(u8::from(version.is_some()));
        bytes.extend_from_slice(&version.unwrap_or_default().to_le_bytes());
        put(&mut bytes, name, None::<[u8; 0]>);
        bytes.extend_from_slice(&generation.to_le_bytes());
        bytes.push(u8::from(*deleting));
        for text in [uid, source] {
            put(&mut bytes, text, uid::packed(text));
        }
        for text in [fields, status_fields] {
            put(&mut bytes, text, hash_of(text).map(u64::to_le_bytes));
        }
        if let Some(status) = status {
            bytes.extend_from_slice(status.to_string().as_bytes());
        }
        Self(bytes.into())
    }

    pub(super) fn version(&self) -> Option<u64> {
        let mut parts = Parts(&self.0);
        let is_known = parts.byte() == 1;
        let version = u64::from_le_bytes(parts.bytes());
        is_known.then_some(version)
    }

    pub(super) fn name(&self) -> &str {
        self.parts().text()
    }

    pub(super) fn actual(&self) -> Actual {
        let mut parts = self.parts();
        parts.text();
        Actual {
            generation: i64::from_le_bytes(parts.bytes()),
            deleting: parts.byte() == 1,
            uid: parts.text_or(uid::text),
            source: parts.text_or(uid::text),
            fields: parts.text_or(hash_text),
            status_fields: parts.text_or(hash_text),
            status: serde_json::from_slice(parts.0).ok(),
        }
    }

    /// Whether they say the same, of whatever version.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.parts().0 == other.parts().0
    }

    fn parts(&self) -> Parts<'_> {
        Parts(self.0.get(VERSION_BYTES..).unwrap_or_default())
    }
}

/// Writes a text, or the number that it says.
fn put<const BYTES: usize>(bytes: &mut Vec<u8>, text: &str, number: Option<[u8; BYTES]>) {
    if let Some(number) = number {
        put_length(bytes, NUMBER);
        bytes.extend_from_slice(&number);
    } else {
        put_length(bytes, text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
    }
}

/// Seven bits a byte, the lowest first; the highest bit says that more follow.
fn put_length(bytes: &mut Vec<u8>, mut length: usize) {
    while length > 0x7f {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
}

/// The number that a hash is, if it is written as ours are.
fn hash_of(text: &str) -> Option<u64> {
    let is_ours = text.len() == HASH_DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    u64::from_str_radix(text, 16).ok().filter(|_| is_ours)
}

fn hash_text(bytes: [u8; 8]) -> String {
    format!("{:016x}", u64::from_le_bytes(bytes))
}

/// What is left to be read. What is not there is empty.
struct Parts<'a>(&'a [u8]);

impl<'a> Parts<'a> {
    fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(length).unwrap_or_default();
        self.0 = rest;
        taken
    }

    fn bytes<const BYTES: usize>(&mut self) -> [u8; BYTES] {
        self.take(BYTES).try_into().unwrap_or([0; BYTES])
    }

    fn byte(&mut self) -> u8 {
        let [byte] = self.bytes();
        byte
    }

    fn length(&mut self) -> usize {
        let (mut length, mut shift) = (0, 0);
        loop {
            let byte = self.byte();
            length |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 || shift >= usize::BITS {
                return length;
            }
        }
    }

    fn text(&mut self) -> &'a str {
        let length = self.length().saturating_sub(1);
        str::from_utf8(self.take(length)).unwrap_or_default()
    }

    fn text_or<const BYTES: usize>(&mut self, of_number: fn([u8; BYTES]) -> String) -> String {
        match self.length() {
            NUMBER => of_number(self.bytes()),
            length => str::from_utf8(self.take(length - 1)).unwrap_or_default().to_owned(),
        }
    }
}

/// Objects by their names, which are not kept again.
#[derive(Debug, Default)]
pub(super) struct Objects {
    hasher: RandomState,
    table: HashTable<Kept>,
}

impl Objects {
    pub(super) fn get(&self, name: &str) -> Option<&Kept> {
        self.table.find(self.hasher.hash_one(name), |kept| kept.name() == name)
    }

    pub(super) fn put(&mut self, now: Kept) {
        let Self { hasher, table } = self;
        let hash = |kept: &Kept| hasher.hash_one(kept.name());
        match table.find_mut(hash(&now), |kept| kept.name() == now.name()) {
            Some(kept) => *kept = now,
            None => {
                table.insert_unique(hash(&now), now, hash);
            }
        }
    }

    pub(super) fn remove(&mut self, name: &str) {
        if let Ok(found) = self.table.find_entry(self.hasher.hash_one(name), |kept| kept.name() == name) {
            found.remove();
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Kept> {
        self.table.iter()
    }
}

impl FromIterator<Kept> for Objects {
    fn from_iter<I: IntoIterator<Item = Kept>>(all: I) -> Self {
        let mut objects = Self::default();
        all.into_iter().for_each(|kept| objects.put(kept));
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_is_what_was_known() {
        let long = "x".repeat(20_000);
        let texts = [
            "",
            "u",
            "a\nb",
            "0f8fad5b-d9cb-469f-a165-70867728950e",
            "0F8FAD5B-D9CB-469F-A165-70867728950E",
            "0123456789abcdef",
            "0123456789ABCDEF",
            "+123456789abcdef",
            "ffffffffffffffff",
            "\u{fc}\u{0}\u{1f980}",
            &long[..126],
            &long[..127],
            &long[..128],
            &long,
        ];
        let statuses = [None, Some(json!({ "x": "1\n2" })), Some(json!(7)), Some(json!([]))];
        for (nth, text) in texts.iter().enumerate() {
            for other in texts {
                let actual = Actual {
                    uid: (*text).to_owned(),
                    source: other.to_owned(),
                    fields: (*text).to_owned(),
                    status_fields: other.to_owned(),
                    generation: [0, 1, -1, i64::MAX, i64::MIN][nth % 5],
                    deleting: nth % 2 == 0,
                    status: statuses[nth % 4].clone(),
                };
                let version = [None, Some(0), Some(u64::MAX)][nth % 3];
                let kept = Kept::new(other, version, &actual);
                assert_eq!((kept.name(), kept.version(), kept.actual()), (other, version, actual.clone()));
                assert!(kept.says_the_same(&Kept::new(other, Some(5), &actual)));
                assert!(!kept.says_the_same(&Kept::new("another", version, &actual)));
            }
        }
    }

    #[test]
    fn an_object_costs_little_more_than_the_numbers_in_it() {
        let uid = "0f8fad5b-d9cb-469f-a165-70867728950e".to_owned();
        let actual = Actual {
            source: uid.clone(),
            uid,
            fields: "0123456789abcdef".to_owned(),
            status_fields: String::new(),
            generation: 1,
            deleting: false,
            status: None,
        };
        let name = "default/a-name-of-usual-length";
        assert_eq!(Kept::new(name, Some(7), &actual).0.len() - name.len(), 63);
    }

    #[test]
    fn objects_are_found_by_their_names_when_there_are_many() {
        let actual = |uid: u32| Actual {
            uid: uid.to_string(),
            source: String::new(),
            fields: String::new(),
            status_fields: String::new(),
            generation: 0,
            deleting: false,
            status: None,
        };
        let mut objects: Objects = (0..3000).map(|nth| Kept::new(&format!("n/{nth}"), None, &actual(nth))).collect();
        for nth in (0..3000).filter(|nth| nth % 3 == 0) {
            objects.remove(&format!("n/{nth}"));
            objects.put(Kept::new(&format!("n/{}", nth + 1), None, &actual(7)));
        }
        for nth in 0..3000 {
            let expected = [None, Some("7".to_owned()), Some(nth.to_string())][nth % 3].clone();
            assert_eq!(objects.get(&format!("n/{nth}")).map(|kept| kept.actual().uid), expected);
        }
        assert_eq!(objects.iter().count(), 2000);
    }
}
