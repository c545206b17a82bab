//! Times as written, and as Go prints them.

use openapi::scalar::time::{Instant, Precision};
use serde_json::Value;

fn reading(text: &str, precision: Precision) -> String {
    match Instant::parse(text, precision) {
        Ok(instant) => instant.text(precision).map_or(Value::Null, Value::String).to_string(),
        Err(error) => format!("!{error}"),
    }
}

#[test]
fn times_read_and_print_as_in_go() {
    for [text, seconds, micros] in super::lines("times.txt") {
        let text: String = serde_json::from_str(&text).unwrap();
        assert_eq!(reading(&text, Precision::Seconds), seconds);
        assert_eq!(reading(&text, Precision::Micros), micros);
    }
}
