//! Quantities: `1.5Gi`, `100m`, `12e6`. [`canonical`] is the one text that equal quantities of one format share.
//!
//! Differs from Go in one point: above the suffix `E`, where Go prints the digits and drops the magnitude
//! (`1000E` becomes `1`), the digits keep the suffix `E`.

use std::borrow::Cow;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Format,
    #[error("unable to parse numeric part of quantity")]
    Number,
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

/// The smallest step: anything finer is rounded up to it.
const NANO: i64 = -9;
/// The smallest step of a resource, such as a container's request.
const MILLI: i64 = -3;
/// Binary quantities are capped here.
const BINARY_MAX: u64 = i64::MAX as u64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    /// `12M`
    Decimal,
    /// `12e6`
    Exponent,
    /// `12Mi`
    Binary,
}

/// A text taken apart: sign, digits before and after the point, suffix.
struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// The text by which Go would print the quantity that `text` says.
pub fn canonical(text: &str) -> Result<Cow<'_, str>, QuantityError> {
    in_steps(text, NANO)
}

/// The same, rounded up to thousandths: no resource is counted in anything finer.
pub fn canonical_in_milli(text: &str) -> Result<Cow<'_, str>, QuantityError> {
    in_steps(text, MILLI)
}

fn in_steps(text: &str, step: i64) -> Result<Cow<'_, str>, QuantityError> {
    let parts = split(text)?;
    let (format, exponent) = interpret(parts.suffix).ok_or(QuantityError::Suffix)?;
    let is_whole = format == Format::Binary || i64::from(exponent) - len(parts.fraction) >= step;
    if is_whole && keeps_its_text(&parts, format, exponent) {
        return Ok(Cow::Borrowed(text));
    }
    let number = &text[..text.len() - parts.suffix.len()];
    if !number.contains(|c: char| c.is_ascii_digit()) {
        return if is_short(&parts, format, exponent) { Ok(Cow::Borrowed("0")) } else { Err(QuantityError::Number) };
    }
    let digits = parts.whole.bytes().chain(parts.fraction.bytes()).map(|byte| byte - b'0').collect();
    let mut number = Number { digits, exponent: -len(parts.fraction) };
    match format {
        Format::Binary => number.multiply(1 << exponent),
        Format::Decimal | Format::Exponent => number.exponent += i64::from(exponent),
    }
    number.round_up(step);
    number.trim();
    let printed = number.print(format);
    Ok(Cow::Owned(if parts.negative && printed != "0" { format!("-{printed}") } else { printed }))
}

fn len(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// As lenient as Go: digits may be missing, and a sign alone is zero.
fn split(text: &str) -> Result<Parts<'_>, QuantityError> {
    if text.is_empty() {
        return Err(QuantityError::Format);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let significant = unsigned.trim_start_matches('0');
    let (whole, rest) = digits_of(significant);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits_of);
    let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let (_, end) = digits_of(letters.strip_prefix(['-', '+']).unwrap_or(letters));
    if !end.is_empty() {
        return Err(QuantityError::Format);
    }
    let whole = if whole.is_empty() { "0" } else { whole };
    Ok(Parts { negative: text.starts_with('-'), whole, fraction, suffix })
}

fn digits_of(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];

/// The suffix's format, and its power of ten (of two, for a binary one).
fn interpret(suffix: &str) -> Option<(Format, i32)> {
    let known = |table: &[(&str, i32)]| table.iter().find(|(name, _)| *name == suffix).map(|(_, power)| *power);
    if let Some(power) = known(&DECIMAL) {
        return Some((Format::Decimal, power));
    }
    if let Some(power) = known(&BINARY) {
        return Some((Format::Binary, power));
    }
    let power = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((Format::Exponent, power))
}

/// Go reads what surely fits an `i64` on a way of its own, which is more lenient and keeps texts.
fn is_short(parts: &Parts, format: Format, exponent: i32) -> bool {
    let (whole, fraction, exponent) = (len(parts.whole), len(parts.fraction), i64::from(exponent));
    match format {
        // A binary suffix is worth three digits for every ten bits.
        Format::Binary => fraction == 0 && whole + exponent * 3 / 10 < 15,
        Format::Decimal | Format::Exponent => whole + fraction <= 18 && exponent - fraction >= NANO,
    }
}

/// Go keeps a short text that is close enough to canonical.
fn keeps_its_text(parts: &Parts, format: Format, exponent: i32) -> bool {
    let canonical = match format {
        Format::Binary => parts.whole.parse::<u64>().is_ok_and(|value| value & 7 != 0),
        Format::Decimal | Format::Exponent => {
            (i64::from(exponent) - len(parts.fraction)) % 3 == 0
                && !ends_in_zeros(parts)
                && !parts.whole.starts_with('0')
        }
    };
    canonical && is_short(parts, format, exponent)
}

fn ends_in_zeros(parts: &Parts) -> bool {
    parts.fraction.bytes().rev().chain(parts.whole.bytes().rev()).take(3).filter(|byte| *byte == b'0').count() == 3
}

/// `0.digits * 10^exponent` without the point: `[1, 5]` and -1 are 1.5. No sign.
struct Number {
    digits: Vec<u8>,
    exponent: i64,
}

impl Number {
    fn multiply(&mut self, by: u64) {
        let mut carry = 0u128;
        for digit in self.digits.iter_mut().rev() {
            carry += u128::from(*digit) * u128::from(by);
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % 10) as u8);
            carry /= 10;
        }
    }

    /// Drops what is finer than `10^exponent`, and makes up for it with one step more.
    fn round_up(&mut self, exponent: i64) {
        let drop = usize::try_from(exponent - self.exponent).unwrap_or(0);
        if drop == 0 {
            return;
        }
        let keep = self.digits.len().saturating_sub(drop);
        let lost = self.digits.drain(keep..).any(|digit| digit != 0);
        self.exponent = exponent;
        if lost {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
    }

    /// Takes zeros off both ends. Zero itself has no digits left.
    fn trim(&mut self) {
        let leading = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..leading);
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
    }

    /// Binary quantities end at [`BINARY_MAX`].
    fn cap(&mut self) {
        let max: Vec<u8> = BINARY_MAX.to_string().bytes().map(|byte| byte - b'0').collect();
        let length = i64::try_from(self.digits.len()).unwrap_or(i64::MAX).saturating_add(self.exponent);
        // Digits of one magnitude compare like texts.
        if (length, &self.digits) > (19, &max) {
            (self.digits, self.exponent) = (max, 0);
        }
    }

    /// The number where it is an integer; it was capped, so that it fits.
    fn integer(&self) -> Option<u64> {
        let zeros = usize::try_from(self.exponent).ok()?;
        let digits = self.digits.iter().copied().chain(std::iter::repeat_n(0, zeros));
        Some(digits.fold(0, |sum, digit| sum * 10 + u64::from(digit)))
    }

    fn print(&mut self, format: Format) -> String {
        if self.digits.is_empty() {
            return "0".to_owned();
        }
        if format != Format::Binary {
            return self.print_decimal(format);
        }
        self.cap();
        match self.integer() {
            Some(value) if value >= 1024 => print_binary(value),
            _ => self.print_decimal(Format::Decimal),
        }
    }

    fn print_decimal(&mut self, format: Format) -> String {
        while self.exponent % 3 != 0 || (format == Format::Decimal && self.exponent > 18) {
            self.digits.push(0);
            self.exponent -= 1;
        }
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        match DECIMAL.iter().find(|(_, power)| i64::from(*power) == self.exponent) {
            _ if format == Format::Exponent && self.exponent != 0 => format!("{digits}e{}", self.exponent),
            Some((suffix, _)) => digits + suffix,
            None => digits,
        }
    }
}

fn print_binary(mut value: u64) -> String {
    let mut suffix = "";
    for (name, _) in BINARY {
        if !value.is_multiple_of(1024) {
            break;
        }
        value /= 1024;
        suffix = name;
    }
    format!("{value}{suffix}")
}
