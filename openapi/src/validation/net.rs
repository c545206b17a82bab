//! Addresses, ranges of them, and ports.

use std::collections::HashSet;
use std::net::IpAddr;

use super::names;
use super::tree::{Errors, Node};
pub(super) use crate::address::{address, canonical_address};
use crate::address::{address_problems, is_mapped};

pub(super) fn is_ipv6(text: &str) -> bool {
    address(text).is_some_and(|address| address.is_ipv6() && !is_mapped(address))
}

pub(super) fn check_address(errors: &mut Errors, at: &Node, known: &HashSet<&str>) -> bool {
    let before = errors.len();
    if !known.contains(at.text()) {
        errors.refuse(at, address_problems(at.text()));
    }
    errors.len() == before
}

/// An address and the length of its prefix.
pub(super) fn range(text: &str) -> Option<(IpAddr, u8)> {
    let (head, length) = text.split_once('/')?;
    let address = address(head)?;
    let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
    let length: u8 = if digits { length.parse().ok()? } else { return None };
    let max = if address.is_ipv4() { 32 } else { 128 };
    (length <= max).then_some((address, length))
}

fn has_host_bits(address: IpAddr, length: u8) -> bool {
    match address {
        IpAddr::V4(address) => u32::from(address).checked_shl(u32::from(length)).unwrap_or(0) != 0,
        IpAddr::V6(address) => u128::from(address).checked_shl(u32::from(length)).unwrap_or(0) != 0,
    }
}

pub(super) fn range_problems(text: &str) -> Vec<String> {
    let Some((address, length)) = range(text) else {
        return vec!["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)".to_owned()];
    };
    let (head, tail) = text.split_once('/').unwrap_or_default();
    let padded = head.parse::<IpAddr>().is_err() || (tail.len() > 1 && tail.starts_with('0'));
    let wrong = if padded {
        "must not have leading 0s in IP or prefix length"
    } else if is_mapped(address) {
        "must not have an IPv4-mapped IPv6 address"
    } else if has_host_bits(address, length) {
        "must not have bits set beyond the prefix length"
    } else {
        return Vec::new();
    };
    vec![wrong.to_owned()]
}

pub(super) fn check_range(errors: &mut Errors, at: &Node, text: &str, known: &HashSet<&str>) {
    if !known.contains(text) {
        for message in range_problems(text) {
            errors.invalid_value(at, text, message);
        }
    }
}

/// An address that traffic can be sent to.
pub(super) fn check_endpoint(errors: &mut Errors, at: &Node) {
    let text = at.text();
    let Some(address) = address(text) else {
        return errors.invalid_value(at, text, "must be a valid IP address");
    };
    let address = address.to_canonical();
    if address.is_unspecified() {
        errors.invalid_value(at, text, format!("may not be unspecified ({text})"));
    }
    if address.is_loopback() {
        errors.invalid_value(at, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)");
    }
    let (link_local, multicast) = match address {
        IpAddr::V4(address) => (address.is_link_local(), address.octets()[..3] == [224, 0, 0]),
        IpAddr::V6(address) => (address.is_unicast_link_local(), address.segments()[0] & 0xff0f == 0xff02),
    };
    if link_local {
        errors.invalid_value(at, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
    }
    if multicast {
        errors.invalid_value(at, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)");
    }
}

pub(super) fn check_port(errors: &mut Errors, at: &Node) {
    for message in names::port_number(at.int()) {
        errors.invalid_value(at, at.int(), message);
    }
}

/// A port by its number or its name.
pub(super) fn check_port_or_name(errors: &mut Errors, at: &Node) {
    if at.value().is_string() { errors.refuse(at, names::port_name(at.text())) } else { check_port(errors, at) }
}

pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
