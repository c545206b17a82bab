//! The standard library of the language.

mod optional;
mod relations;
mod scalars;
mod times;

use std::sync::LazyLock;

use crate::effort;
use crate::error::Error;
use crate::library::{Library, Macro, Overload};
use crate::operate;
use crate::types::Type;
use crate::value::Value;

pub(crate) use relations::shorter;

/// Built once; environments begin as copies of it.
pub(crate) static LIBRARIES: LazyLock<[Library; 6]> = LazyLock::new(|| {
    [
        logic(),
        relations::library(),
        scalars::library(),
        times::library(),
        optional::library(),
        collections().with_macro(Macro::TwoVariables),
    ]
});

fn list() -> Type {
    Type::list(Type::param("A"))
}

fn map() -> Type {
    Type::map(Type::param("A"), Type::param("B"))
}

/// For operators that the evaluator knows itself: their overloads are for the checker alone.
fn evaluated<'a>(_: &[Value<'a>]) -> Result<Value<'a>, Error> {
    Err(Error::no_such_overload())
}

fn logic() -> Library {
    let both = || [Type::Bool, Type::Bool];
    let a = || Type::param("A");
    Library::new()
        .function("_?_:_", [Overload::global("conditional", [Type::Bool, a(), a()], a(), evaluated)])
        .function("_&&_", [Overload::global("logical_and", both(), Type::Bool, evaluated)])
        .function("_||_", [Overload::global("logical_or", both(), Type::Bool, evaluated)])
        .function(
            "!_",
            [Overload::global("logical_not", [Type::Bool], Type::Bool, |arguments| match arguments[0] {
                Value::Bool(value) => Ok(Value::Bool(!value)),
                _ => Err(Error::no_such_overload()),
            })
            .singleton()],
        )
        .function(
            "@not_strictly_false",
            [Overload::global("not_strictly_false", [Type::Bool], Type::Bool, |arguments| match arguments[0] {
                Value::Bool(value) => Ok(Value::Bool(value)),
                _ => Ok(Value::Bool(true)),
            })],
        )
        .function("_==_", [Overload::global("equals", [a(), a()], Type::Bool, evaluated)])
        .function("_!=_", [Overload::global("not_equals", [a(), a()], Type::Bool, evaluated)])
}

fn size<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    match &arguments[0] {
        Value::String(_) | Value::Bytes(_) | Value::List(_) | Value::Map(_) => {
            if let Value::String(text) = &arguments[0] {
                // The characters of a text are counted each time, at the price of one.
                effort::spend(text.len() as u64 / 1024)?;
            }
            Ok(Value::Int(i64::try_from(arguments[0].size()).unwrap_or(i64::MAX)))
        }
        Value::Duration(_) | Value::Timestamp(_) => Err(Error::no_such_overload()),
        _ => Err(Error::new("no such overload: size")),
    }
}

fn is_in<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    operate::contains(&arguments[1], &arguments[0])
}

fn insert_entry<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let map = arguments[0].as_map().ok_or_else(Error::no_such_overload)?;
    operate::insert(map, arguments[1].clone(), arguments[2].clone()).map(Value::Map)
}

fn insert_entries<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let (Value::Map(map), Value::Map(more)) = (&arguments[0], &arguments[1]) else {
        return Err(Error::no_such_overload());
    };
    let mut map = map.clone();
    for (key, value) in more.entries()? {
        map = operate::insert(&map, key, value)?;
    }
    Ok(Value::Map(map))
}

fn collections() -> Library {
    let sizes = [
        ("size_bytes", "bytes_size", Type::Bytes),
        ("size_list", "list_size", list()),
        ("size_map", "map_size", map()),
        ("size_string", "string_size", Type::String),
    ];
    let sizes = sizes.into_iter().flat_map(|(global, member, ty)| {
        [
            Overload::global(global, [ty.clone()], Type::Int, size).singleton(),
            Overload::member(member, [ty], Type::Int, size).singleton(),
        ]
    });
    let (a, b) = (|| Type::param("A"), || Type::param("B"));
    let (k, v) = (|| Type::param("K"), || Type::param("V"));
    Library::new()
        .function("size", sizes)
        .function(
            "@in",
            [
                Overload::global("in_list", [a(), list()], Type::Bool, is_in)
                    .singleton()
                    .cost_if_known(|arguments, _| Some(arguments[1].size()))
                    .estimate(|call| Some(call.argument(1)?.size().as_cost().into())),
                Overload::global("in_map", [a(), map()], Type::Bool, is_in).singleton(),
            ],
        )
        .function(
            "_[_]",
            [
                Overload::global("index_list", [list(), Type::Int], a(), evaluated),
                Overload::global("index_map", [map(), a()], b(), evaluated),
            ],
        )
        .function(
            "cel.@mapInsert",
            [
                Overload::global(
                    "cel_@mapInsert_map_key_value",
                    [Type::map(k(), v()), k(), v()],
                    Type::map(k(), v()),
                    insert_entry,
                ),
                Overload::global(
                    "cel_@mapInsert_map_map",
                    [Type::map(k(), v()), Type::map(k(), v())],
                    Type::map(k(), v()),
                    insert_entries,
                ),
            ],
        )
}
