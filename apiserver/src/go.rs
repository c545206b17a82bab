//! How Go's error texts name and show values.

use std::fmt::Write;

use serde_json::{Number, Value};

/// The Go type that holds the value. Two numbers may be of different types.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "%!s(<nil>)",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// How Go's JSON decoder names a kind of value.
pub(crate) fn word(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// As `%v` prints it.
pub(crate) fn shown(value: &Value) -> String {
    let mut text = String::new();
    show(&mut text, value, false);
    text
}

/// As `%s` prints it, which complains of whatever is not a text.
pub(crate) fn shown_as_text(value: &Value) -> String {
    let mut text = String::new();
    show(&mut text, value, true);
    text
}

fn show(text: &mut String, value: &Value, as_text: bool) {
    match value {
        Value::String(string) => text.push_str(string),
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                text.push_str(if at > 0 { " " } else { "" });
                show(text, item, as_text);
            }
            text.push(']');
        }
        Value::Object(entries) => {
            text.push_str("map[");
            for (at, (key, value)) in entries.iter().enumerate() {
                text.push_str(if at > 0 { " " } else { "" });
                text.push_str(key);
                text.push(':');
                show(text, value, as_text);
            }
            text.push(']');
        }
        Value::Null if !as_text => text.push_str("<nil>"),
        Value::Null => text.push_str("%!s(<nil>)"),
        scalar => {
            let plain = match scalar {
                Value::Number(number) => shown_number(number),
                other => other.to_string(),
            };
            // Writing to a string cannot fail.
            let _ = match as_text {
                true => write!(text, "%!s({}={plain})", type_of(scalar)),
                false => write!(text, "{plain}"),
            };
        }
    }
}

fn shown_number(number: &Number) -> String {
    let float = match number.as_f64() {
        Some(float) if !number.is_i64() => float,
        _ => return number.to_string(),
    };
    let scientific = format!("{float:e}");
    match scientific.split_once('e').and_then(|(digits, exponent)| Some((digits, exponent.parse::<i32>().ok()?))) {
        Some((digits, exponent)) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => float.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_look_as_go_prints_them() {
        let value = json!({"b": [1, -2.5, null, "x y", true], "a": {}, "c": [1e6, 1e-7, 100.0, u64::MAX]});
        assert_eq!(shown(&value), "map[a:map[] b:[1 -2.5 <nil> x y true] c:[1e+06 1e-07 100 1.8446744073709552e+19]]");
        let text = "[%!s(int64=1) a %!s(<nil>) %!s(bool=true) %!s(float64=0.5)]";
        assert_eq!(shown_as_text(&json!([1, "a", null, true, 0.5])), text);
    }
}
