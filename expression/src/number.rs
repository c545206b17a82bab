//! Numbers: comparisons across their types, conversions that lose nothing, and how Go writes a double.

use std::cmp::Ordering;

use crate::error::Error;

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
const TWO_TO_64: f64 = 18_446_744_073_709_551_616.0;

pub(crate) fn int_overflow() -> Error {
    Error::new("integer overflow")
}

pub(crate) fn uint_overflow() -> Error {
    Error::new("unsigned integer overflow")
}

/// Truncates; the smallest int is refused as well, as cel-go does.
pub(crate) fn to_int(number: f64) -> Option<i64> {
    (number > -TWO_TO_63 && number < TWO_TO_63).then_some(number as i64)
}

pub(crate) fn to_uint(number: f64) -> Option<u64> {
    (0.0..TWO_TO_64).contains(&number).then_some(number as u64)
}

pub(crate) fn exact_int(number: f64) -> Option<i64> {
    to_int(number).filter(|int| *int as f64 == number)
}

pub(crate) fn exact_uint(number: f64) -> Option<u64> {
    to_uint(number).filter(|uint| *uint as f64 == number)
}

pub(crate) fn double_int(one: f64, two: i64) -> Option<Ordering> {
    if one < -TWO_TO_63 {
        Some(Ordering::Less)
    } else if one > TWO_TO_63 {
        Some(Ordering::Greater)
    } else {
        one.partial_cmp(&(two as f64))
    }
}

pub(crate) fn double_uint(one: f64, two: u64) -> Option<Ordering> {
    if one < 0.0 {
        Some(Ordering::Less)
    } else if one > TWO_TO_64 {
        Some(Ordering::Greater)
    } else {
        one.partial_cmp(&(two as f64))
    }
}

/// As Go's `%g`: with an exponent from seven digits on and below 0.0001.
pub fn format_double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
        return with_exponent(number);
    }
    format!("{number}")
}

/// The shortest digits with an exponent of at least two digits, as in `1e+21`.
fn with_exponent(number: f64) -> String {
    let text = format!("{number:e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    match exponent.strip_prefix('-') {
        Some(exponent) => format!("{digits}e-{exponent:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::format_double;

    #[test]
    fn doubles_are_written_as_go_writes_them() {
        for (number, text) in [
            (1.0, "1"),
            (0.1, "0.1"),
            (1e20, "1e+20"),
            (123_456.5, "123456.5"),
            (1_234_567.0, "1.234567e+06"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (-1.5e300, "-1.5e+300"),
            (f64::INFINITY, "+Inf"),
            (-0.0, "-0"),
        ] {
            assert_eq!(format_double(number), text);
        }
    }
}
