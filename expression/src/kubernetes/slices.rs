//! Lists made of lists: `[3, 1, 2].sort()`, `lists.range(3)`, `[[1], [2]].flatten()`.

use std::cmp::Ordering;

use super::costs::sized;
use super::{LONGEST_LIST, int, list};
use crate::cost::{CallEstimate, Cost, LIST_CREATION, Node, Size, TRAVERSAL};
use crate::effort;
use crate::error::Error;
use crate::library::{Library, Macro, Overload};
use crate::operate::{compare, equals};
use crate::types::Type;
use crate::value::Value;
use crate::value::data::List;

/// How often sorting compares an element of a long list.
const COMPARISONS: u64 = 20;

pub(super) fn library() -> Library {
    let sort = comparable!("_sort")
        .map(|(id, ty)| sorting(Overload::member(id, [Type::list(ty.clone())], Type::list(ty), |a| sorted(a, 0))));
    let sort_by = comparable!("_sortByAssociatedKeys")
        .map(|(id, key)| sorting_by(Overload::member(id, [any(), Type::list(key)], any(), |a| sorted(a, 1))));
    let range = outgoing(Overload::global("lists_range", [Type::Int], Type::list(Type::Int), range))
        .estimate(|call| Some(allocating(Size::exactly(literal(call.argument(0)?, u64::MAX)), 1.0)));
    let reverse = outgoing(Overload::member("list_reverse", [any()], any(), reverse))
        .estimate(|call| Some(allocating(call.target()?.size(), 1.0)));
    let distinct = self_comparing(Overload::member("list_distinct", [any()], any(), distinct), 0)
        .estimate(|call| Some(squared(call.target()?.size(), 2.0)));
    Library::new()
        .with_macro(Macro::SortBy)
        .function("slice", [slices()])
        .function("flatten", flattened().map(flattening))
        .function("sort", sort)
        .function("@sortByAssociatedKeys", sort_by)
        .function("lists.range", [range])
        .function("reverse", [reverse])
        .function("distinct", [distinct])
}

fn any() -> Type {
    Type::list(Type::param("T"))
}

fn slices() -> Overload {
    outgoing(Overload::member("list_slice", [any(), Type::Int, Type::Int], any(), slice)).estimate(|call| {
        let start = literal(call.argument(0)?, 0);
        let end = literal(call.argument(1)?, call.target()?.size().max);
        // As in Go, a slice that ends before it starts is endless.
        Some(allocating(Size::exactly(end.wrapping_sub(start)), 1.0))
    })
}

fn flattened() -> [Overload; 2] {
    let unknown = || Type::list(Type::Dyn);
    [
        Overload::member("list_flatten", [Type::list(any())], any(), |a| flatten(a, 1)),
        Overload::member("list_flatten_int", [unknown(), Type::Int], unknown(), |a| flatten(a, int(a, 1)?)),
    ]
}

/// A number that is written there, negative ones as nothing.
fn literal(node: &Node<'_>, otherwise: u64) -> u64 {
    node.literal_int().map_or(otherwise, |value| u64::try_from(value).unwrap_or(0))
}

fn allocating(size: Size, factor: f64) -> CallEstimate {
    sized(size.at(factor).plus(Cost::exactly(1 + LIST_CREATION)), size)
}

fn squared(size: Size, factor: f64) -> CallEstimate {
    allocating(size.times(size), factor)
}

/// Costs what the result is long.
fn outgoing(overload: Overload) -> Overload {
    overload.cost_if_known(|_, result| Some(allocated(result.map_or(1, Value::size), 1.0)))
}

fn allocated(size: u64, factor: f64) -> u64 {
    ((size as f64 * factor) as u64).saturating_add(1 + LIST_CREATION)
}

fn flattening(overload: Overload) -> Overload {
    overload
        .cost_if_known(|arguments, _| {
            let depth = arguments.get(1).and_then(Value::as_int).unwrap_or(1);
            Some(allocated(arguments.first()?.size(), if depth < 0 { 1.0 } else { depth as f64 }))
        })
        .estimate(|call| {
            let depth = call.argument(0).map_or(1, |depth| literal(depth, u64::MAX));
            Some(allocating(call.target()?.size(), depth as f64))
        })
}

/// Elements are compared with each other, twice in each pair; comparing texts costs a little more.
fn self_comparing(overload: Overload, keys: usize) -> Overload {
    match keys {
        0 => overload.cost_if_known(|arguments, _| self_compared(arguments.first()?)),
        _ => overload.cost_if_known(|arguments, _| self_compared(arguments.get(1)?)),
    }
}

fn self_compared(keys: &Value<'_>) -> Option<u64> {
    let size = keys.size();
    let is_text = matches!(keys.as_list()?.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))));
    Some(allocated(size.saturating_mul(size), if is_text { 2.0 + TRAVERSAL } else { 2.0 }))
}

fn sorting(overload: Overload) -> Overload {
    let overload = self_comparing(overload, 0).singleton();
    match &overload.parameters[0] {
        Type::List(items) if matches!(**items, Type::String | Type::Bytes) => {
            overload.estimate(|call| Some(squared(call.target()?.size(), 2.0 + TRAVERSAL)))
        }
        _ => overload.estimate(|call| Some(squared(call.target()?.size(), 2.0))),
    }
}

fn sorting_by(overload: Overload) -> Overload {
    let overload = self_comparing(overload, 1).singleton();
    match &overload.parameters[1] {
        Type::List(items) if matches!(**items, Type::String | Type::Bytes) => {
            overload.estimate(|call| Some(squared(call.argument(0)?.size(), 2.0 + TRAVERSAL)))
        }
        _ => overload.estimate(|call| Some(squared(call.argument(0)?.size(), 2.0))),
    }
}

fn slice<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let (list, start, end) = (list(arguments, 0)?, int(arguments, 1)?, int(arguments, 2)?);
    let refuse = |why: &str| Error::new(format!("cannot slice({start}, {end}), {why}"));
    let (Ok(from), Ok(to)) = (usize::try_from(start), usize::try_from(end)) else {
        return Err(refuse("negative indexes not supported"));
    };
    if from > to {
        return Err(refuse("start index must be less than or equal to end index"));
    }
    if to > list.len() {
        return Err(refuse(&format!("list is length {}", list.len())));
    }
    let part: Result<Vec<_>, _> = (from..to).filter_map(|index| list.get(index)).collect();
    Ok(part?.into())
}

fn flatten<'a>(arguments: &[Value<'a>], depth: i64) -> Result<Value<'a>, Error> {
    if depth < 0 {
        return Err(Error::new("level must be non-negative"));
    }
    let mut out = Vec::new();
    flatten_into(&mut out, list(arguments, 0)?, depth)?;
    Ok(out.into())
}

fn flatten_into<'a>(out: &mut Vec<Value<'a>>, from: &List<'a>, depth: i64) -> Result<(), Error> {
    for element in from.iter() {
        match element? {
            Value::List(inner) if depth > 0 => flatten_into(out, &inner, depth - 1)?,
            element => out.push(element),
        }
        if out.len() > LONGEST_LIST {
            return Err(Error::Cost);
        }
    }
    Ok(())
}

fn range<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let size = int(arguments, 0)?;
    if size < 0 {
        return Err(Error::new(format!("lists.range: size must be non-negative, got {size}")));
    }
    if size > LONGEST_LIST as i64 {
        return Err(Error::new(format!("lists.range: size {size} exceeds maximum allowed ({LONGEST_LIST})")));
    }
    Ok((0..size).map(Value::Int).collect::<Vec<_>>().into())
}

fn reverse<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let mut elements = list(arguments, 0)?.to_vec()?;
    elements.reverse();
    Ok(elements.into())
}

fn distinct<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let mut out: Vec<Value<'a>> = Vec::new();
    for element in list(arguments, 0)?.iter() {
        let element = element?;
        // What it costs is known only afterwards.
        effort::spend(out.len() as u64)?;
        if !out.iter().any(|other| equals(&element, other)) {
            out.push(element);
        }
    }
    Ok(out.into())
}

/// The list of the first argument, in the order of the keys in the other one.
fn sorted<'a>(arguments: &[Value<'a>], keys: usize) -> Result<Value<'a>, Error> {
    effort::spend(list(arguments, keys)?.len() as u64 * COMPARISONS)?;
    let (elements, keys) = (list(arguments, 0)?.to_vec()?, list(arguments, keys)?.to_vec()?);
    if elements.len() != keys.len() {
        let (length, other) = (elements.len(), keys.len());
        return Err(Error::new(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {length} and \
             {other} elements respectively"
        )));
    }
    let Some(first) = keys.first() else { return Ok(elements.into()) };
    if compare(first, first).is_none() && !matches!(first, Value::Double(_)) {
        return Err(Error::new("list elements must be comparable"));
    }
    if keys.iter().any(|key| key.ty().name() != first.ty().name()) {
        return Err(Error::new("list elements must have the same type"));
    }
    let mut order: Vec<(Value<'a>, Value<'a>)> = keys.into_iter().zip(elements).collect();
    order.sort_by(|one, two| total(&one.0, &two.0));
    Ok(order.into_iter().map(|(_, element)| element).collect::<Vec<_>>().into())
}

/// Values that are not numbers have a place too: sorting must end.
fn total(one: &Value<'_>, two: &Value<'_>) -> Ordering {
    match (one, two) {
        (Value::Double(one), Value::Double(two)) => one.total_cmp(two),
        _ => compare(one, two).unwrap_or(Ordering::Equal),
    }
}
