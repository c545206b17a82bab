//! How a value is printed that a path has led to.

use crate::go;
use serde_json::{Number, Value};

/// A scalar as Go prints it, a list or a map as Go's JSON: whole numbers without a fraction, and nothing in it that HTML
/// would read as its own.
pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::Array(_) | Value::Object(_) => {
            let mut text = String::new();
            write_json(&mut text, value);
            text
        }
        scalar => go::shown(scalar),
    }
}

fn write_json(text: &mut String, value: &Value) {
    match value {
        Value::String(string) => write_text(text, string),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                text.push(if at == 0 { '[' } else { ',' });
                write_json(text, item);
            }
            text.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(fields) => {
            for (at, (name, value)) in fields.iter().enumerate() {
                text.push(if at == 0 { '{' } else { ',' });
                write_text(text, name);
                text.push(':');
                write_json(text, value);
            }
            text.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
        Value::Number(number) => text.push_str(&shown_number(number)),
        scalar => text.push_str(&scalar.to_string()),
    }
}

fn write_text(text: &mut String, string: &str) {
    for c in Value::from(string).to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
}

fn shown_number(number: &Number) -> String {
    let float = match number.as_f64() {
        Some(float) if !number.is_i64() => float,
        _ => return number.to_string(),
    };
    let size = float.abs();
    if size != 0.0 && !(1e-6..1e21).contains(&size) {
        // Go writes a sign even where it is a plus.
        let scientific = format!("{float:e}");
        return if scientific.contains("e-") { scientific } else { scientific.replace('e', "e+") };
    }
    float.to_string()
}
