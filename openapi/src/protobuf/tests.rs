//! The corners of the wire format: what Go accepts, what it refuses, and what nobody should survive by luck.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::wire::Writer;
use super::*;
use crate::builtin::kind;

/// An enveloped object of the core group from bytes that nobody has checked.
fn enveloped(kind: &str, message: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.prepend(message);
    Envelope::seal("v1", kind, writer)
}

fn decoded(kind: &str, message: &[u8]) -> Result<Value, DecodeError> {
    decode(&enveloped(kind, message))
}

/// A field that holds bytes.
fn part(number: u8, bytes: &[u8]) -> Vec<u8> {
    assert!(number < 16 && bytes.len() < 128);
    [&[number << 3 | 2, bytes.len() as u8], bytes].concat()
}

#[test]
fn the_envelope_is_as_go_writes_it() {
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
    let bytes = encode(&object).unwrap();
    assert_eq!(&bytes[..21], b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace");
    assert_eq!(&bytes[bytes.len() - 4..], b"\x1a\0\x22\0");
    let envelope = Envelope::open(&bytes).unwrap();
    assert_eq!((envelope.api_version, envelope.kind), ("v1", "Namespace"));
    let expected =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}, "spec": {}, "status": {}});
    assert_eq!(decode(&bytes), Ok(expected.clone()));
    assert_eq!(
        decode_message(kind("", "v1", "Namespace").unwrap(), envelope.message).unwrap()["metadata"],
        expected["metadata"]
    );
    assert_eq!(encode_message(kind("", "v1", "Namespace").unwrap(), &object).unwrap(), envelope.message);
}

#[test]
fn what_is_no_object_is_refused() {
    assert_eq!(decode(b""), Err(DecodeError::NoMagic));
    assert_eq!(decode(b"{}"), Err(DecodeError::NoMagic));
    assert_eq!(decode(b"k8s\0"), Err(DecodeError::NoKind));
    assert_eq!(decode(&Envelope::seal("v1", "", Writer::default())), Err(DecodeError::NoKind));
    let unknown = DecodeError::UnknownKind { api_version: "v1".to_owned(), kind: "Table".to_owned() };
    assert_eq!(decoded("Table", b""), Err(unknown));
    // It is a kind, but it has no protobuf form.
    assert!(encode(&json!({"apiVersion": "meta.k8s.io/v1", "kind": "Table"})).is_err());
    assert!(encode(&json!([])).is_err());
}

#[test]
fn malformed_messages_are_refused_as_in_go() {
    let refused = |message: &[u8]| decoded("Secret", message).unwrap_err();
    assert_eq!(refused(b"\x0a"), DecodeError::Truncated);
    assert_eq!(refused(b"\x0a\x05a"), DecodeError::Truncated);
    assert_eq!(refused(b"\x02\x00"), DecodeError::Malformed("illegal tag"));
    assert_eq!(refused(b"\x0c"), DecodeError::Malformed("wiretype end group for non-group"));
    assert_eq!(refused(b"\x08\x01"), DecodeError::WireType { field: "metadata", wire: 0 });
    assert_eq!(refused(b"\x2a\x00"), DecodeError::WireType { field: "immutable", wire: 2 });
    assert_eq!(refused(&[0xff; 11]), DecodeError::Malformed("integer overflow"));
    let long = [b"\x0a".as_slice(), &[0xff; 9], b"\x01"].concat();
    assert_eq!(refused(&long), DecodeError::Malformed("negative length found during unmarshaling"));
    assert_eq!(refused(b"\xfb\x01\x08\x01"), DecodeError::Truncated);
    assert_eq!(refused(b"\xf6\x01"), DecodeError::Malformed("illegal wireType"));
}

#[test]
fn unknown_fields_are_skipped_groups_and_all() {
    let unknown =
        [b"\xf8\x01\x05".as_slice(), b"\xf9\x01\0\0\0\0\0\0\0\0", b"\xfd\x01\0\0\0\0", b"\xfa\x01\x01x"].concat();
    let group = b"\xfb\x01\x0b\x08\x01\x0c\xfc\x01";
    let message = [&unknown, group.as_slice(), &part(3, b"Opaque")].concat();
    assert_eq!(decoded("Secret", &message).unwrap()["type"], "Opaque");
}

#[test]
fn a_message_in_parts_adds_up_and_the_last_scalar_wins() {
    let parts = [part(1, &part(1, b"name")), part(1, &part(3, b"space")), part(3, b"a"), part(3, b"")].concat();
    let found = decoded("Secret", &parts).unwrap();
    assert_eq!(found["metadata"], json!({"name": "name", "namespace": "space"}));
    assert_eq!(found.get("type"), None);
}

#[test]
fn repeated_numbers_come_packed_or_not() {
    // PodSpec.securityContext.supplementalGroups
    let groups =
        [b"\x20\x05".as_slice(), &part(4, b"\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), b"\x20\x06"].concat();
    let found = decoded("Pod", &part(2, &part(14, &groups))).unwrap();
    assert_eq!(found["spec"]["securityContext"]["supplementalGroups"], json!([5, 1, -1, 6]));
}

#[test]
fn text_that_is_not_utf8_is_replaced_byte_by_byte() {
    let found = decoded("Secret", &part(3, b"a\xe2\x82\xff\xed\xa0\x80z")).unwrap();
    assert_eq!(found["type"], "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}\u{fffd}z");
}

#[test]
fn a_time_that_json_cannot_say_is_refused() {
    // ObjectMeta.creationTimestamp, the year 10000.
    let created = |seconds: &[u8]| decoded("Secret", &part(1, &part(8, &[b"\x08", seconds].concat())));
    assert_eq!(created(b"\xff\x82\xd1\xff\xaf\x07").unwrap()["metadata"]["creationTimestamp"], "9999-12-31T23:59:59Z");
    let why = "year outside of range [0,9999]".to_owned();
    assert_eq!(created(b"\x80\x83\xd1\xff\xaf\x07"), Err(DecodeError::Value { field: "creationTimestamp", why }));
}

#[test]
fn raw_json_may_be_an_enveloped_object_again() {
    let secret = encode(&json!({"apiVersion": "v1", "kind": "Secret", "type": "Opaque"})).unwrap();
    let list = part(2, &part(1, &secret));
    let found = decoded("List", &list).unwrap();
    assert_eq!(found["items"][0]["type"], "Opaque");
    let broken = decoded("List", &part(2, &part(1, b"{"))).unwrap_err();
    assert!(matches!(broken, DecodeError::Value { field: "items", .. }), "{broken}");
}

#[test]
fn a_watch_event_wraps_encoded_bytes() {
    let secret = encode(&json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}})).unwrap();
    let event = encode_watch_event("ADDED", &secret);
    let found = decode_message(kind("meta.k8s.io", "v1", "WatchEvent").unwrap(), &event).unwrap();
    assert_eq!((&found["type"], &found["object"]["metadata"]["name"]), (&json!("ADDED"), &json!("a")));
}

#[test]
fn depth_is_bounded() {
    let crd = |levels: usize| {
        let mut schema = json!({"type": "string"});
        for _ in 0..levels {
            schema = json!({"type": "object", "properties": {"a": schema}});
        }
        let version = json!({"name": "v1", "schema": {"openAPIV3Schema": schema}});
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"versions": [version]}})
    };
    let reachable = decode(&encode(&crd(60)).unwrap()).unwrap();
    // What protobuf can say, JSON can say back.
    assert_eq!(serde_json::from_str::<Value>(&reachable.to_string()).unwrap(), reachable);
    assert_eq!(decode(&encode(&crd(62)).unwrap()), Err(DecodeError::TooDeep));
    let mut list = encode(&json!({"apiVersion": "v1", "kind": "Secret"})).unwrap();
    for _ in 0..70 {
        let mut writer = Writer::default();
        writer.bytes_field(1, &list);
        writer.close(2, 0);
        list = Envelope::seal("v1", "List", writer);
    }
    assert_eq!(decode(&list), Err(DecodeError::TooDeep));
}

#[test]
fn weight_is_bounded() {
    // Empty containers: two bytes each, an object of most of a kilobyte each.
    let mut writer = Writer::default();
    writer.prepend(&[0x12, 0].repeat(WEIGHT_MAX / OBJECT_WEIGHT));
    writer.close(2, 0);
    assert_eq!(decode(&Envelope::seal("v1", "Pod", writer)), Err(DecodeError::TooHeavy));
}

#[test]
fn what_has_no_protobuf_form_names_its_field() {
    let refused =
        |spec: Value| encode(&json!({"apiVersion": "v1", "kind": "Pod", "spec": spec})).unwrap_err().to_string();
    assert_eq!(refused(json!({"containers": [{"name": 5}]})), "spec.containers.name: not a string");
    assert_eq!(refused(json!({"priority": 3_000_000_000_u32})), "spec.priority: not a 32-bit integer");
    assert_eq!(refused(json!({"nodeSelector": {"a": true}})), "spec.nodeSelector.a: not a string");
    assert_eq!(refused(json!({"volumes": {}})), "spec.volumes: not a list");
    assert!(refused(json!({"overhead": {"cpu": "a"}})).starts_with("spec.overhead.cpu: quantities must match"));
}

const KINDS: [&str; 6] = ["Pod", "Secret", "Service", "List", "Event", "Status"];

proptest! {
    #[test]
    fn no_bytes_panic(kind in 0..KINDS.len(), message in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&message);
        let _ = decoded(KINDS[kind], &message);
    }

    /// Bytes that look like fields reach further than plain noise.
    #[test]
    fn no_fields_panic(
        kind in 0..KINDS.len(),
        fields in proptest::collection::vec((1u8..40, 0u8..6, proptest::collection::vec(any::<u8>(), 0..12)), 0..30),
    ) {
        let mut message = Vec::new();
        for (number, wire, bytes) in fields {
            message.extend(u16::from(number).checked_mul(8).map(|tag| tag as u8 & 0x78 | wire));
            message.push(bytes.len() as u8);
            message.extend(bytes);
        }
        let nested = [part(2, &message[..message.len().min(120)]), part(1, &message[..message.len().min(100)])].concat();
        let _ = decoded(KINDS[kind], &message);
        let _ = decoded(KINDS[kind], &nested);
    }
}
