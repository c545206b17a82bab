//! Quantities as written, and as Go prints them.

use openapi::scalar::quantity::{canonical, canonical_in_milli};

#[test]
fn quantities_print_as_in_go() {
    for [text, expected, rounded] in super::lines("quantities.txt") {
        let found = canonical(&text).map_or_else(|error| format!("!{error}"), |text| text.into_owned());
        assert_eq!(found, expected, "{text:?}");
        let found = canonical_in_milli(&text).map_or_else(|error| format!("!{error}"), |text| text.into_owned());
        assert_eq!(found, rounded, "{text:?} in thousandths");
    }
}

#[test]
fn above_the_last_suffix_the_magnitude_stays() {
    assert_eq!(canonical("1000E").unwrap(), "1000E");
    assert_eq!(canonical("2010000.E").unwrap(), "2010000E");
}
