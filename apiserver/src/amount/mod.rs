//! Quantities that can be added and compared, and are printed as Go prints them.

mod pods;

pub(crate) use pods::{Sums, is_of_pods};

use openapi::scalar::quantity;
use openapi::validation::amount;
use serde_json::{Map, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

const NANOS: i128 = 1_000_000_000;
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Decimal,
    Exponent,
    Binary,
}

/// One quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    nanos: i128,
    format: Format,
}

/// Quantities by the name of what they are of.
pub(crate) type Amounts = BTreeMap<String, Amount>;

impl Amount {
    pub(crate) const ZERO: Self = Self { nanos: 0, format: Format::Decimal };

    pub(crate) fn whole(number: usize) -> Self {
        let nanos = i128::try_from(number).unwrap_or(i128::MAX).saturating_mul(NANOS);
        Self { nanos, format: Format::Decimal }
    }

    pub(crate) fn of(value: &Value) -> Self {
        let text = value.as_str().unwrap_or_default();
        let format = if text.ends_with('i') {
            Format::Binary
        } else if text.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '+').ends_with(['e', 'E']) {
            Format::Exponent
        } else {
            Format::Decimal
        };
        // A text such as `5E` is of 10^18, not of an exponent that is missing.
        let format = if text.ends_with(['e', 'E']) { Format::Decimal } else { format };
        Self { nanos: amount::nanos(value), format }
    }

    pub(crate) fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Zero has no format of its own.
    pub(crate) fn plus(self, other: Self) -> Self {
        let format = if self.is_zero() { other.format } else { self.format };
        Self { nanos: self.nanos.saturating_add(other.nanos), format }
    }

    /// What is left, and never less than nothing.
    pub(crate) fn minus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_sub(other.nanos).max(0), ..self }
    }

    /// Rounded up to a whole number.
    pub(crate) fn rounded_up(self) -> Self {
        let rest = self.nanos.rem_euclid(NANOS);
        if rest == 0 { self } else { Self { nanos: self.nanos - rest + NANOS, ..self } }
    }

    /// How many of these are one of `other`.
    pub(crate) fn ratio(self, other: Self) -> f64 {
        self.nanos as f64 / other.nanos as f64
    }

    pub(crate) fn exceeds_ratio(self, ratio: f64) -> bool {
        ratio > self.nanos as f64 / NANOS as f64
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.format == Format::Binary && self.nanos % NANOS == 0 {
            let (mut number, mut unit) = (self.nanos / NANOS, 0);
            while number != 0 && number % 1024 == 0 && unit + 1 < BINARY.len() {
                number /= 1024;
                unit += 1;
            }
            return if unit == 0 { decimal(f, self.nanos, "n") } else { write!(f, "{number}{}", BINARY[unit]) };
        }
        decimal(f, self.nanos, if self.format == Format::Exponent { "e-9" } else { "n" })
    }
}

fn decimal(f: &mut fmt::Formatter<'_>, nanos: i128, suffix: &str) -> fmt::Result {
    let text = format!("{nanos}{suffix}");
    f.write_str(&quantity::canonical(&text).unwrap_or_else(|_| "0".into()))
}

/// The quantities of a `limits`, a `requests` or a `hard`.
pub(crate) fn amounts(value: Option<&Value>) -> Amounts {
    let map = value.and_then(Value::as_object);
    map.into_iter().flatten().map(|(name, value)| (name.clone(), Amount::of(value))).collect()
}

pub(crate) fn to_value(amounts: &Amounts) -> Value {
    let texts = amounts.iter().map(|(name, amount)| (name.clone(), Value::String(amount.to_string())));
    Value::Object(texts.collect::<Map<_, _>>())
}

/// Adds what `more` has to what is there.
pub(crate) fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = sum.entry(name.clone()).or_insert(Amount { nanos: 0, ..*amount });
        *sum = sum.plus(*amount);
    }
}

/// Takes from `others` whatever is more.
pub(crate) fn raise(most: &mut Amounts, others: &Amounts) {
    for (name, amount) in others {
        let most = most.entry(name.clone()).or_insert(*amount);
        if amount > most {
            *most = *amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_printed_as_go_prints_them() {
        let sum = |a: &str, b: &str| Amount::of(&a.into()).plus(Amount::of(&b.into())).to_string();
        assert_eq!(sum("100m", "1"), "1100m");
        assert_eq!(sum("0", "1Gi"), "1Gi");
        assert_eq!(sum("512Mi", "512Mi"), "1Gi");
        assert_eq!(sum("1Gi", "1M"), "1074741824");
        assert_eq!(sum("1", "1"), "2");
        assert_eq!(sum("500M", "500M"), "1G");
        assert_eq!(sum("1e3", "1e3"), "2e3");
        assert_eq!(Amount::of(&"1500m".into()).rounded_up().to_string(), "2");
    }
}
