//! Numbers of any two types, compared by what they stand for.

use std::cmp::Ordering;

use crate::number::{double_int, double_uint};

use super::Value;

/// `None` when one is not a number at all.
pub(crate) fn compare_numbers(one: &Value<'_>, two: &Value<'_>) -> Option<Ordering> {
    match (one, two) {
        (Value::Int(one), Value::Int(two)) => Some(one.cmp(two)),
        (Value::Uint(one), Value::Uint(two)) => Some(one.cmp(two)),
        (Value::Double(one), Value::Double(two)) => one.partial_cmp(two),
        (Value::Int(one), Value::Uint(two)) => Some(i128::from(*one).cmp(&i128::from(*two))),
        (Value::Uint(one), Value::Int(two)) => Some(i128::from(*one).cmp(&i128::from(*two))),
        (Value::Double(one), Value::Int(two)) => double_int(*one, *two),
        (Value::Int(one), Value::Double(two)) => double_int(*two, *one).map(Ordering::reverse),
        (Value::Double(one), Value::Uint(two)) => double_uint(*one, *two),
        (Value::Uint(one), Value::Double(two)) => double_uint(*two, *one).map(Ordering::reverse),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use super::{Value, compare_numbers};

    #[test]
    fn numbers_of_different_types_are_compared_by_what_they_are() {
        let check = |one: Value<'_>, two: Value<'_>, order| assert_eq!(compare_numbers(&one, &two), order);
        check(Value::Int(-1), Value::Uint(u64::MAX), Some(Ordering::Less));
        check(Value::Int(3), Value::Double(3.5), Some(Ordering::Less));
        check(Value::Uint(3), Value::Double(3.0), Some(Ordering::Equal));
        check(Value::Double(f64::NAN), Value::Int(0), None);
        check(Value::Double(1e300), Value::Uint(1), Some(Ordering::Greater));
        check(Value::Double(-1e300), Value::Int(i64::MIN), Some(Ordering::Less));
    }
}
