//! Numbers and codes: UUIDs, ISBNs, colours and the like.

use std::sync::LazyLock;

use regex::Regex;

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

pub(super) fn is_object_id(text: &str) -> bool {
    text.len() == 24 && is_hex(text)
}

/// The dashes may be left out. `variant` if the fourth group must begin with 8, 9, a or b.
pub(super) fn is_uuid(text: &str, version: Option<char>, variant: bool) -> bool {
    let mut rest = text;
    let mut groups = [""; 5];
    for (group, length) in groups.iter_mut().zip([8, 4, 4, 4, 12]) {
        if length != 8 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((head, tail)) = rest.split_at_checked(length) else { return false };
        (*group, rest) = (head, tail);
    }
    let [_, _, third, fourth, _] = groups;
    rest.is_empty()
        && groups.iter().all(|group| is_hex(group))
        && version.is_none_or(|version| third.starts_with(version))
        && (!variant || fourth.starts_with(['8', '9', 'a', 'b', 'A', 'B']))
}

/// The digits, without dashes and blanks.
fn digits_of(text: &str) -> Vec<u8> {
    text.bytes().filter(|byte| !matches!(byte, b'-' | b'\t' | b'\n' | 0x0c | b'\r' | b' ')).collect()
}

pub(super) fn is_isbn10(text: &str) -> bool {
    let bytes = digits_of(text);
    let [digits @ .., last] = bytes.as_slice() else { return false };
    if digits.len() != 9 || !digits.iter().all(u8::is_ascii_digit) || !(last.is_ascii_digit() || *last == b'X') {
        return false;
    }
    let worth = |byte: &u8| if *byte == b'X' { 10 } else { usize::from(byte - b'0') };
    bytes.iter().enumerate().map(|(at, byte)| (at + 1) * worth(byte)).sum::<usize>() % 11 == 0
}

pub(super) fn is_isbn13(text: &str) -> bool {
    let bytes = digits_of(text);
    if bytes.len() != 13 || !bytes.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let sum: u32 = bytes[..12].iter().zip([1, 3].into_iter().cycle()).map(|(byte, f)| f * u32::from(byte - b'0')).sum();
    u32::from(bytes[12] - b'0') == (10 - sum % 10) % 10
}

static CARD: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let forms = "^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|\
                 3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$";
    Regex::new(forms).ok()
});

pub(super) fn is_credit_card(text: &str) -> bool {
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    if !CARD.as_ref().is_some_and(|forms| forms.is_match(&digits)) {
        return false;
    }
    let worth = |(at, byte): (usize, u8)| match u32::from(byte - b'0') {
        digit if at % 2 == 0 => digit,
        digit if digit >= 5 => digit * 2 - 9,
        digit => digit * 2,
    };
    digits.bytes().rev().enumerate().map(worth).sum::<u32>() % 10 == 0
}

pub(super) fn is_social_security_number(text: &str) -> bool {
    text.len() == 11
        && text.bytes().enumerate().all(|(at, byte)| match at {
            3 | 6 => matches!(byte, b'-' | b' '),
            _ => byte.is_ascii_digit(),
        })
}

pub(super) fn is_hex_color(text: &str) -> bool {
    let digits = text.strip_prefix('#').unwrap_or(text);
    matches!(digits.len(), 3 | 6) && is_hex(digits)
}

static COLOR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let part = "(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])";
    let blank = "[\\t\\n\\f\\r ]*";
    Regex::new(&format!(r"^rgb\({blank}{part}{blank},{blank}{part}{blank},{blank}{part}{blank}\)$")).ok()
});

pub(super) fn is_rgb_color(text: &str) -> bool {
    COLOR.as_ref().is_some_and(|form| form.is_match(text))
}

/// In the usual alphabet, padded, and of something.
pub(super) fn is_base64(text: &str) -> bool {
    let letters = text.trim_end_matches('=');
    !letters.is_empty()
        && text.len().is_multiple_of(4)
        && text.len() - letters.len() <= 2
        && letters.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/".contains(&byte))
}
