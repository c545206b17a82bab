//! What Go says of JSON that is none, and of values that are of another type than they should be.

use serde_json::{Error, Value};

/// The words of Go's decoder for a text that `serde_json` could not read.
pub(super) fn words(text: &[u8], error: &Error) -> String {
    if error.is_eof() {
        return "unexpected end of JSON input".to_owned();
    }
    let said = error.to_string();
    let phrases = [
        ("trailing characters", "after top-level value"),
        ("expected value", "looking for beginning of value"),
        ("key must be a string", "looking for beginning of object key string"),
        ("trailing comma", "looking for beginning of object key string"),
        ("expected `:`", "after object key"),
        ("expected `,` or `}`", "after object key:value pair"),
        ("expected `,` or `]`", "after array element"),
    ];
    let phrase = phrases.into_iter().find(|(prefix, _)| said.starts_with(prefix));
    let line = text.split(|byte| *byte == b'\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    let found = line.get(error.column().saturating_sub(1)).copied().map(char::from);
    match (phrase, found) {
        (Some((_, phrase)), Some(found)) => format!("invalid character {found:?} {phrase}"),
        _ => said,
    }
}

/// What Go calls a JSON value.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value that does not fit into `what`, a field or a type.
pub(super) fn mismatch(value: &Value, what: &str) -> String {
    format!("json: cannot unmarshal {} into Go {what}", kind(value))
}
