//! The same keys and values for everybody.

pub const VALUE_BYTES: usize = 1536;

/// Spread over the key space as objects of many owners are.
pub fn key(number: u64) -> String {
    let owner = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("group/things/-/{owner:016x}/default/the-name-of-a-thing-{number:08}")
}

/// JSON-like.
pub fn value(number: u64) -> Vec<u8> {
    let head = format!(r#"{{"number":{number},"data":""#);
    let data = bench::text::cut(number, VALUE_BYTES - 2 - head.len());
    format!(r#"{head}{data}"}}"#).into_bytes()
}
