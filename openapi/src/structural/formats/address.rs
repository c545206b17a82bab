//! Addresses of machines.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;

static LETTER_OR_SYMBOL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[\p{S}\p{L}]$").ok());
static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());

fn is_in(class: &LazyLock<Option<Regex>>, c: char) -> bool {
    class.as_ref().is_some_and(|class| class.is_match(c.encode_utf8(&mut [0; 4])))
}

/// A letter, digit or symbol of any script.
fn is_sign(c: char) -> bool {
    c.is_ascii_alphanumeric() || is_in(&LETTER_OR_SYMBOL, c)
}

/// One label with at most a dash after its first sign, or a domain.
pub(super) fn is_host_name(text: &str) -> bool {
    let short = text.len() <= 255 && text.split('.').all(|label| label.len() <= 63);
    short && (is_single_label(text) || is_domain(text))
}

fn is_single_label(text: &str) -> bool {
    let mut rest = text.chars();
    let Some(first) = rest.next() else { return false };
    let rest = rest.as_str();
    is_sign(first) && rest.strip_prefix('-').unwrap_or(rest).chars().all(is_sign)
}

fn is_domain(text: &str) -> bool {
    let Some((labels, top)) = text.rsplit_once('.') else { return false };
    let is_label = |label: &str| {
        let ends = [label.chars().next(), label.chars().next_back()];
        ends.iter().all(|end| end.is_some_and(is_sign)) && label.chars().all(|c| c == '-' || is_sign(c))
    };
    let is_letter = |c: char| c.is_ascii_alphabetic() || is_in(&LETTER, c);
    (2..=63).contains(&top.chars().count()) && top.chars().all(is_letter) && labels.split('.').all(is_label)
}

/// Zeros may lead.
fn is_dotted(text: &str) -> bool {
    let is_octet = |part: &str| {
        let digits = part.trim_start_matches('0');
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && digits.len() <= 3
            && digits.parse::<u32>().unwrap_or(0) <= 255
    };
    text.split('.').count() == 4 && text.split('.').all(is_octet)
}

/// Also an IPv6 address that ends in an IPv4 one.
pub(super) fn is_ipv4(text: &str) -> bool {
    is_dotted(text) || (text.contains('.') && text.parse::<Ipv6Addr>().is_ok())
}

pub(super) fn is_ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

pub(super) fn is_cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max = match (is_dotted(address), is_ipv6(address)) {
        (true, _) => 32,
        (false, true) => 128,
        (false, false) => return false,
    };
    !bits.is_empty()
        && bits.bytes().all(|byte| byte.is_ascii_digit())
        && bits.parse::<u32>().is_ok_and(|bits| bits <= max)
}

/// 6, 8 or 20 octets: `00:00:5e:00:53:01`, `00-00-…`, `0000.5e00.5301`, `00005e005301`.
pub(super) fn is_mac(text: &str) -> bool {
    let separator = match (text.as_bytes().get(2), text.as_bytes().get(4)) {
        (Some(b':'), _) => Some((':', 2)),
        (Some(b'-'), _) => Some(('-', 2)),
        (_, Some(b'.')) => Some(('.', 4)),
        _ => None,
    };
    let is_hex = |group: &str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    let octets = match separator {
        None => is_hex(text).then_some(text.len()),
        Some((separator, length)) => {
            let mut groups = text.split(separator);
            groups.all(|group| group.len() == length && is_hex(group)).then(|| text.split(separator).count() * length)
        }
    };
    octets.is_some_and(|digits| matches!(digits, 12 | 16 | 40))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_go_reads_them() {
        assert!(
            is_host_name("example.com") && is_host_name("a-b") && !is_host_name("ab-c") && !is_host_name("a_b.com")
        );
        assert!(
            is_host_name("1.example.com") && !is_host_name("example.c1") && is_host_name("ü.de") && !is_host_name("")
        );
        assert!(is_ipv4("1.2.3.4") && is_ipv4("010.2.3.4") && is_ipv4("::1.2.3.4") && !is_ipv4("1.2.3.256"));
        assert!(
            is_ipv6("::1") && !is_ipv6("1.2.3.4") && is_cidr("1.2.3.4/8") && !is_cidr("1.2.3.4/33") && is_cidr("::/0")
        );
        assert!(is_mac("00:00:5e:00:53:01") && is_mac("0000.5e00.5301") && is_mac("00005e005301"));
        assert!(!is_mac("00:00:5e:00:53") && !is_mac("00:00-5e:00:53:01"));
    }
}
