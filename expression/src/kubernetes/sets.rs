//! Lists taken as sets: `sets.contains([1, 2], [2])`.

use crate::cost::{CallEstimate, Cost};
use crate::error::Error;
use crate::library::{Call, Library, Overload};
use crate::operate;
use crate::types::Type;
use crate::value::Value;
use crate::value::data::List;

pub(super) fn library() -> Library {
    let of = || Type::list(Type::param("T"));
    let overload = |id, run| Overload::global(id, [of(), of()], Type::Bool, run);
    let once = |overload: Overload| overload.cost_if_known(|a, _| compared(a, 1)).estimate(|call| comparing(call, 1));
    let twice = |overload: Overload| overload.cost_if_known(|a, _| compared(a, 2)).estimate(|call| comparing(call, 2));
    Library::new()
        .function("sets.contains", [once(overload("list_sets_contains_list", |a| Ok(contains(&a[0], &a[1])?.into())))])
        .function(
            "sets.intersects",
            [once(overload("list_sets_intersects_list", |a| Ok(intersects(&a[0], &a[1])?.into())))],
        )
        .function(
            "sets.equivalent",
            [twice(overload("list_sets_equivalent_list", |a| {
                Ok((contains(&a[0], &a[1])? && contains(&a[1], &a[0])?).into())
            }))],
        )
}

fn has<'a>(list: &Value<'a>, value: &Value<'a>) -> Result<bool, Error> {
    Ok(operate::contains(list, value)?.as_bool().unwrap_or(false))
}

/// Whether the first list has all that the second one has.
fn contains<'a>(one: &Value<'a>, two: &Value<'a>) -> Result<bool, Error> {
    for value in elements(two)?.iter() {
        if !has(one, &value?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects<'a>(one: &Value<'a>, two: &Value<'a>) -> Result<bool, Error> {
    for value in elements(one)?.iter() {
        if has(two, &value?).unwrap_or(false) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn elements<'v, 'a>(list: &'v Value<'a>) -> Result<&'v List<'a>, Error> {
    list.as_list().ok_or_else(Error::no_such_overload)
}

/// Every element is compared with every other, once or once in each direction.
fn compared(arguments: &[Value<'_>], directions: u64) -> Option<u64> {
    let pairs = arguments.first()?.size().saturating_mul(arguments.get(1)?.size());
    Some(pairs.saturating_mul(directions).saturating_add(1))
}

fn comparing(call: &Call<'_>, directions: u32) -> Option<CallEstimate> {
    let pairs = call.argument(0)?.size().times(call.argument(1)?.size());
    Some(pairs.at(f64::from(directions)).plus(Cost::exactly(1)).into())
}
