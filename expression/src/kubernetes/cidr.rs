//! Networks: `cidr('10.0.0.0/8').containsIP('10.1.2.3')`.

use std::net::IpAddr;

use super::costs::Costs;
use super::ip::{self, Ip};
use super::{address, opaque, quote, text};
use crate::cost::{CallEstimate, Cost, Size, TRAVERSAL, scale};
use crate::error::Error;
use crate::library::{Call, Library, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// An address and how many of its bits name the network. The others need not be zero.
#[derive(Debug, PartialEq)]
struct Cidr {
    address: IpAddr,
    bits: u8,
}

impl Opaque for Cidr {
    fn ty(&self) -> Type {
        ty()
    }

    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        Ok(other.downcast_ref() == Some(self))
    }

    fn size(&self) -> Option<u64> {
        Some(u64::from(self.bits.div_ceil(8)))
    }

    fn to_json(&self) -> Option<serde_json::Value> {
        Some(self.to_string().into())
    }
}

impl std::fmt::Display for Cidr {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.address, self.bits)
    }
}

impl Cidr {
    fn parse(given: &str) -> Result<Cidr, String> {
        let (address, bits) = address::parse_prefix(given)
            .map_err(|why| format!("network address parse error during conversion from string: {why}"))?;
        if ip::is_mapped(address) {
            return Err(format!("IPv4-mapped IPv6 address {} is not allowed", quote::go(given)));
        }
        Ok(Cidr { address, bits })
    }

    fn masked(&self) -> Cidr {
        Cidr { address: address::masked(self.address, self.bits), bits: self.bits }
    }

    fn contains(&self, other: IpAddr) -> bool {
        // Addresses of another family stay of that family, and are never equal.
        address::width(other) == address::width(self.address)
            && address::masked(other, self.bits) == self.masked().address
    }
}

fn ty() -> Type {
    Type::opaque("net.CIDR")
}

pub(super) fn library() -> Library {
    Library::new()
        .declare(ty())
        .equality(ty(), |_| Some(Cost::exactly(1).into()))
        .function(
            "cidr",
            [Overload::global("string_to_cidr", [Type::String], ty(), |a| Ok(Value::opaque(parse(a, 0)?))).reading()],
        )
        .function(
            "isCIDR",
            [Overload::global("is_cidr", [Type::String], Type::Bool, |a| Ok(Cidr::parse(text(a, 0)?).is_ok().into()))
                .reading()],
        )
        .function(
            "string",
            [Overload::global("cidr_to_string", [ty()], Type::String, |a| Ok(of(a)?.to_string().into()))],
        )
        .function(
            "ip",
            [Overload::member("cidr_ip", [ty()], ip::ty(), |a| Ok(Value::opaque(Ip(of(a)?.address)))).nominal()],
        )
        .function(
            "masked",
            [Overload::member("cidr_masked", [ty()], ty(), |a| Ok(Value::opaque(of(a)?.masked()))).nominal()],
        )
        .function(
            "prefixLength",
            [Overload::member("cidr_prefix_length", [ty()], Type::Int, |a| Ok(i64::from(of(a)?.bits).into()))
                .nominal()],
        )
        .function("containsIP", contains_ip())
        .function("containsCIDR", contains_cidr())
}

fn contains_ip() -> [Overload; 2] {
    [
        Overload::member("cidr_contains_ip_string", [ty(), Type::String], Type::Bool, |arguments| {
            // What is no address is told from the network, not from how it was refused.
            let other = ip::parse(text(arguments, 1)?).map_err(|_| Error::no_such_overload())?;
            Ok(of(arguments)?.contains(other.0).into())
        })
        .cost(|arguments, _| Some(compared(arguments) + scale(arguments[1].size(), TRAVERSAL)))
        .estimate(|call| parsing(call, comparing(2))),
        Overload::member("cidr_contains_ip_ip", [ty(), ip::ty()], Type::Bool, |arguments| {
            Ok(of(arguments)?.contains(opaque::<Ip>(arguments, 1)?.0).into())
        })
        .cost(|arguments, _| Some(compared(arguments)))
        .estimate(|_| Some(comparing(2).into())),
    ]
}

fn contains_cidr() -> [Overload; 2] {
    [
        Overload::member("cidr_contains_cidr_string", [ty(), Type::String], Type::Bool, |arguments| {
            Ok(contains(of(arguments)?, &parse(arguments, 1)?).into())
        })
        .cost(|arguments, _| Some(compared_networks(arguments) + scale(arguments[1].size(), TRAVERSAL)))
        .estimate(|call| parsing(call, comparing_networks())),
        Overload::member("cidr_contains_cidr", [ty(), ty()], Type::Bool, |arguments| {
            Ok(contains(of(arguments)?, opaque(arguments, 1)?).into())
        })
        .cost(|arguments, _| Some(compared_networks(arguments)))
        .estimate(|_| Some(comparing_networks().into())),
    ]
}

fn contains(network: &Cidr, other: &Cidr) -> bool {
    network.bits <= other.bits && network.contains(other.address)
}

fn parse(arguments: &[Value<'_>], index: usize) -> Result<Cidr, Error> {
    let parsed = Cidr::parse(text(arguments, index)?);
    parsed.map_err(|why| Error::new(format!("network address parse error during conversion from string: {why}")))
}

fn of<'v>(arguments: &'v [Value<'_>]) -> Result<&'v Cidr, Error> {
    opaque(arguments, 0)
}

/// Both addresses are read as far as the network's bits go.
fn compared(arguments: &[Value<'_>]) -> u64 {
    scale(2 * arguments[0].size(), TRAVERSAL)
}

/// And the other network is masked first, and its bits are compared.
fn compared_networks(arguments: &[Value<'_>]) -> u64 {
    compared(arguments) + scale(arguments[0].size(), TRAVERSAL) + 1
}

/// So many addresses, each of 4 or 16 bytes.
fn comparing(addresses: u64) -> Cost {
    Size { min: 4 * addresses, max: 16 * addresses }.at(TRAVERSAL)
}

fn comparing_networks() -> Cost {
    comparing(2).plus(comparing(1)).plus(Cost::exactly(1))
}

fn parsing(call: &Call<'_>, then: Cost) -> Option<CallEstimate> {
    Some(then.plus(call.argument(0)?.size().at(TRAVERSAL)).into())
}
