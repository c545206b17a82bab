//! The same objects as Go writes them, in protobuf and in JSON: both directions, byte for byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openapi::protobuf::{decode, encode};
use serde_json::Value;

use super::difference;

struct Vector {
    name: String,
    both: bool,
    wire: Vec<u8>,
    json: Value,
}

fn vectors() -> impl Iterator<Item = Vector> {
    super::lines("vectors.txt").into_iter().map(|[direction, wire, json]| {
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let name = format!("{} {}", json["apiVersion"], json["kind"]);
        Vector { name, both: direction == "both", wire: STANDARD.decode(wire).expect("base64"), json }
    })
}

#[test]
fn protobuf_decodes_to_what_go_prints() {
    for Vector { name, wire, json, .. } in vectors() {
        let found = decode(&wire).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(difference(&found, &json), None, "{name}");
    }
}

#[test]
fn json_encodes_to_the_bytes_of_go() {
    let mut seen = 0;
    for Vector { name, wire, json, .. } in vectors().filter(|vector| vector.both) {
        let found = encode(&json).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(decode(&found), Ok(json), "{name}");
        assert!(found == wire, "{name}: other bytes\n {found:?}\n {wire:?}");
        seen += 1;
    }
    assert!(seen > 250, "only {seen} vectors go both ways");
}
