//! JSON that remembers which fields were said twice. The last one counts, as ever.

use super::Read;
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use std::fmt;

/// Complaints about one body; more would only be more of the same.
const COMPLAINTS_MAX: usize = 100;

pub(super) fn read(bytes: &[u8]) -> Result<Read, serde_json::Error> {
    let mut seen = Seen::default();
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let tree = Node { seen: &mut seen }.deserialize(&mut text)?;
    text.end()?;
    Ok(Read { tree, complaints: seen.complaints })
}

/// Where each complaint that a body could give rise to belongs among the others: an unknown field where it stands, one
/// that is said twice where it stands again. Only worth its cost when there is something to complain of.
pub(super) fn places(bytes: &[u8]) -> HashMap<String, usize> {
    let mut seen = Seen { places: Some(HashMap::new()), ..Seen::default() };
    // A body that was read before can be read again.
    let _ = Node { seen: &mut seen }.deserialize(&mut serde_json::Deserializer::from_slice(bytes));
    seen.places.unwrap_or_default()
}

#[derive(Default)]
struct Seen {
    path: String,
    complaints: Vec<String>,
    places: Option<HashMap<String, usize>>,
}

impl Seen {
    fn once(&mut self) {
        self.place("unknown");
    }

    fn place(&mut self, what: &str) {
        if let Some(places) = &mut self.places {
            let next = places.len();
            places.entry(format!("{what} field {:?}", self.path)).or_insert(next);
        }
    }

    fn twice(&mut self) {
        self.place("duplicate");
        let complaint = format!("duplicate field {:?}", self.path);
        if self.complaints.len() < COMPLAINTS_MAX && !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }
}

struct Node<'a> {
    seen: &'a mut Seen,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let length = self.seen.path.len();
        loop {
            self.seen.path.push_str(&format!("[{}]", list.len()));
            let item = items.next_element_seed(Node { seen: self.seen })?;
            self.seen.path.truncate(length);
            match item {
                Some(item) => list.push(item),
                None => return Ok(Value::Array(list)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let length = self.seen.path.len();
        while let Some(name) = entries.next_key::<String>()? {
            if length > 0 {
                self.seen.path.push('.');
            }
            self.seen.path.push_str(&name);
            if map.contains_key(&name) {
                self.seen.twice();
            } else {
                self.seen.once();
            }
            let value = entries.next_value_seed(Node { seen: self.seen })?;
            self.seen.path.truncate(length);
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_twice_is_noticed_and_the_last_word_counts() {
        let text = br#"{"a":1,"spec":{"x":1,"l":[{"n":1,"n":2}],"x":2},"a":3}"#;
        let read = read(text).unwrap();
        assert_eq!(read.tree.to_string(), r#"{"a":3,"spec":{"l":[{"n":2}],"x":2}}"#);
        let expected = [r#"duplicate field "spec.l[0].n""#, r#"duplicate field "spec.x""#, r#"duplicate field "a""#];
        assert_eq!(read.complaints, expected);
    }

    #[test]
    fn nesting_has_a_bound() {
        let deep = [b"[".repeat(100_000), b"]".repeat(100_000)].concat();
        assert!(read(&deep).is_err());
    }

    proptest! {
        #[test]
        fn it_reads_what_everybody_reads(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let plain = serde_json::from_slice::<Value>(&bytes).ok();
            prop_assert_eq!(read(&bytes).ok().map(|read| read.tree), plain);
        }
    }
}
