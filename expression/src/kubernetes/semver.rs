//! Semantic versions: `semver('1.2.3').isLessThan(semver('2.0.0'))`.
//!
//! Read and ordered as the Go package blang/semver does, which is by the rules but for its bounds: numbers have 64 bits.

use std::cmp::Ordering;

use super::costs::Costs;
use super::{opaque, quote, text};
use crate::cost::Cost;
use crate::error::Error;
use crate::library::{Library, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

/// What stands after a `+` is checked and forgotten: no function tells it, and no comparison minds it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    numbers: [u64; 3],
    release: Release,
}

/// In the order of versions: any release comes after all that lead to it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Release {
    Before(Vec<Identifier>),
    Final,
}

/// Numbers come before words.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Opaque for Version {
    fn ty(&self) -> Type {
        ty()
    }

    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        Ok(other.downcast_ref() == Some(self))
    }
}

impl Version {
    fn parse(given: &str) -> Result<Version, String> {
        if given.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = given.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (major, minor) = (number("Major", major)?, number("Minor", minor)?);
        let (rest, build) = rest.split_once('+').map_or((rest, None), |(rest, build)| (rest, Some(build)));
        let (patch, before) = rest.split_once('-').map_or((rest, None), |(patch, before)| (patch, Some(before)));
        let numbers = [major, minor, number("Patch", patch)?];
        let release = match before {
            Some(before) => Release::Before(before.split('.').map(Identifier::parse).collect::<Result<_, _>>()?),
            None => Release::Final,
        };
        for part in build.iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !part.bytes().all(is_letter) {
                return Err(format!("Invalid character(s) found in build meta data {}", quote::go(part)));
            }
        }
        Ok(Version { numbers, release })
    }

    /// The same without a leading `v`, without leading zeros, and with zeros for what is missing.
    fn parse_leniently(given: &str) -> Result<Version, String> {
        let given = given.strip_prefix('v').unwrap_or(given);
        let mut parts: Vec<String> = given.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 && parts.last().is_some_and(|last| last.contains(['+', '-'])) {
            return Err("short version cannot contain PreRelease/Build meta data".to_owned());
        }
        parts.resize(3, "0".to_owned());
        Version::parse(&parts.join("."))
    }
}

impl Identifier {
    fn parse(given: &str) -> Result<Identifier, String> {
        if given.is_empty() {
            return Err("Prerelease is empty".to_owned());
        }
        if given.bytes().all(|byte| byte.is_ascii_digit()) {
            if given.len() > 1 && given.starts_with('0') {
                let quoted = quote::go(given);
                return Err(format!("Numeric PreRelease version must not contain leading zeroes {quoted}"));
            }
            return parse_uint(given).map(Identifier::Number);
        }
        if !given.bytes().all(is_letter) {
            return Err(format!("Invalid character(s) found in prerelease {}", quote::go(given)));
        }
        Ok(Identifier::Word(given.to_owned()))
    }
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn without_zeros(part: &str) -> String {
    let rest = part.trim_start_matches('0');
    match rest.bytes().next() {
        _ if part.len() < 2 => part.to_owned(),
        Some(b'0'..=b'9') => rest.to_owned(),
        _ => format!("0{rest}"),
    }
}

fn number(name: &str, given: &str) -> Result<u64, String> {
    if !given.bytes().all(|byte| byte.is_ascii_digit()) {
        let name = name.to_lowercase();
        return Err(format!("Invalid character(s) found in {name} number {}", quote::go(given)));
    }
    if given.len() > 1 && given.starts_with('0') {
        return Err(format!("{name} number must not contain leading zeroes {}", quote::go(given)));
    }
    parse_uint(given)
}

fn parse_uint(digits: &str) -> Result<u64, String> {
    digits.parse().map_err(|_| {
        let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {}: {why}", quote::go(digits))
    })
}

fn ty() -> Type {
    Type::object("kubernetes.Semver")
}

pub(super) fn library() -> Library {
    let read =
        |id, parameters: &[Type]| Overload::global(id, parameters, ty(), |a| parse(a).map(Value::opaque)).reading();
    let test = |id, parameters: &[Type]| {
        Overload::global(id, parameters, Type::Bool, |a| Ok(parse(a).is_ok().into())).reading()
    };
    let tell = |id, run| [Overload::member(id, [ty()], Type::Int, run).nominal()];
    let with = |id, result, run| [Overload::member(id, [ty(), ty()], result, run).nominal()];
    let (strict, lenient) = ([Type::String], [Type::String, Type::Bool]);
    Library::new()
        .equality(ty(), |_| Some(Cost::exactly(1).into()))
        .function("semver", [read("string_to_semver", &strict), read("string_bool_to_semver", &lenient)])
        .function("isSemver", [test("is_semver_string", &strict), test("is_semver_string_bool", &lenient)])
        .function("major", tell("semver_major", |a| part(a, 0)))
        .function("minor", tell("semver_minor", |a| part(a, 1)))
        .function("patch", tell("semver_patch", |a| part(a, 2)))
        .function("isGreaterThan", with("semver_is_greater_than", Type::Bool, |a| Ok(order(a)?.is_gt().into())))
        .function("isLessThan", with("semver_is_less_than", Type::Bool, |a| Ok(order(a)?.is_lt().into())))
        .function("compareTo", with("semver_compare_to", Type::Int, |a| Ok((order(a)? as i64).into())))
}

/// The second argument says whether to be lenient.
fn parse(arguments: &[Value<'_>]) -> Result<Version, Error> {
    let given = text(arguments, 0)?;
    let is_lenient = arguments.get(1).and_then(Value::as_bool).unwrap_or(false);
    let parsed = if is_lenient { Version::parse_leniently(given) } else { Version::parse(given) };
    parsed.map_err(Error::new)
}

fn part<'a>(arguments: &[Value<'a>], index: usize) -> Result<Value<'a>, Error> {
    let version: &Version = opaque(arguments, 0)?;
    // Go lets what is too large for an int wrap around.
    Ok(Value::Int(version.numbers[index] as i64))
}

fn order(arguments: &[Value<'_>]) -> Result<Ordering, Error> {
    Ok(opaque::<Version>(arguments, 0)?.cmp(opaque(arguments, 1)?))
}
