//! IP addresses: `ip('10.0.0.1').isLoopback()`.

use std::net::IpAddr;

use super::address;
use super::costs::Costs;
use super::{opaque, quote, text};
use crate::cost::{Cost, TRAVERSAL, scale};
use crate::error::Error;
use crate::library::{Library, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// An address without a zone, and never an IPv4 address in the clothes of IPv6.
#[derive(Debug)]
pub(super) struct Ip(pub(super) IpAddr);

impl Opaque for Ip {
    fn ty(&self) -> Type {
        ty()
    }

    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        Ok(other.downcast_ref::<Ip>().is_some_and(|other| other.0 == self.0))
    }

    fn size(&self) -> Option<u64> {
        Some(u64::from(address::width(self.0)) / 8)
    }

    fn to_json(&self) -> Option<serde_json::Value> {
        Some(self.0.to_string().into())
    }
}

pub(super) fn ty() -> Type {
    Type::opaque("net.IP")
}

pub(super) fn library() -> Library {
    let question = |id, run| [Overload::member(id, [ty()], Type::Bool, run).nominal()];
    Library::new()
        .declare(ty())
        .equality(ty(), |_| Some(Cost::exactly(1).into()))
        .function(
            "ip",
            [Overload::global("string_to_ip", [Type::String], ty(), |a| Ok(Value::opaque(parse(text(a, 0)?)?)))
                .reading()],
        )
        .function(
            "isIP",
            [Overload::global("is_ip", [Type::String], Type::Bool, |a| Ok(parse(text(a, 0)?).is_ok().into()))
                .reading()],
        )
        .function("ip.isCanonical", [is_canonical()])
        .function("string", [Overload::global("ip_to_string", [ty()], Type::String, |a| Ok(of(a)?.to_string().into()))])
        .function(
            "family",
            [Overload::member("ip_family", [ty()], Type::Int, |a| Ok(if of(a)?.is_ipv4() { 4 } else { 6 }.into()))
                .nominal()],
        )
        .function("isUnspecified", question("ip_is_unspecified", |a| Ok(of(a)?.is_unspecified().into())))
        .function("isLoopback", question("ip_is_loopback", |a| Ok(of(a)?.is_loopback().into())))
        .function(
            "isLinkLocalMulticast",
            question("ip_is_link_local_multicast", |a| Ok(is_link_local_multicast(of(a)?).into())),
        )
        .function(
            "isLinkLocalUnicast",
            question("ip_is_link_local_unicast", |a| Ok(is_link_local_unicast(of(a)?).into())),
        )
        .function("isGlobalUnicast", question("ip_is_global_unicast", |a| Ok(is_global_unicast(of(a)?).into())))
}

/// Reads the text, and compares it with how the address is written: twice the cost.
fn is_canonical() -> Overload {
    Overload::global("ip_is_canonical", [Type::String], Type::Bool, |arguments| {
        let given = text(arguments, 0)?;
        Ok((parse(given)?.0.to_string() == given).into())
    })
    .cost(|arguments, _| Some(scale(arguments[0].size(), 2.0 * TRAVERSAL)))
    .estimate(|call| Some(call.argument(0)?.size().at(2.0 * TRAVERSAL).into()))
}

pub(super) fn parse(given: &str) -> Result<Ip, Error> {
    let quoted = || quote::go(given);
    let (parsed, zone) = address::parse(given).map_err(|why| {
        Error::new(format!("IP Address {} parse error during conversion from string: {why}", quoted()))
    })?;
    if !zone.is_empty() {
        return Err(Error::new(format!("IP address {} with zone value is not allowed", quoted())));
    }
    if is_mapped(parsed) {
        return Err(Error::new(format!("IPv4-mapped IPv6 address {} is not allowed", quoted())));
    }
    Ok(Ip(parsed))
}

/// `::ffff:1.2.3.4`
pub(super) fn is_mapped(parsed: IpAddr) -> bool {
    matches!(parsed, IpAddr::V6(parsed) if parsed.to_ipv4_mapped().is_some())
}

fn of(arguments: &[Value<'_>]) -> Result<IpAddr, Error> {
    Ok(opaque::<Ip>(arguments, 0)?.0)
}

fn is_link_local_multicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.octets()[..3] == [224, 0, 0],
        IpAddr::V6(ip) => ip.segments()[0] & 0xff0f == 0xff02,
    }
}

fn is_link_local_unicast(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    }
}

fn is_global_unicast(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !is_broadcast && !ip.is_unspecified() && !ip.is_loopback() && !ip.is_multicast() && !is_link_local_unicast(ip)
}
