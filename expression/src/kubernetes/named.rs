//! The texts that Kubernetes has names for: labels, subdomains, UUIDs. Each check tells what is wrong, in its words.

use super::uri;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

const LABEL_LENGTH: usize = 63;
const SUBDOMAIN_LENGTH: usize = 253;

pub(super) fn dns_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, LABEL_LENGTH, "characters");
    if !is_label(text) {
        wrong.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
                        and end with an alphanumeric character";
            mismatch(rule, &["my-name", "123-abc"], LABEL)
        });
    }
    wrong
}

pub(super) fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut wrong = too_long(text, SUBDOMAIN_LENGTH, unit);
    if !is_subdomain(text) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                    start and end with an alphanumeric character";
        wrong.push(mismatch(rule, &["example.com"], SUBDOMAIN));
    }
    wrong
}

pub(super) fn dns_old_label(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, LABEL_LENGTH, "characters");
    if !is_label(text) || text.starts_with(|first: char| first.is_ascii_digit()) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                    character, and end with an alphanumeric character";
        wrong.push(mismatch(rule, &["my-name", "abc-123"], OLD_LABEL));
    }
    wrong
}

/// A name that something will be appended to may end with a dash.
pub(super) fn as_prefix(check: fn(&str) -> Vec<String>, text: &str) -> Vec<String> {
    match text.strip_suffix('-') {
        // Kubernetes masks the dash and what stands before it.
        Some(name) if !name.is_empty() => {
            let mut name = name.to_owned();
            name.pop();
            check(&(name + "a"))
        }
        _ => check(text),
    }
}

/// A key of a label: a name, with a subdomain and a slash before it or without.
pub(super) fn qualified_name(text: &str) -> Vec<String> {
    let rule = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
                character";
    let mismatch = mismatch(rule, &["MyName", "my.name", "123-abc"], NAME);
    let mut wrong = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        ["", name] => {
            wrong.push("prefix part must be non-empty".to_owned());
            name
        }
        [prefix, name] => {
            wrong.extend(subdomain(prefix, "bytes").iter().map(|why| format!("prefix part {why}")));
            name
        }
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {mismatch} {optional}")];
        }
    };
    if name.is_empty() {
        wrong.push("name part must be non-empty".to_owned());
    }
    wrong.extend(too_long(name, LABEL_LENGTH, "bytes").iter().map(|why| format!("name part {why}")));
    if !is_name(name) {
        wrong.push(format!("name part {mismatch}"));
    }
    wrong
}

pub(super) fn label_value(text: &str) -> Vec<String> {
    let mut wrong = too_long(text, LABEL_LENGTH, "bytes");
    if !text.is_empty() && !is_name(text) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                    start and end with an alphanumeric character";
        wrong.push(mismatch(rule, &["MyValue", "my_value", "12345"], VALUE));
    }
    wrong
}

pub(super) fn uri(text: &str) -> Vec<String> {
    uri::parse_request(text).err().into_iter().collect()
}

pub(super) fn uuid(text: &str) -> Vec<String> {
    let mut rest = text;
    let is_uuid = [8, 4, 4, 4, 12].iter().enumerate().all(|(index, length)| {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let digits = rest.bytes().take(*length).take_while(u8::is_ascii_hexdigit).count();
        rest = &rest[digits..];
        digits == *length
    });
    unless(is_uuid && rest.is_empty(), "does not match the UUID format")
}

/// Base64, and something of it.
pub(super) fn byte(text: &str) -> Vec<String> {
    let digits = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    unless(!text.is_empty() && text.len().is_multiple_of(4) && digits.bytes().all(is_digit), "invalid base64")
}

pub(super) fn date(text: &str) -> Vec<String> {
    unless(is_date(text), "invalid date")
}

/// What stands after a second `t` does not count.
pub(super) fn datetime(text: &str) -> Vec<String> {
    let text = text.to_lowercase();
    let mut parts = text.split('t');
    let is_valid = parts.next().is_some_and(is_date) && parts.next().is_some_and(is_clock);
    unless(is_valid, "invalid datetime")
}

fn unless(is_valid: bool, message: &str) -> Vec<String> {
    if is_valid { Vec::new() } else { vec![message.to_owned()] }
}

fn too_long(text: &str, length: usize, unit: &str) -> Vec<String> {
    unless(text.len() <= length, &format!("must be no more than {length} {unit}"))
}

fn mismatch(rule: &str, examples: &[&str], pattern: &str) -> String {
    format!("{rule} (e.g. '{}', regex used for validation is '{pattern}')", examples.join("',  or '"))
}

fn is_label(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !text.is_empty() && text.bytes().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_end = |end: Option<u8>| end.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.bytes().all(is_inner) && is_end(text.bytes().next()) && is_end(text.bytes().last())
}

/// `2006-01-02`, of a day that there is.
fn is_date(text: &str) -> bool {
    crate::time::read_date(text).is_ok()
}

/// `15:04:05`, a fraction after any character, and a zone, all in small letters.
fn is_clock(text: &str) -> bool {
    let bytes = text.as_bytes();
    let two = |at: usize| match bytes.get(at..at + 2) {
        Some([tens @ b'0'..=b'9', ones @ b'0'..=b'9']) => Some((tens - b'0') * 10 + ones - b'0'),
        _ => None,
    };
    let is_time = two(0).is_some_and(|hour| hour <= 23)
        && [3, 6].iter().all(|at| bytes[at - 1] == b':' && two(*at).is_some_and(|sixtieth| sixtieth <= 59));
    is_time && text.get(8..).is_some_and(|rest| is_zone(rest) || is_zone(without_fraction(rest)))
}

fn without_fraction(text: &str) -> &str {
    let mut rest = text.chars();
    rest.next();
    let digits = rest.as_str();
    let after = digits.trim_start_matches(|digit: char| digit.is_ascii_digit());
    if after.len() < digits.len() { after } else { text }
}

fn is_zone(text: &str) -> bool {
    match text.as_bytes() {
        b"z" => true,
        [b'+' | b'-', hours @ .., b':', one, two] => {
            hours.len() == 2 && hours.iter().chain([one, two]).all(u8::is_ascii_digit)
        }
        _ => false,
    }
}
