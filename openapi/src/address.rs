//! Addresses in the forms in which they are written.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Reads an address as leniently as old versions of Go did: octets may have leading zeros.
pub(crate) fn address(text: &str) -> Option<IpAddr> {
    text.parse().ok().or_else(|| zero_padded(text).map(IpAddr::V4)).or_else(|| {
        let (head, tail) = text.rsplit_once(':')?;
        let tail = zero_padded(tail)?;
        format!("{head}:{tail}").parse::<Ipv6Addr>().ok().map(IpAddr::V6)
    })
}

fn zero_padded(text: &str) -> Option<Ipv4Addr> {
    let octet = |part: &str| {
        let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if digits { part.parse::<u8>().ok() } else { None }
    };
    let octets: Vec<u8> = text.split('.').map(octet).collect::<Option<_>>()?;
    <[u8; 4]>::try_from(octets).ok().map(Ipv4Addr::from)
}

pub(crate) fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

/// What is wrong with an address; nothing is, if it stood there before.
pub(crate) fn address_problems(text: &str) -> Vec<String> {
    match (address(text), text.parse::<IpAddr>()) {
        (None, _) => vec!["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)".to_owned()],
        (Some(_), Err(_)) => vec!["must not have leading 0s".to_owned()],
        (Some(_), Ok(strict)) if is_mapped(strict) => vec!["must not be an IPv4-mapped IPv6 address".to_owned()],
        _ => Vec::new(),
    }
}

/// What is wrong with a text that must be an address in the one form that equal addresses share.
pub(crate) fn canonical_address(text: &str) -> Vec<String> {
    let wrong = address_problems(text);
    match text.parse::<IpAddr>() {
        Ok(address) if wrong.is_empty() && address.to_string() != text => {
            vec![format!("must be in canonical form ({:?})", address.to_string())]
        }
        _ => wrong,
    }
}
