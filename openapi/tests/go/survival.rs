//! Broken bytes and made-up objects: whatever happens to real objects on the way, there is an answer.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openapi::builtin::{Element, Field, Form, Type, table};
use openapi::protobuf::{decode, encode};
use openapi::{check, defaults, normalize};
use proptest::prelude::*;
use serde_json::{Map, Value};

static WIRES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
    super::lines("vectors.txt").into_iter().map(|[_, wire, _]| STANDARD.decode(wire).expect("base64")).collect()
});

#[test]
fn every_truncation_gives_an_answer() {
    // A longer run has more objects; every cut of a few hundred is enough.
    for wire in WIRES.iter().take(400) {
        for end in 0..wire.len() {
            let _ = decode(&wire[..end]);
        }
    }
}

proptest! {
    #[test]
    fn flipped_bits_give_an_answer(at in any::<prop::sample::Index>(), flips in prop::collection::vec(any::<u32>(), 1..6)) {
        let mut wire = WIRES[at.index(WIRES.len())].clone();
        for flip in flips {
            let bit = flip as usize % (wire.len() * 8);
            wire[bit / 8] ^= 1 << (bit % 8);
        }
        // What still decodes is an object like any other.
        if let Ok(found) = decode(&wire) {
            prop_assert!(encode(&found).is_ok());
        }
    }

    #[test]
    fn defaults_leave_an_object_in_form(kind in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let kinds: Vec<_> = table().kinds().collect();
        let (_, _, ty) = kinds[kind.index(kinds.len())];
        let mut object = Maker { state: seed | 1 }.object(ty, 0);
        normalize(&mut object, ty);
        defaults::apply(&mut object, ty);
        prop_assert_eq!(check(&object, ty), vec![]);
        let mut again = object.clone();
        normalize(&mut again, ty);
        prop_assert_eq!(super::difference(&again, &object), None);
        defaults::apply(&mut again, ty);
        prop_assert_eq!(super::difference(&again, &object), None);
    }

    #[test]
    fn objects_of_the_table_survive_a_round_trip(kind in any::<prop::sample::Index>(), seed in any::<u64>()) {
        let kinds: Vec<_> = table().kinds().filter(|(_, kind, ty)| ty.is_message && *kind != "WatchEvent").collect();
        let (api_version, kind, ty) = kinds[kind.index(kinds.len())];
        let mut object = Maker { state: seed | 1 }.object(ty, 0);
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        normalize(&mut object, ty);
        prop_assert_eq!(check(&object, ty), vec![]);
        let found = decode(&encode(&object).expect("encodes")).expect("decodes");
        prop_assert_eq!(super::difference(&found, &object), None);
    }
}

/// Makes objects out of the table alone.
struct Maker {
    state: u64,
}

impl Maker {
    fn next(&mut self, below: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state % below
    }

    fn object(&mut self, ty: &'static Type, depth: u64) -> Value {
        let mut map = Map::new();
        // Protobuf has no room for the kind of an object inside of another.
        let typed = ty.fields.iter().any(|field| field.is_inline() && field.number == 0);
        for field in ty.json_fields().filter(|field| !typed || !["apiVersion", "kind"].contains(&field.name)) {
            // Protobuf cannot tell an empty list from none, nor a required one from null: always fill those.
            let needed = field.required && matches!(field.form, Form::List | Form::Map);
            if (needed && depth < 12) || self.next(3 + depth * 2) == 0 {
                map.insert(field.name.to_owned(), self.field(field, depth));
            }
        }
        Value::Object(map)
    }

    fn field(&mut self, field: &'static Field, depth: u64) -> Value {
        match field.form {
            Form::One | Form::Pointer => self.element(field, depth),
            Form::List => (0..=self.next(2)).map(|_| self.element(field, depth)).collect(),
            Form::Map => (0..=self.next(2)).map(|at| (format!("k{at}"), self.element(field, depth))).collect(),
        }
    }

    fn element(&mut self, field: &'static Field, depth: u64) -> Value {
        match field.element {
            Element::Struct(id) => self.object(id.get(), depth + 1),
            Element::String => ["", "a", "ü\n\"", "x.example.com"][self.next(4) as usize].into(),
            Element::Bool | Element::SchemaOrBool => (self.next(2) == 0).into(),
            Element::Int32 => [0, 1, i64::from(i32::MIN), i64::from(i32::MAX)][self.next(4) as usize].into(),
            Element::Int64 => [0, -1, i64::MIN, i64::MAX][self.next(4) as usize].into(),
            Element::Float64 => [0.5, -0.25, 3.0, 1e300][self.next(4) as usize].into(),
            Element::Bytes => ["YQ==", "AAD/", "YWJjZA=="][self.next(3) as usize].into(),
            Element::Time => ["2024-02-29T23:59:59Z", "1969-12-31T23:59:59Z"][self.next(2) as usize].into(),
            Element::MicroTime => {
                ["2024-02-29T23:59:59.000001Z", "1969-12-31T23:59:59.999999Z"][self.next(2) as usize].into()
            }
            Element::Quantity => ["0", "100m", "1Gi", "1.5", "3e9"][self.next(5) as usize].into(),
            Element::IntOrString => {
                if self.next(2) == 0 {
                    "25%".into()
                } else {
                    (-7).into()
                }
            }
            Element::Strings => ["a", "b"].into_iter().collect(),
            Element::SchemaOrArray | Element::SchemaOrStrings => self.object(schema(), depth + 4),
            Element::RawExtension | Element::FieldsV1 | Element::Json => {
                serde_json::json!({"a": [1, null, {"b": "c"}], "n": self.next(9)})
            }
            Element::Any => Value::Null,
        }
    }
}

fn schema() -> &'static Type {
    table().types.iter().find(|ty| ty.name == "JSONSchemaProps").expect("the schema type")
}
