//! How keys, values and numbers are written for people, and keys read back.

use std::fmt::Write as _;

/// The bytes that someone means who types a key as it is shown: `\x00`, `\n`, `\\` and the like stand for one byte.
pub(super) fn parse_key(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let (byte, length) = escape(&rest[at..]).ok_or_else(|| format!("unknown escape at `{}`", &rest[at..]))?;
        bytes.push(byte);
        rest = &rest[at + length..];
    }
    bytes.extend_from_slice(rest.as_bytes());
    Ok(bytes)
}

/// The byte that the escape at the start of `text` stands for, and how long it is.
fn escape(text: &str) -> Option<(u8, usize)> {
    let byte = match text.as_bytes().get(1)? {
        b'x' => return Some((u8::from_str_radix(text.get(2..4)?, 16).ok()?, 4)),
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        same @ (b'\\' | b'\'' | b'"') => *same,
        _ => return None,
    };
    Some((byte, 2))
}

/// A value on one line: text as it is, anything else escaped.
pub(super) fn value(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => text.to_owned(),
        _ => bytes.escape_ascii().to_string(),
    }
}

/// 1234567 as 1,234,567.
pub(super) fn number(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Rows under a head: the first column to the left, the last too if it is text of any length, numbers to the right.
pub(super) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]], text_at_end: bool) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).chain([head[column].len()]).max();
    let widths: [usize; N] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut out = String::new();
    for row in std::iter::once(head.map(str::to_owned)).chain(rows.iter().cloned()) {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let gap = if column == 0 { "" } else { "  " };
            let width = widths[column];
            let _ = match column {
                0 => write!(line, "{gap}{cell:width$}"),
                _ if column == N - 1 && text_at_end => write!(line, "{gap}{cell}"),
                _ => write!(line, "{gap}{cell:>width$}"),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_can_be_typed_as_it_is_shown() {
        for key in [&b"plain/key"[..], b"\0\x01\xff/\\ \"quoted\" 'too'\n\t\r", "gr\u{fc}n".as_bytes(), b""] {
            let shown = key.escape_ascii().to_string();
            assert_eq!(parse_key(&shown).as_deref(), Ok(key), "{shown}");
        }
        assert_eq!(parse_key("gr\u{fc}n").as_deref(), Ok("gr\u{fc}n".as_bytes()), "unescaped text is meant literally");
        for wrong in [r"\q", r"\x4", r"\xzz", "\\", "\\\u{fc}"] {
            assert!(parse_key(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn values_stay_on_one_line() {
        assert_eq!(value(br#"{"a":1}"#), r#"{"a":1}"#);
        assert_eq!(value(b"two\nlines"), r"two\nlines");
        assert_eq!(value(&[0xff, 0]), r"\xff\x00");
    }

    #[test]
    fn numbers_are_grouped() {
        let numbers = [0, 12, 999, 1000, 1_234_567].map(number);
        assert_eq!(numbers, ["0", "12", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a".to_owned(), "1".to_owned(), "x y".to_owned()], ["long".to_owned(), "22".into(), "z".into()]];
        assert_eq!(table(["key", "n", "value"], &rows, true), "key    n  value\na      1  x y\nlong  22  z\n");
    }
}
