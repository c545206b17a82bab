//! Follows the steps of a path through an object.

use super::parse::{Operator, Part, Slice, Step};
use serde_json::Value;
use std::cmp::Ordering;

/// Values that one search looks at. More than that is no column but a path that multiplies: `[0,0][0,0][0,0]...`
const LOOKS_MAX: usize = 1 << 17;

type Found<'a> = Vec<&'a Value>;

/// The search cannot go on. A filter that asks whether there is anything takes what was there for an answer.
pub(super) struct Stuck<'a>(Found<'a>);

pub(super) fn find<'a>(parts: &'a [Part], object: &'a Value) -> Result<Found<'a>, Stuck<'a>> {
    let mut search = Search { left: LOOKS_MAX };
    let mut first = None;
    for part in parts {
        if let Part::Steps(steps) = part {
            let found = search.all(vec![object], steps)?;
            first.get_or_insert(found);
        }
    }
    Ok(first.unwrap_or_default())
}

struct Search {
    left: usize,
}

impl Search {
    fn all<'a>(&mut self, mut found: Found<'a>, steps: &'a [Step]) -> Result<Found<'a>, Stuck<'a>> {
        for step in steps {
            found = self.one(found, step)?;
            self.looked_at(found.len().max(1))?;
        }
        Ok(found)
    }

    fn looked_at<'a>(&mut self, values: usize) -> Result<(), Stuck<'a>> {
        let left = self.left.checked_sub(values);
        self.left = left.unwrap_or(0);
        left.map(drop).ok_or(Stuck(Vec::new()))
    }

    fn one<'a>(&mut self, from: Found<'a>, step: &'a Step) -> Result<Found<'a>, Stuck<'a>> {
        Ok(match step {
            Step::Field(name) => from.into_iter().filter_map(|value| value.as_object()?.get(name)).collect(),
            Step::Wildcard => from.into_iter().flat_map(children).collect(),
            Step::Descent => {
                let mut found = Vec::new();
                self.descend(from, &mut found)?;
                found
            }
            Step::Slice(slice) => return sliced(from, *slice),
            Step::Union(paths) => {
                let mut found = Vec::new();
                for path in paths {
                    found.extend(self.all(from.clone(), path).map_err(|_| Stuck(from.clone()))?);
                }
                found
            }
            Step::Filter { left, test } => return self.filtered(from, left, test.as_ref()),
            Step::Literal(text @ Value::String(_)) => vec![text],
            Step::Literal(value) => vec![value; from.len()],
            Step::Word => return Err(Stuck(from)),
        })
    }

    /// As deep as the object is, which was read from text that may be only so deep.
    fn descend<'a>(&mut self, from: Found<'a>, found: &mut Found<'a>) -> Result<(), Stuck<'a>> {
        for value in from {
            self.looked_at(1)?;
            let inside = children(value);
            if !inside.is_empty() || value.as_str().is_some_and(|text| !text.is_empty()) {
                found.push(value);
                self.descend(inside, found)?;
            }
        }
        Ok(())
    }

    fn filtered<'a>(
        &mut self,
        from: Found<'a>,
        left: &'a [Step],
        test: Option<&'a (Operator, Vec<Step>)>,
    ) -> Result<Found<'a>, Stuck<'a>> {
        let mut found = Vec::new();
        for value in &from {
            let Value::Array(items) = value else { return Err(Stuck(from)) };
            for item in items {
                self.looked_at(1)?;
                match self.passes(item, left, test) {
                    Ok(true) => found.push(item),
                    Ok(false) => {}
                    Err(Unfit::Many) => return Err(Stuck(from)),
                    Err(Unfit::Unlike) => return Err(Stuck(found)),
                }
            }
        }
        Ok(found)
    }

    fn passes(&mut self, item: &Value, left: &[Step], test: Option<&(Operator, Vec<Step>)>) -> Result<bool, Unfit> {
        let lefts = self.all(vec![item], left);
        let Some((operator, right)) = test else {
            return Ok(!lefts.unwrap_or_else(|Stuck(there)| there).is_empty());
        };
        let Some(left) = at_most_one(lefts)? else { return Ok(false) };
        let Some(right) = at_most_one(self.all(vec![item], right))? else { return Ok(false) };
        compare(left, *operator, right).ok_or(Unfit::Unlike)
    }
}

/// Why a filter cannot compare.
enum Unfit {
    /// A side is more than one value, or cannot be found out.
    Many,
    /// The two sides have no order.
    Unlike,
}

fn at_most_one<'a>(found: Result<Found<'a>, Stuck<'a>>) -> Result<Option<&'a Value>, Unfit> {
    match found.as_deref() {
        Ok([]) => Ok(None),
        Ok([one]) => Ok(Some(*one)),
        _ => Err(Unfit::Many),
    }
}

/// What is directly inside of a value. Go finds the bytes of a text inside of it; nobody has ever wanted them.
fn children(value: &Value) -> Found<'_> {
    match value {
        Value::Object(fields) => fields.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

fn sliced(from: Found<'_>, slice: Slice) -> Result<Found<'_>, Stuck<'_>> {
    let mut found = Vec::new();
    for value in &from {
        let items = match value {
            Value::Null => continue,
            Value::Array(items) => items,
            _ => return Err(Stuck(from)),
        };
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let (start, end) = bounds(slice, length);
        // Nothing at all is always there.
        if start == end {
            return Ok(found);
        }
        let (Ok(first), Ok(last)) = (usize::try_from(start), usize::try_from(end)) else { return Err(Stuck(from)) };
        let step = slice.step.map_or(Ok(1), usize::try_from);
        match (items.get(first..last), step) {
            (Some(range), Ok(step @ 1..)) if first < items.len() => found.extend(range.iter().step_by(step)),
            _ => return Err(Stuck(from)),
        }
    }
    Ok(found)
}

/// From where to where; what is negative counts from the end.
fn bounds(slice: Slice, length: i64) -> (i64, i64) {
    let from_end = |at: i64| if at < 0 { at.wrapping_add(length) } else { at };
    let start = slice.start.unwrap_or(0);
    let end = match slice.end {
        // `[-1]` ends at nothing, which is the end.
        None if slice.single && start == -1 => length,
        None if slice.single => from_end(start.wrapping_add(1)),
        None => length,
        Some(end) => from_end(end),
    };
    (from_end(start), end)
}

/// `None` for values that cannot be compared like this.
fn compare(left: &Value, operator: Operator, right: &Value) -> Option<bool> {
    let is_ordered = !left.is_boolean();
    let order = order(left, right)?;
    match operator {
        Operator::Equal => Some(order == Ordering::Equal),
        Operator::NotEqual => Some(order != Ordering::Equal),
        Operator::Less => is_ordered.then_some(order.is_lt()),
        Operator::LessOrEqual => is_ordered.then_some(order.is_le()),
        Operator::Greater => is_ordered.then_some(order.is_gt()),
        Operator::GreaterOrEqual => is_ordered.then_some(order.is_ge()),
        Operator::Unknown => None,
    }
}

/// Whole numbers and fractions are of different types to Go.
fn order(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
        (Value::Number(left), Value::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => Some(left.cmp(&right)),
            (None, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
            _ => None,
        },
        _ => None,
    }
}
