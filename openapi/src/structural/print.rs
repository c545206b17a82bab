//! Values as Go prints them in errors.

use serde_json::Value;

use super::value::{Number, number};
use crate::check::quote;

/// The value that an error shows: texts quoted, numbers plain, anything else as JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quote(text),
        Value::Number(given) => match number(given) {
            Number::Int(whole) => whole.to_string(),
            Number::Float(float) => plain(float),
        },
        _ => json(value),
    }
}

/// As Go's `%v` prints a float: with an exponent from a million on.
pub(super) fn plain(float: f64) -> String {
    let (sign, digits, exponent) = parts(float);
    if float == 0.0 || (-4..6).contains(&exponent) {
        decimal(sign, &digits, exponent)
    } else {
        let mark = if exponent < 0 { '-' } else { '+' };
        format!("{sign}{}e{mark}{:02}", pointed(&digits), exponent.unsigned_abs())
    }
}

/// A value as Go's JSON has it.
pub fn json(value: &Value) -> String {
    let mut out = String::new();
    push_json(&mut out, value);
    out
}

fn push_json(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => push_text(out, text),
        Value::Number(given) => match number(given) {
            Number::Int(whole) => out.push_str(&whole.to_string()),
            Number::Float(float) => out.push_str(&json_float(float)),
        },
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                push_json(out, item);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            out.push('{');
            for (at, (name, value)) in entries.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                push_text(out, name);
                out.push(':');
                push_json(out, value);
            }
            out.push('}');
        }
        _ => out.push_str(&value.to_string()),
    }
}

fn push_text(out: &mut String, text: &str) {
    for c in Value::from(text).to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            _ => out.push(c),
        }
    }
}

fn json_float(float: f64) -> String {
    let (sign, digits, exponent) = parts(float);
    if float == 0.0 || (-6..21).contains(&exponent) {
        return decimal(sign, &digits, exponent);
    }
    let mark = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{}e{mark}{}", pointed(&digits), exponent.unsigned_abs())
}

/// The sign, the fewest digits that tell the float from others, and the power of ten of the first.
fn parts(float: f64) -> (&'static str, String, i32) {
    let text = format!("{:e}", float.abs());
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let sign = if float.is_sign_negative() { "-" } else { "" };
    (sign, digits.replace('.', ""), exponent.parse().unwrap_or(0))
}

fn pointed(digits: &str) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}"),
        _ => digits.to_owned(),
    }
}

fn decimal(sign: &str, digits: &str, exponent: i32) -> String {
    let Ok(whole) = usize::try_from(exponent) else {
        return format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize - 1));
    };
    match digits.split_at_checked(whole + 1) {
        Some((head, tail)) if !tail.is_empty() => format!("{sign}{head}.{tail}"),
        _ => format!("{sign}{digits}{}", "0".repeat((whole + 1).saturating_sub(digits.len()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_printed_as_in_go() {
        let cases = [
            (0.0, "0", "0"),
            (1.0, "1", "1"),
            (-1.5, "-1.5", "-1.5"),
            (0.1, "0.1", "0.1"),
            (123456.0, "123456", "123456"),
            (1234567.0, "1.234567e+06", "1234567"),
            (0.00001, "1e-05", "0.00001"),
            (1e21, "1e+21", "1e+21"),
            (1e-7, "1e-07", "1e-7"),
            (100.25, "100.25", "100.25"),
        ];
        for (float, expected_plain, expected_json) in cases {
            assert_eq!(plain(float), expected_plain);
            assert_eq!(json_float(float), expected_json);
        }
    }
}
