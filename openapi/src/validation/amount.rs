//! Quantities as numbers, to compare them.

use serde_json::Value;

use crate::scalar::quantity;

const NANOS: i128 = 1_000_000_000;

/// How much a quantity says, in billionths; the largest number for what is larger still. No quantity says nothing.
pub fn nanos(value: &Value) -> i128 {
    match value {
        Value::String(text) => read(text).unwrap_or(0),
        Value::Number(number) => read(&number.to_string()).unwrap_or(0),
        _ => 0,
    }
}

/// As Go gives it back.
pub fn text(value: &Value) -> String {
    let spelled = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        _ => "0".to_owned(),
    };
    quantity::canonical(&spelled).map_or(spelled.clone(), |text| text.into_owned())
}

pub(super) fn is_whole(value: &Value) -> bool {
    // Go looks at thousandths only, rounded up.
    let millis = nanos(value).div_euclid(1_000_000) + i128::from(nanos(value).rem_euclid(1_000_000) > 0);
    millis % 1000 == 0
}

/// Rounded away from zero, as Go does.
pub(super) fn whole(value: &Value) -> i128 {
    let nanos = nanos(value);
    let cut = nanos / NANOS;
    if nanos % NANOS == 0 { cut } else { cut + nanos.signum() }
}

fn read(text: &str) -> Option<i128> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (negative, digits) = match number.as_bytes().first()? {
        b'-' => (true, &number[1..]),
        b'+' => (false, &number[1..]),
        _ => (false, number),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let (scale, places) = scale(suffix)?;
    let mantissa: i128 = format!("0{whole}{fraction}").parse().unwrap_or(i128::MAX);
    let exponent = 9 + places - i64::try_from(fraction.len()).ok()?;
    let power = 10_i128.checked_pow(u32::try_from(exponent.unsigned_abs()).ok()?).unwrap_or(i128::MAX);
    let scaled = mantissa.saturating_mul(scale);
    let value =
        if exponent >= 0 { scaled.saturating_mul(power) } else { (scaled / power) + i128::from(scaled % power > 0) };
    Some(if negative { -value } else { value })
}

/// A factor and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i64)> {
    let decimal =
        [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
    let binary = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    if let Some((_, power)) = decimal.iter().find(|(name, _)| *name == suffix) {
        return Some((1, *power));
    }
    if let Some((_, bits)) = binary.iter().find(|(name, _)| *name == suffix) {
        return Some((1 << *bits, 0));
    }
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((1, power.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_compared_by_what_they_say() {
        let same = |a: &str, b: &str| assert_eq!(nanos(&a.into()), nanos(&b.into()), "{a} {b}");
        same("1", "1000m");
        same("1Ki", "1024");
        same("1.5Gi", "1536Mi");
        same("12e6", "12M");
        same("0.5", "500m");
        assert!(nanos(&"-1".into()) < 0 && nanos(&"1E".into()) < nanos(&"1Ei".into()));
        assert!(is_whole(&"2".into()) && !is_whole(&"1500m".into()) && is_whole(&"1e3".into()));
    }
}
