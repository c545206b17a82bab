//! Values that may be absent.

use crate::error::Error;
use crate::library::{Library, Macro, Overload};
use crate::types::Type;
use crate::value::Value;

use super::evaluated;

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Optional(None) => true,
        Value::Bool(value) => !value,
        Value::Int(number) => *number == 0,
        Value::Uint(number) => *number == 0,
        Value::Double(number) => *number == 0.0,
        Value::String(text) => text.is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::Duration(span) => span.0 == 0,
        Value::Timestamp(moment) => moment.seconds == crate::time::SECONDS_MIN && moment.nanos == 0,
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        _ => false,
    }
}

fn inner<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    match &arguments[0] {
        Value::Optional(Some(value)) => Ok((**value).clone()),
        Value::Optional(None) => Err(Error::new("optional.none() dereference")),
        _ => Err(Error::no_such_overload()),
    }
}

fn unwrap<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let list = arguments[0].as_list().ok_or_else(Error::no_such_overload)?;
    let mut present = Vec::with_capacity(list.len());
    for element in list.iter() {
        match element? {
            Value::Optional(Some(value)) => present.push((*value).clone()),
            Value::Optional(None) => {}
            other => return Err(Error::new(format!("value {} is not optional", crate::convert::debug(&other)))),
        }
    }
    Ok(Value::from(present))
}

fn at_end<'a>(arguments: &[Value<'a>], last: bool) -> Result<Value<'a>, Error> {
    let list = arguments[0].as_list().ok_or_else(Error::no_such_overload)?;
    let index = if last { list.len().saturating_sub(1) } else { 0 };
    match list.get(index) {
        Some(value) => Ok(Value::some(value?)),
        None => Ok(Value::Optional(None)),
    }
}

fn v() -> Type {
    Type::param("V")
}

fn maybe() -> Type {
    Type::optional(v())
}

fn list() -> Type {
    Type::list(v())
}

fn map() -> Type {
    Type::map(Type::param("K"), v())
}

fn functions(library: Library) -> Library {
    let maybes = || Type::list(maybe());
    library
        .function("optional.of", [Overload::global("optional_of", [v()], maybe(), |a| Ok(Value::some(a[0].clone())))])
        .function(
            "optional.ofNonZeroValue",
            [Overload::global("optional_ofNonZeroValue", [v()], maybe(), |arguments| {
                let zero = is_zero(&arguments[0]);
                Ok(if zero { Value::Optional(None) } else { Value::some(arguments[0].clone()) })
            })],
        )
        .function("optional.none", [Overload::global("optional_none", [], maybe(), |_| Ok(Value::Optional(None)))])
        .function("value", [Overload::member("optional_value", [maybe()], v(), inner)])
        .function(
            "hasValue",
            [Overload::member("optional_hasValue", [maybe()], Type::Bool, |arguments| match &arguments[0] {
                Value::Optional(inner) => Ok(Value::Bool(inner.is_some())),
                _ => Err(Error::no_such_overload()),
            })],
        )
        .function("first", [Overload::member("list_first", [list()], maybe(), |arguments| at_end(arguments, false))])
        .function("last", [Overload::member("list_last", [list()], maybe(), |arguments| at_end(arguments, true))])
        .function("optional.unwrap", [Overload::global("optional_unwrap", [maybes()], list(), unwrap)])
        .function("unwrapOpt", [Overload::member("optional_unwrapOpt", [maybes()], list(), unwrap)])
}

fn operators(library: Library) -> Library {
    let key = || Type::param("K");
    let (maybe_list, maybe_map) = (|| Type::optional(list()), || Type::optional(map()));
    library
        .function("or", [Overload::member("optional_or_optional", [maybe(), maybe()], maybe(), evaluated)])
        .function("orValue", [Overload::member("optional_orValue_value", [maybe(), v()], v(), evaluated)])
        .function("_?._", [Overload::global("select_optional_field", [Type::Dyn, Type::String], maybe(), evaluated)])
        .function(
            "_[?_]",
            [
                Overload::global("list_optindex_optional_int", [list(), Type::Int], maybe(), evaluated),
                Overload::global("optional_list_optindex_optional_int", [maybe_list(), Type::Int], maybe(), evaluated),
                Overload::global("map_optindex_optional_value", [map(), key()], maybe(), evaluated),
                Overload::global("optional_map_optindex_optional_value", [maybe_map(), key()], maybe(), evaluated),
            ],
        )
        .function(
            "_[_]",
            [
                Overload::global("optional_list_index_int", [maybe_list(), Type::Int], maybe(), evaluated),
                Overload::global("optional_map_index_value", [maybe_map(), key()], maybe(), evaluated),
            ],
        )
}

pub(super) fn library() -> Library {
    operators(functions(Library::new())).declare(Type::optional(v())).with_macro(Macro::Optionals)
}
