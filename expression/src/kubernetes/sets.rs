//! Lists taken as sets: `sets.contains([1, 2], [2])`.

use super::list;
use crate::cost::Cost;
use crate::data::List;
use crate::library::{Library, Overload};
use crate::operate::equals;
use crate::types::Type;
use crate::value::{Error, Value};

pub(super) fn library() -> Library {
    let of = || Type::list(Type::param("T"));
    let overload = |id, run| Overload::global(id, [of(), of()], Type::Bool, run);
    let once = |overload: Overload| overload.cost_if_known(|a, _| compared(a, 1)).estimate(|call| comparing(call, 1));
    let twice = |overload: Overload| overload.cost_if_known(|a, _| compared(a, 2)).estimate(|call| comparing(call, 2));
    Library::new()
        .function(
            "sets.contains",
            [once(overload("list_sets_contains_list", |a| Ok(contains(list(a, 0)?, list(a, 1)?)?.into())))],
        )
        .function(
            "sets.intersects",
            [once(overload("list_sets_intersects_list", |a| Ok(intersects(list(a, 0)?, list(a, 1)?)?.into())))],
        )
        .function(
            "sets.equivalent",
            [twice(overload("list_sets_equivalent_list", |a| {
                Ok((contains(list(a, 0)?, list(a, 1)?)? && contains(list(a, 1)?, list(a, 0)?)?).into())
            }))],
        )
}

fn has(list: &List<'_>, value: &Value<'_>) -> Result<bool, Error> {
    for element in list.iter() {
        if equals(&element?, value) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn contains(list: &List<'_>, others: &List<'_>) -> Result<bool, Error> {
    for other in others.iter() {
        if !has(list, &other?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn intersects(list: &List<'_>, others: &List<'_>) -> Result<bool, Error> {
    for value in list.iter() {
        if has(others, &value?)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Every element is compared with every other, once or once in each direction.
fn compared(arguments: &[Value<'_>], directions: u64) -> Option<u64> {
    let pairs = arguments.first()?.size().saturating_mul(arguments.get(1)?.size());
    Some(pairs.saturating_mul(directions).saturating_add(1))
}

fn comparing(call: &crate::library::Call<'_>, directions: u32) -> Option<crate::cost::CallEstimate> {
    let pairs = call.argument(0)?.size().times(call.argument(1)?.size());
    Some(pairs.at(f64::from(directions)).plus(Cost::exactly(1)).into())
}
