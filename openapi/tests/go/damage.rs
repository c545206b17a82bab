//! Damaged protobuf: Go and we read the same, or both give up.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use openapi::protobuf::decode;

#[test]
fn damaged_bytes_mean_the_same_as_in_go() {
    let (mut read, mut refused) = (0, 0);
    for [wire, expected] in super::lines("damaged.txt") {
        let found = decode(&STANDARD.decode(&wire).expect("base64"));
        match (found, expected.as_str()) {
            (Err(_), "") => {}
            (Ok(found), "") => panic!("{wire}: Go refuses this, we read {found}"),
            (Err(_), _) => refused += 1,
            (Ok(found), _) => {
                let expected = serde_json::from_str(&expected).expect("JSON");
                assert_eq!(super::difference(&found, &expected), None, "{wire}");
                read += 1;
            }
        }
    }
    // In the entries of a map Go does not look at wire types, and lets a key run on past its entry. We do not.
    assert!(read > 30 && refused * 50 < read, "{refused} refused, {read} read");
}
