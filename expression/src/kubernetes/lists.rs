//! Lists as a whole: `[1, 2, 3].sum()`, `['a'].indexOf('a')`.

use std::cmp::Ordering;

use super::costs::traversed;
use super::list;
use crate::cost::{CallEstimate, Cost, TRAVERSAL};
use crate::error::Error;
use crate::library::{Call, Library, Overload};
use crate::operate::{add, compare, equals};
use crate::time::Duration;
use crate::types::Type;
use crate::value::Value;

pub(super) fn library() -> Library {
    let any = || Type::list(Type::param("A"));
    let position = |id, run| [searching(Overload::member(id, [any(), Type::param("A")], Type::Int, run))];
    Library::new()
        .function(
            "isSorted",
            comparable!("_is_sorted_bool")
                .map(|(id, ty)| searching(Overload::member(id, [Type::list(ty)], Type::Bool, is_sorted))),
        )
        .function(
            "min",
            comparable!("_min").map(|(id, ty)| {
                searching(Overload::member(id, [Type::list(ty.clone())], ty, |a| extreme(a, "min", Ordering::Greater)))
            }),
        )
        .function(
            "max",
            comparable!("_max").map(|(id, ty)| {
                searching(Overload::member(id, [Type::list(ty.clone())], ty, |a| extreme(a, "max", Ordering::Less)))
            }),
        )
        .function("sum", sums())
        .function("indexOf", position("list_a_index_of_int", |a| index_of(a, false)))
        .function("lastIndexOf", position("list_a_last_index_of_int", |a| index_of(a, true)))
        .function(
            "includes",
            [searching(Overload::member("list_includes_dyn_dyn", [Type::Dyn, Type::Dyn], Type::Bool, includes))
                .estimate(|call| estimate(call).or_else(|| Some(call.target()?.size().each(Cost::exactly(1)).into())))],
        )
}

fn sums() -> [Overload; 4] {
    [
        searching(Overload::member("list_int_sum_int", [Type::list(Type::Int)], Type::Int, |a| sum(a, Value::Int(0)))),
        searching(Overload::member("list_uint_sum_uint", [Type::list(Type::Uint)], Type::Uint, |a| {
            sum(a, Value::Uint(0))
        })),
        searching(Overload::member("list_double_sum_double", [Type::list(Type::Double)], Type::Double, |a| {
            sum(a, Value::Double(0.0))
        })),
        searching(Overload::member("list_duration_sum_duration", [Type::list(Type::Duration)], Type::Duration, |a| {
            sum(a, Value::Duration(Duration(0)))
        })),
    ]
}

/// What it costs to go through a list, or a text, from end to end.
pub(super) fn searching(overload: Overload) -> Overload {
    overload
        .cost(|arguments, _| Some(traversed(arguments.first()?)))
        .estimate(|call| estimate(call).or_else(|| Some(call.target()?.size().at(TRAVERSAL).into())))
}

/// One for each element, and the reading of those that are texts. `None` if it is no list.
fn estimate(call: &Call<'_>) -> Option<CallEstimate> {
    let target = call.target()?;
    let items = target.items()?;
    let reading = match items.ty() {
        Type::String | Type::Bytes => items.size().at(TRAVERSAL),
        _ => Cost::exactly(0),
    };
    Some(target.size().each(Cost::exactly(1).plus(reading)).into())
}

fn has_order(value: &Value<'_>) -> Result<(), Error> {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::String(_) => Ok(()),
        Value::Bytes(_) | Value::Duration(_) | Value::Timestamp(_) => Ok(()),
        _ => Err(Error::no_such_overload()),
    }
}

/// Elements that cannot be compared with each other are in order.
fn is_sorted<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let mut previous: Option<Value<'a>> = None;
    for element in list(arguments, 0)?.iter() {
        let element = element?;
        has_order(&element)?;
        if previous.is_some_and(|previous| compare(&previous, &element) == Some(Ordering::Greater)) {
            return Ok(false.into());
        }
        previous = Some(element);
    }
    Ok(true.into())
}

fn sum<'a>(arguments: &[Value<'a>], zero: Value<'a>) -> Result<Value<'a>, Error> {
    list(arguments, 0)?.iter().try_fold(zero, |sum, element| add(sum, element?))
}

/// The first element that no other is `better` than.
fn extreme<'a>(arguments: &[Value<'a>], name: &str, worse: Ordering) -> Result<Value<'a>, Error> {
    let mut best: Option<Value<'a>> = None;
    for element in list(arguments, 0)?.iter() {
        let element = element?;
        has_order(&element)?;
        if best.as_ref().is_none_or(|best| compare(best, &element) == Some(worse)) {
            best = Some(element);
        }
    }
    best.ok_or_else(|| Error::new(format!("{name} called on empty list")))
}

fn index_of<'a>(arguments: &[Value<'a>], from_end: bool) -> Result<Value<'a>, Error> {
    let list = list(arguments, 0)?;
    let wanted = arguments.get(1).ok_or_else(Error::no_such_overload)?;
    let is_wanted =
        |index: &usize| list.get(*index).is_some_and(|element| element.is_ok_and(|element| equals(&element, wanted)));
    let mut indices = 0..list.len();
    let found = if from_end { indices.rfind(is_wanted) } else { indices.find(is_wanted) };
    Ok(Value::Int(found.map_or(-1, |index| index as i64)))
}

fn includes<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let [target, wanted] = arguments else { return Err(Error::no_such_overload()) };
    Ok(match target {
        Value::List(list) => list.iter().flatten().any(|element| equals(&element, wanted)),
        target => equals(target, wanted),
    }
    .into())
}
