//! The letters of Go's regular expressions: classes, counts and escapes.

use std::str::Chars;

const DIGIT: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = "\\t\\n\\x0C\\r ";

pub(super) const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

pub(super) fn perl_class(letter: char) -> Option<(bool, &'static str)> {
    let class = match letter.to_ascii_lowercase() {
        'd' => DIGIT,
        'w' => WORD,
        's' => SPACE,
        _ => return None,
    };
    Some((letter.is_ascii_uppercase(), class))
}

pub(super) fn push_literal(out: &mut String, literal: char) {
    if literal.is_ascii() && !literal.is_ascii_alphanumeric() {
        out.push_str(&format!("\\x{:02X}", u32::from(literal)));
    } else {
        out.push(literal);
    }
}

/// The bytes, the least and the most of a repetition in braces.
pub(super) fn counts(text: &str) -> Option<(usize, i64, Option<i64>)> {
    let inner = text.strip_prefix('{')?;
    let end = inner.find('}')?;
    let (min, max) = match inner[..end].split_once(',') {
        None => (count(&inner[..end])?, Some(count(&inner[..end])?)),
        Some((min, "")) => (count(min)?, None),
        Some((min, max)) => (count(min)?, Some(count(max)?)),
    };
    Some((end + 2, min, max))
}

fn count(digits: &str) -> Option<i64> {
    let disallowed = digits.len() > 1 && digits.starts_with('0');
    if digits.is_empty() || disallowed || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(digits.parse().unwrap_or(i64::MAX))
}

pub(super) fn hexadecimal(rest: &mut Chars<'_>) -> Option<char> {
    let first = rest.next()?;
    if first != '{' {
        let (high, low) = (first.to_digit(16), rest.next()?.to_digit(16));
        return char::from_u32(high? * 16 + low?);
    }
    let mut value: Option<u32> = None;
    loop {
        match rest.next()? {
            '}' => return value.and_then(char::from_u32),
            digit => value = Some(value.unwrap_or(0).checked_mul(16)? + digit.to_digit(16)?),
        }
        value.filter(|value| *value <= 0x0010_FFFF)?;
    }
}

/// Up to three digits, of which the first is read. One alone, but for zero, would refer to a group.
pub(super) fn octal(first: char, rest: &mut Chars<'_>) -> Option<char> {
    let mut value = first.to_digit(8)?;
    let mut digits = 1;
    while digits < 3
        && let Some(digit) = rest.as_str().chars().next().and_then(|next| next.to_digit(8))
    {
        rest.next();
        value = value * 8 + digit;
        digits += 1;
    }
    if digits == 1 && first != '0' { None } else { char::from_u32(value) }
}
