//! The functions that Kubernetes adds to the language, one library a file, each with what its functions cost.

/// Every type that has an order, in the order in which overloads are tried, with the name of its overload.
macro_rules! comparable {
    ($suffix:literal) => {
        [
            (concat!("list_int", $suffix), Type::Int),
            (concat!("list_uint", $suffix), Type::Uint),
            (concat!("list_double", $suffix), Type::Double),
            (concat!("list_bool", $suffix), Type::Bool),
            (concat!("list_duration", $suffix), Type::Duration),
            (concat!("list_timestamp", $suffix), Type::Timestamp),
            (concat!("list_string", $suffix), Type::String),
            (concat!("list_bytes", $suffix), Type::Bytes),
        ]
    };
}

mod address;
mod authorizer;
mod cidr;
mod costs;
mod decimal;
mod format;
mod formatting;
mod ip;
mod jsonpatch;
mod lists;
mod named;
mod quantity;
mod quote;
mod regex;
mod semver;
mod sets;
mod slices;
mod strings;
mod uri;
mod url;

pub use authorizer::{Attributes, Authorizer, Decision, authorizer, request_resource};
pub(crate) use formatting::{Argument, check as check_format};

use crate::error::Error;
use crate::library::Library;
use crate::value::data::List;
use crate::value::{Opaque, Value};

/// What every expression in Kubernetes may call.
pub fn libraries() -> Vec<Library> {
    let mut all = everywhere();
    all.push(patches());
    all
}

/// What is for those alone who write patches.
pub fn patches() -> Library {
    jsonpatch::library()
}

/// Those that every expression has: all but what only patches need.
pub fn everywhere() -> Vec<Library> {
    vec![
        authorizer::library(),
        cidr::library(),
        format::library(),
        ip::library(),
        lists::library(),
        quantity::library(),
        regex::library(),
        semver::library(),
        sets::library(),
        slices::library(),
        strings::library(),
        url::library(),
    ]
}

/// What expressions that make JSON patches may call besides.
pub fn json_patch() -> Library {
    jsonpatch::library()
}

/// The longest text that a function makes. Ten characters cost one unit, and a call has a million of these at most: what
/// is longer could not even be read.
const LONGEST_TEXT: usize = 16 << 20;

/// The most elements that a function makes, for the same reason.
const LONGEST_LIST: usize = 1_000_000;

fn text<'v>(arguments: &'v [Value<'_>], index: usize) -> Result<&'v str, Error> {
    arguments.get(index).and_then(Value::as_str).ok_or_else(Error::no_such_overload)
}

fn int(arguments: &[Value<'_>], index: usize) -> Result<i64, Error> {
    arguments.get(index).and_then(Value::as_int).ok_or_else(Error::no_such_overload)
}

fn list<'v, 'a>(arguments: &'v [Value<'a>], index: usize) -> Result<&'v List<'a>, Error> {
    arguments.get(index).and_then(Value::as_list).ok_or_else(Error::no_such_overload)
}

fn opaque<'v, T: Opaque>(arguments: &'v [Value<'_>], index: usize) -> Result<&'v T, Error> {
    arguments.get(index).and_then(Value::downcast).ok_or_else(Error::no_such_overload)
}
