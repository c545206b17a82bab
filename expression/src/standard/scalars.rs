//! Conversions and functions of strings.

use crate::convert;
use crate::cost::{CallEstimate, Cost, PATTERN, Size, TRAVERSAL, scale};
use crate::error::Error;
use crate::library::{Call, Function, Library, Node, Overload};
use crate::pattern;
use crate::types::Type;
use crate::value::Value;

fn itself<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    Ok(arguments[0].clone())
}

fn string<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    convert::string(&arguments[0]).map(Value::from)
}

fn one(id: &'static str, from: Type, to: Type, run: Function) -> Overload {
    Overload::global(id, [from], to, run)
}

fn traversal(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    Some(scale(arguments[0].size(), TRAVERSAL))
}

/// A character is up to four bytes.
fn to_bytes(call: &Call<'_>) -> Option<CallEstimate> {
    let size = call.argument(0)?.size();
    let result = Size { min: size.min, max: size.max.wrapping_mul(4) };
    Some(CallEstimate { cost: size.at(TRAVERSAL), result: Some(result) })
}

fn from_bytes(call: &Call<'_>) -> Option<CallEstimate> {
    let size = call.argument(0)?.size();
    Some(CallEstimate { cost: size.at(TRAVERSAL), result: Some(Size { min: size.min / 4, max: size.max }) })
}

fn conversions(library: Library) -> Library {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let a = || Type::param("A");
    library
        .function("type", [one("type", a(), Type::of(a()), |values| Ok(Value::Type(values[0].ty()))).singleton()])
        .function("dyn", [one("to_dyn", a(), Type::Dyn, itself).singleton()])
        .function(
            "bool",
            [
                one("bool_to_bool", Bool, Bool, itself),
                one("string_to_bool", String, Bool, |values| convert::bool(&values[0])),
            ],
        )
        .function(
            "bytes",
            [
                one("bytes_to_bytes", Bytes, Bytes, itself),
                one("string_to_bytes", String, Bytes, |values| convert::bytes(&values[0]))
                    .cost_if_known(traversal)
                    .estimate(to_bytes),
            ],
        )
        .function(
            "double",
            [
                one("double_to_double", Double, Double, itself),
                one("int64_to_double", Int, Double, |values| convert::double(&values[0])),
                one("string_to_double", String, Double, |values| convert::double(&values[0])),
                one("uint64_to_double", Uint, Double, |values| convert::double(&values[0])),
            ],
        )
        .function(
            "duration",
            [
                one("duration_to_duration", Duration, Duration, itself),
                one("string_to_duration", String, Duration, |values| convert::duration(&values[0])),
            ],
        )
        .function(
            "timestamp",
            [
                one("timestamp_to_timestamp", Timestamp, Timestamp, itself),
                one("int64_to_timestamp", Int, Timestamp, |values| convert::timestamp(&values[0])),
                one("string_to_timestamp", String, Timestamp, |values| convert::timestamp(&values[0])),
            ],
        )
}

fn to_numbers(library: Library) -> Library {
    use Type::{Double, Duration, Int, String, Timestamp, Uint};
    let int: Function = |values| convert::int(&values[0]);
    let uint: Function = |values| convert::uint(&values[0]);
    library
        .function(
            "int",
            [
                one("int64_to_int64", Int, Int, itself),
                one("double_to_int64", Double, Int, int),
                one("duration_to_int64", Duration, Int, int),
                one("string_to_int64", String, Int, int),
                one("timestamp_to_int64", Timestamp, Int, int),
                one("uint64_to_int64", Uint, Int, int),
            ],
        )
        .function(
            "uint",
            [
                one("uint64_to_uint64", Uint, Uint, itself),
                one("double_to_uint64", Double, Uint, uint),
                one("int64_to_uint64", Int, Uint, uint),
                one("string_to_uint64", String, Uint, uint),
            ],
        )
}

fn to_string(library: Library) -> Library {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    library.function(
        "string",
        [
            one("string_to_string", String, String, itself),
            one("bool_to_string", Bool, String, string),
            one("bytes_to_string", Bytes, String, string).cost_if_known(traversal).estimate(from_bytes),
            one("double_to_string", Double, String, string),
            one("duration_to_string", Duration, String, string),
            one("int64_to_string", Int, String, string),
            one("timestamp_to_string", Timestamp, String, string),
            one("uint64_to_string", Uint, String, string),
        ],
    )
}

fn texts<'v>(arguments: &'v [Value<'_>]) -> Result<(&'v str, &'v str), Error> {
    match (&arguments[0], &arguments[1]) {
        (Value::String(one), Value::String(two)) => Ok((one, two)),
        _ => Err(Error::no_such_overload()),
    }
}

pub(crate) fn matches<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let (text, pattern) = match &arguments[0] {
        Value::String(_) => texts(arguments)?,
        _ => return Err(Error::new("no such overload: matches")),
    };
    Ok(Value::Bool(pattern::compiled(pattern)?.is_match(text)))
}

fn match_cost(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    let text = scale(arguments[0].size().saturating_add(1), TRAVERSAL);
    Some(text.saturating_mul(scale(arguments[1].size(), PATTERN)))
}

fn match_estimate(text: &Node<'_>, pattern: &Node<'_>) -> CallEstimate {
    let text = text.size().plus(Size::exactly(1)).at(TRAVERSAL);
    text.times(pattern.size().at(PATTERN)).into()
}

fn affix_cost(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    Some(scale(arguments[1].size(), TRAVERSAL))
}

fn affix_estimate(call: &Call<'_>) -> Option<CallEstimate> {
    Some(call.argument(0)?.size().at(TRAVERSAL).into())
}

fn strings(library: Library) -> Library {
    use Type::{Bool, String};
    let member = |id, run| Overload::member(id, [String, String], Bool, run).singleton();
    let contains = member("contains_string", |arguments| {
        let (text, part) = texts(arguments)?;
        Ok(Value::Bool(text.contains(part)))
    });
    let starts = member("starts_with_string", |arguments| {
        let (text, part) = texts(arguments)?;
        Ok(Value::Bool(text.starts_with(part)))
    });
    let ends = member("ends_with_string", |arguments| {
        let (text, part) = texts(arguments)?;
        Ok(Value::Bool(text.ends_with(part)))
    });
    let contains = contains
        .cost(|arguments, _| {
            Some(scale(arguments[0].size(), TRAVERSAL).saturating_mul(scale(arguments[1].size(), TRAVERSAL)))
        })
        .estimate(|call| {
            let (text, part) = (call.target()?.size().at(TRAVERSAL), call.argument(0)?.size().at(TRAVERSAL));
            Some(Cost::times(text, part).into())
        });
    let global = Overload::global("matches", [String, String], Bool, matches).singleton();
    let of_text = member("matches_string", matches);
    library
        .function("contains", [contains])
        .function("startsWith", [starts.cost(affix_cost).estimate(affix_estimate)])
        .function("endsWith", [ends.cost(affix_cost).estimate(affix_estimate)])
        .function(
            "matches",
            [
                global
                    .cost_if_known(match_cost)
                    .estimate(|call| Some(match_estimate(call.argument(0)?, call.argument(1)?))),
                of_text
                    .cost_if_known(match_cost)
                    .estimate(|call| Some(match_estimate(call.target()?, call.argument(0)?))),
            ],
        )
}

pub(super) fn library() -> Library {
    strings(to_string(to_numbers(conversions(Library::new()))))
}
