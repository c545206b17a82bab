//! Arithmetic and comparisons.

use std::cmp::Ordering;

use crate::cost::{CallEstimate, Cost, TRAVERSAL, scale};
use crate::error::Error;
use crate::library::{Call, Function, Library, Overload, RunCost};
use crate::operate;
use crate::types::Type;
use crate::value::Value;

use super::list;

/// An operator on something that does not have it at all is told by name.
fn has_arithmetic(value: &Value<'_>, function: &str) -> Result<(), Error> {
    match value {
        Value::Bool(_) | Value::Null | Value::Map(_) | Value::Optional(_) | Value::Type(_) | Value::Opaque(_) => {
            Err(Error::new(format!("no such overload: {function}")))
        }
        _ => Ok(()),
    }
}

fn add<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    has_arithmetic(&arguments[0], "_+_")?;
    operate::add(arguments[0].clone(), arguments[1].clone())
}

fn subtract<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    has_arithmetic(&arguments[0], "_-_")?;
    operate::subtract(&arguments[0], &arguments[1])
}

fn multiply<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    has_arithmetic(&arguments[0], "_*_")?;
    operate::multiply(&arguments[0], &arguments[1])
}

fn divide<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    has_arithmetic(&arguments[0], "_/_")?;
    operate::divide(&arguments[0], &arguments[1])
}

fn modulo<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    has_arithmetic(&arguments[0], "_%_")?;
    operate::modulo(&arguments[0], &arguments[1])
}

fn negate<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    operate::negate(&arguments[0])
}

fn ordered<'a>(function: &str, arguments: &[Value<'a>], wanted: fn(Ordering) -> bool) -> Result<Value<'a>, Error> {
    match &arguments[0] {
        Value::Null | Value::List(_) | Value::Map(_) | Value::Optional(_) | Value::Type(_) | Value::Opaque(_) => {
            Err(Error::new(format!("no such overload: {function}")))
        }
        one => Ok(Value::Bool(wanted(operate::order(one, &arguments[1])?))),
    }
}

fn sum_cost(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    Some(scale(arguments[0].size().saturating_add(arguments[1].size()), TRAVERSAL))
}

fn shorter_cost(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    Some(scale(arguments[0].size().min(arguments[1].size()), TRAVERSAL))
}

/// What a comparison up to the end of the shorter may cost. Also that of equality.
pub(crate) fn shorter(call: &Call<'_>) -> Option<CallEstimate> {
    let max = call.argument(0)?.size().max.min(call.argument(1)?.size().max);
    Some(Cost { min: u64::from(max > 0), max }.at(TRAVERSAL).into())
}

fn sum_estimate(call: &Call<'_>) -> Option<CallEstimate> {
    let size = call.argument(0)?.size().plus(call.argument(1)?.size());
    Some(CallEstimate { cost: size.at(TRAVERSAL), result: Some(size) })
}

fn join_estimate(call: &Call<'_>) -> Option<CallEstimate> {
    let size = call.argument(0)?.size().plus(call.argument(1)?.size());
    Some(CallEstimate { cost: Cost::exactly(1), result: Some(size) })
}

fn overload(id: &'static str, one: Type, two: Type, result: Type, run: Function) -> Overload {
    Overload::global(id, [one, two], result, run).singleton()
}

fn sums() -> Vec<Overload> {
    use Type::{Bytes, Double, Duration, Int, String, Timestamp, Uint};
    vec![
        overload("add_bytes", Bytes, Bytes, Bytes, add).cost_if_known(sum_cost).estimate(sum_estimate),
        overload("add_double", Double, Double, Double, add),
        overload("add_duration_duration", Duration, Duration, Duration, add),
        overload("add_duration_timestamp", Duration, Timestamp, Timestamp, add),
        overload("add_timestamp_duration", Timestamp, Duration, Timestamp, add),
        overload("add_int64", Int, Int, Int, add),
        overload("add_list", list(), list(), list(), add).estimate(join_estimate),
        overload("add_string", String, String, String, add).cost_if_known(sum_cost).estimate(sum_estimate),
        overload("add_uint64", Uint, Uint, Uint, add),
    ]
}

fn numbers(ids: [&'static str; 3], run: Function) -> Vec<Overload> {
    let types = [Type::Double, Type::Int, Type::Uint];
    let pairs = ids.into_iter().zip(types).filter(|(id, _)| !id.is_empty());
    pairs.map(|(id, ty)| overload(id, ty.clone(), ty.clone(), ty, run)).collect()
}

fn differences() -> Vec<Overload> {
    use Type::{Double, Duration, Int, Timestamp, Uint};
    vec![
        overload("subtract_double", Double, Double, Double, subtract),
        overload("subtract_duration_duration", Duration, Duration, Duration, subtract),
        overload("subtract_int64", Int, Int, Int, subtract),
        overload("subtract_timestamp_duration", Timestamp, Duration, Timestamp, subtract),
        overload("subtract_timestamp_timestamp", Timestamp, Timestamp, Duration, subtract),
        overload("subtract_uint64", Uint, Uint, Uint, subtract),
    ]
}

/// The overloads of a comparison. Ids are in the order bool, numbers, string, bytes, timestamp, duration.
fn comparison(ids: [&'static str; 14], run: Function) -> Vec<Overload> {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let pairs = [
        (Bool, Bool),
        (Int, Int),
        (Int, Double),
        (Int, Uint),
        (Uint, Uint),
        (Uint, Double),
        (Uint, Int),
        (Double, Double),
        (Double, Int),
        (Double, Uint),
        (String, String),
        (Bytes, Bytes),
        (Timestamp, Timestamp),
        (Duration, Duration),
    ];
    let overloads = ids.into_iter().zip(pairs).map(|(id, (one, two))| {
        let sized = matches!(one, String | Bytes);
        let overload = overload(id, one, two, Bool, run);
        if sized { overload.cost_if_known(shorter_cost as RunCost).estimate(shorter) } else { overload }
    });
    overloads.collect()
}

macro_rules! ids {
    ($prefix:literal) => {
        [
            concat!($prefix, "_bool"),
            concat!($prefix, "_int64"),
            concat!($prefix, "_int64_double"),
            concat!($prefix, "_int64_uint64"),
            concat!($prefix, "_uint64"),
            concat!($prefix, "_uint64_double"),
            concat!($prefix, "_uint64_int64"),
            concat!($prefix, "_double"),
            concat!($prefix, "_double_int64"),
            concat!($prefix, "_double_uint64"),
            concat!($prefix, "_string"),
            concat!($prefix, "_bytes"),
            concat!($prefix, "_timestamp"),
            concat!($prefix, "_duration"),
        ]
    };
}

pub(super) fn library() -> Library {
    let negations = [
        Overload::global("negate_double", [Type::Double], Type::Double, negate).singleton(),
        Overload::global("negate_int64", [Type::Int], Type::Int, negate).singleton(),
    ];
    Library::new()
        .function("_+_", sums())
        .function("_/_", numbers(["divide_double", "divide_int64", "divide_uint64"], divide))
        .function("_%_", numbers(["", "modulo_int64", "modulo_uint64"], modulo))
        .function("_*_", numbers(["multiply_double", "multiply_int64", "multiply_uint64"], multiply))
        .function("-_", negations)
        .function("_-_", differences())
        .function("_<_", comparison(ids!("less"), |arguments| ordered("_<_", arguments, Ordering::is_lt)))
        .function("_<=_", comparison(ids!("less_equals"), |arguments| ordered("_<=_", arguments, Ordering::is_le)))
        .function("_>_", comparison(ids!("greater"), |arguments| ordered("_>_", arguments, Ordering::is_gt)))
        .function("_>=_", comparison(ids!("greater_equals"), |arguments| ordered("_>=_", arguments, Ordering::is_ge)))
}
