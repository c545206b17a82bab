//! Costs that many functions share.

use crate::cost::{CallEstimate, Cost, Node, Size, TRAVERSAL, scale};
use crate::library::{Call, Overload};
use crate::value::Value;

pub(super) trait Costs {
    /// One, whatever the arguments are.
    fn nominal(self) -> Self;

    /// The first argument is read once.
    fn reading(self) -> Self;

    /// The first argument is read once, and what results is as long.
    fn copying(self) -> Self;
}

impl Costs for Overload {
    fn nominal(self) -> Overload {
        self.cost(|_, _| Some(1)).estimate(|_| Some(Cost::exactly(1).into()))
    }

    fn reading(self) -> Overload {
        self.cost(read).estimate(|call| Some(subject(call)?.size().at(TRAVERSAL).into()))
    }

    fn copying(self) -> Overload {
        self.cost(read).estimate(|call| {
            let size = subject(call)?.size();
            Some(sized(size.at(TRAVERSAL), size))
        })
    }
}

fn read(arguments: &[Value<'_>], _: Option<&Value<'_>>) -> Option<u64> {
    Some(scale(arguments.first()?.size(), TRAVERSAL))
}

/// The target of a member function, the first argument of any other.
fn subject<'c, 'a>(call: &'c Call<'a>) -> Option<&'c Node<'a>> {
    call.target().or_else(|| call.argument(0))
}

pub(super) fn sized(cost: Cost, result: Size) -> CallEstimate {
    CallEstimate { cost, result: Some(result) }
}

/// Reading a pattern against a text. An empty text counts as one character, or patterns on it would be free.
pub(super) fn matching(text: Size, pattern: Size) -> Cost {
    text.plus(Size::exactly(1)).at(TRAVERSAL).times(pattern.at(crate::cost::PATTERN))
}

/// The same while running.
pub(super) fn matched(text: u64, pattern: u64) -> u64 {
    scale(text.saturating_add(1), TRAVERSAL).saturating_mul(scale(pattern, crate::cost::PATTERN))
}

/// Every string and number in a value, and in what it is made of.
pub(super) fn traversed(value: &Value<'_>) -> u64 {
    match value {
        Value::String(text) => (text.len() as f64 * TRAVERSAL) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * TRAVERSAL) as u64,
        Value::List(list) => list.iter().flatten().map(|element| traversed(&element)).fold(0, u64::saturating_add),
        Value::Map(map) => {
            let entries = map.entries().unwrap_or_default();
            entries
                .iter()
                .map(|(key, value)| traversed(key).saturating_add(traversed(value)))
                .fold(0, u64::saturating_add)
        }
        _ => 1,
    }
}
