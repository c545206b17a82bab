//! Quantities as whole numbers, for adding up and comparing.

use openapi::scalar::quantity::canonical;

/// How many `1/parts` the quantity is, rounded up; what is too large is as large as can be. `None` if it is none.
pub fn units(text: &str, parts: i64) -> Option<i64> {
    let text = canonical(text).ok()?;
    let (number, suffix) = text.split_at(text.find(|c: char| c != '-' && !c.is_ascii_digit()).unwrap_or(text.len()));
    let (times, per) = magnitude(suffix)?;
    let scaled = number.parse::<i128>().ok()?.checked_mul(times)?.checked_mul(i128::from(parts))?;
    let units = scaled.div_euclid(per) + i128::from(scaled.rem_euclid(per) != 0);
    Some(i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX }))
}

/// What a suffix multiplies by, and divides by.
fn magnitude(suffix: &str) -> Option<(i128, i128)> {
    const THOUSANDS: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
    const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    if let Some(at) = THOUSANDS.iter().position(|known| *known == suffix) {
        let power = |at: usize| 1000_i128.pow(u32::try_from(at).unwrap_or(0));
        return Some((power(at.saturating_sub(3)), power(3_usize.saturating_sub(at))));
    }
    if let Some(at) = BINARY.iter().position(|known| *known == suffix) {
        return Some((1_i128 << (10 * (at + 1)), 1));
    }
    let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    let ten = 10_i128.checked_pow(power.unsigned_abs())?;
    Some(if power < 0 { (1, ten) } else { (ten, 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_counted_in_whole_parts_rounded_up() {
        let cases = [
            ("1", 1000, 1000),
            ("100m", 1000, 100),
            ("1.5", 1000, 1500),
            ("0.0001", 1000, 1),
            ("1Gi", 1, 1 << 30),
            ("1.5Ki", 1, 1536),
            ("2k", 1, 2000),
            ("12e6", 1, 12_000_000),
            ("100m", 1, 1),
            ("-1500m", 1, -1),
        ];
        for (text, parts, expect) in cases {
            assert_eq!(units(text, parts), Some(expect), "{text}");
        }
        assert_eq!(units("much", 1), None);
    }
}
