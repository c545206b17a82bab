//! Quantities as whole numbers, for adding up and comparing.

use openapi::scalar::quantity::canonical;

/// How many `1/parts` the quantity is, rounded up; what is too large is as large as can be. `None` if it is none.
pub fn units(text: &str, parts: i64) -> Option<i64> {
    let units = exact(text, i128::from(parts))?;
    Some(i64::try_from(units).unwrap_or(if units < 0 { i64::MIN } else { i64::MAX }))
}

fn exact(text: &str, parts: i128) -> Option<i128> {
    let text = canonical(text).ok()?;
    let (number, suffix) = split(&text);
    let (times, per) = magnitude(suffix)?;
    let scaled = number.parse::<i128>().ok()?.checked_mul(times)?.checked_mul(parts)?;
    Some(scaled.div_euclid(per) + i128::from(scaled.rem_euclid(per) != 0))
}

fn split(canonical: &str) -> (&str, &str) {
    let end = canonical.find(|c: char| c != '-' && !c.is_ascii_digit());
    canonical.split_at(end.unwrap_or(canonical.len()))
}

/// The smallest part that a quantity has.
const NANO: i128 = 1_000_000_000;

/// The quantity as a number, as close as that can be. `None` if it is none.
pub fn approximate(text: &str) -> Option<f64> {
    Some(exact(text, NANO)? as f64 / NANO as f64)
}

/// An amount of a resource as Kubernetes prints it: processors are counted in thousandths, memory in powers of 1024.
pub fn told(resource: &str, amount: i64) -> String {
    let told = match resource {
        "cpu" => canonical(&format!("{amount}m")).ok().map(std::borrow::Cow::into_owned),
        "memory" | "ephemeral-storage" if amount.abs() >= 1024 => bytes(i128::from(amount)),
        _ => None,
    };
    told.unwrap_or_else(|| amount.to_string())
}

/// All of them together, as Go prints the sum: in binary if the first that is not nothing is. `None` if one is no
/// quantity.
pub fn sum<'a>(quantities: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let (mut all, mut binary) = (0_i128, false);
    for text in quantities {
        if all == 0 {
            binary = split(&canonical(text).ok()?).1.ends_with('i');
        }
        all = all.checked_add(exact(text, NANO)?)?;
    }
    let whole = all.div_euclid(NANO) + i128::from(all.rem_euclid(NANO) != 0);
    if binary && whole.abs() >= 1024 { bytes(whole) } else { Some(canonical(&format!("{all}n")).ok()?.into_owned()) }
}

/// A number of bytes, as Go prints it.
pub fn bytes(number: i128) -> Option<String> {
    let text = match number {
        _ if number.abs() < 1024 => number.to_string(),
        _ if number % 1024 == 0 => format!("{}Ki", number / 1024),
        _ => return Some(number.to_string()),
    };
    Some(canonical(&text).ok()?.into_owned())
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
    fn amounts_are_told_as_kubernetes_tells_them() {
        let told = |resource: &str, amount: i64| super::told(resource, amount);
        assert_eq!((told("cpu", 2000), told("cpu", 250)), ("2".to_owned(), "250m".to_owned()));
        assert_eq!((told("memory", 64 << 20), told("memory", 1000)), ("64Mi".to_owned(), "1000".to_owned()));
        assert_eq!((told("pods", 110), told("memory", 1025)), ("110".to_owned(), "1025".to_owned()));
    }

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

    #[test]
    fn sums_are_printed_as_go_prints_them() {
        let cases: [(&[&str], &str); 9] = [
            (&[], "0"),
            (&["100m", "1"], "1100m"),
            (&["1500m", "500m"], "2"),
            (&["1Gi", "512Mi"], "1536Mi"),
            (&["0", "1Ki", "1k"], "2024"),
            (&["512", "512"], "1024"),
            (&["1k", "1Ki"], "2024"),
            (&["16Gi", "16Gi"], "32Gi"),
            (&["1n", "1"], "1000000001n"),
        ];
        for (quantities, expect) in cases {
            assert_eq!(sum(quantities.iter().copied()).as_deref(), Some(expect), "{quantities:?}");
        }
        assert_eq!(sum(["1", "much"]), None);
        assert_eq!(approximate("1500m"), Some(1.5));
        assert_eq!((bytes(1000).as_deref(), bytes(2000).as_deref()), (Some("1k"), Some("2000")));
    }
}
