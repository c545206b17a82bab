//! IP addresses and prefixes as Go's `net/netip` reads them, with its words for what is wrong.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::quote;

/// An address, and the zone of one that has a zone.
pub(super) fn parse(text: &str) -> Result<(IpAddr, &str), String> {
    match text.bytes().find(|byte| b".:%".contains(byte)) {
        Some(b'.') => Ok((Ipv4Addr::from(octets(text, text)?).into(), "")),
        Some(b':') => parse_v6(text),
        Some(_) => Err(refuse(text, "missing IPv6 address", "")),
        None => Err(refuse(text, "unable to parse IP", "")),
    }
}

/// An address and how many of its bits count.
pub(super) fn parse_prefix(text: &str) -> Result<(IpAddr, u8), String> {
    let refuse = |message: &str| format!("netip.ParsePrefix({}): {message}", quote::go(text));
    let (address, bits) = text.rsplit_once('/').ok_or_else(|| refuse("no '/'"))?;
    let (address, zone) = parse(address).map_err(|message| refuse(&message))?;
    if !zone.is_empty() {
        return Err(refuse("IPv6 zones cannot be present in a prefix"));
    }
    let bad = || refuse(&format!("bad bits after slash: {}", quote::go(bits)));
    if bits.len() > 1 && !(b'1'..=b'9').contains(&bits.as_bytes()[0]) {
        return Err(bad());
    }
    let number: i64 = bits.parse().map_err(|_| bad())?;
    match u8::try_from(number) {
        Ok(length) if length <= width(address) => Ok((address, length)),
        _ => Err(refuse("prefix length out of range")),
    }
}

/// How many bits addresses of its family have.
pub(super) fn width(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// Bits of a network, the others zero.
pub(super) fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

fn refuse(text: &str, message: &str, at: &str) -> String {
    let place = if at.is_empty() { String::new() } else { format!(" (at {})", quote::go(at)) };
    format!("ParseAddr({}): {message}{place}", quote::go(text))
}

/// Four numbers with dots between them; `whole` is what complaints are about.
fn octets(whole: &str, part: &str) -> Result<[u8; 4], String> {
    let (mut fields, mut at, mut value, mut digits) = ([0; 4], 0, 0u16, 0);
    let bytes = part.as_bytes();
    for (index, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                if digits == 1 && value == 0 {
                    return Err(refuse(whole, "IPv4 field has octet with leading zero", ""));
                }
                value = value * 10 + u16::from(byte - b'0');
                digits += 1;
                if value > 255 {
                    return Err(refuse(whole, "IPv4 field has value >255", ""));
                }
            }
            b'.' => {
                if index == 0 || index == bytes.len() - 1 || bytes[index - 1] == b'.' {
                    return Err(refuse(whole, "IPv4 field must have at least one digit", &part[index..]));
                }
                if at == 3 {
                    return Err(refuse(whole, "IPv4 address too long", ""));
                }
                fields[at] = value as u8;
                (at, value, digits) = (at + 1, 0, 0);
            }
            _ => return Err(refuse(whole, "unexpected character", &part[index..])),
        }
    }
    if at < 3 {
        return Err(refuse(whole, "IPv4 address too short", ""));
    }
    fields[3] = value as u8;
    Ok(fields)
}

/// What has been read of an IPv6 address.
struct Groups {
    bytes: [u8; 16],
    len: usize,
    /// Where `::` stands.
    gap: Option<usize>,
}

fn parse_v6(whole: &str) -> Result<(IpAddr, &str), String> {
    let (text, zone) = match whole.split_once('%') {
        Some((_, "")) => return Err(refuse(whole, "zone must be a non-empty string", "")),
        Some((text, zone)) => (text, zone),
        None => (whole, ""),
    };
    let mut groups = Groups { bytes: [0; 16], len: 0, gap: None };
    let mut rest = text;
    if let Some(after) = text.strip_prefix("::") {
        groups.gap = Some(0);
        rest = after;
    }
    if !(rest.is_empty() && groups.gap.is_some()) {
        rest = groups.read(whole, rest)?;
    }
    if !rest.is_empty() {
        return Err(refuse(whole, "trailing garbage after address", rest));
    }
    let bytes = groups.expand(whole)?;
    Ok((Ipv6Addr::from(bytes).into(), zone))
}

impl Groups {
    /// Reads as many groups as there are room for, and returns what follows.
    fn read<'t>(&mut self, whole: &str, mut rest: &'t str) -> Result<&'t str, String> {
        while self.len < 16 {
            let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
            if digits > 4 {
                return Err(refuse(whole, "each group must have 4 or less digits", rest));
            }
            let Ok(value) = u16::from_str_radix(&rest[..digits], 16) else {
                return Err(refuse(whole, "each colon-separated field must have at least one digit", rest));
            };
            if rest[digits..].starts_with('.') {
                return self.read_v4(whole, rest).map(|()| "");
            }
            self.bytes[self.len..self.len + 2].copy_from_slice(&value.to_be_bytes());
            self.len += 2;
            rest = &rest[digits..];
            match rest.as_bytes() {
                [] => break,
                [b':'] => return Err(refuse(whole, "colon must be followed by more characters", rest)),
                [b':', ..] => rest = &rest[1..],
                _ => return Err(refuse(whole, "unexpected character, want colon", rest)),
            }
            if let Some(after) = rest.strip_prefix(':') {
                if self.gap.is_some() {
                    return Err(refuse(whole, "multiple :: in address", rest));
                }
                self.gap = Some(self.len);
                rest = after;
                if rest.is_empty() {
                    break;
                }
            }
        }
        Ok(rest)
    }

    /// An IPv4 address at the end.
    fn read_v4(&mut self, whole: &str, rest: &str) -> Result<(), String> {
        if self.gap.is_none() && self.len != 12 {
            return Err(refuse(whole, "embedded IPv4 address must replace the final 2 fields of the address", rest));
        }
        if self.len + 4 > 16 {
            let message = "too many hex fields to fit an embedded IPv4 at the end of the address";
            return Err(refuse(whole, message, rest));
        }
        self.bytes[self.len..self.len + 4].copy_from_slice(&octets(whole, rest)?);
        self.len += 4;
        Ok(())
    }

    /// Zeros where the gap is.
    fn expand(mut self, whole: &str) -> Result<[u8; 16], String> {
        match self.gap {
            None if self.len < 16 => Err(refuse(whole, "address string too short", "")),
            None => Ok(self.bytes),
            Some(_) if self.len == 16 => Err(refuse(whole, "the :: must expand to at least one field of zeros", "")),
            Some(gap) => {
                self.bytes.copy_within(gap..self.len, 16 - (self.len - gap));
                self.bytes[gap..16 - (self.len - gap)].fill(0);
                Ok(self.bytes)
            }
        }
    }
}
