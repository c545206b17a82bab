//! Decimal numbers of any length: digits, a power of ten, and a sign.

use std::cmp::Ordering;

/// `±digits * 10^exponent`, without leading zeros; zero has no digits.
#[derive(Clone, Debug)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

/// How far apart the exponents of two numbers may be that are added: the sum has as many digits.
const LONGEST: i64 = 10_000;

impl Decimal {
    /// Of ASCII digits.
    pub(super) fn new(negative: bool, digits: impl Iterator<Item = u8>, exponent: i64) -> Decimal {
        let digits = digits.map(|byte| byte - b'0').skip_while(|digit| *digit == 0).collect();
        Decimal { negative, digits, exponent }
    }

    pub(super) fn from_int(value: i64, exponent: i64) -> Decimal {
        Decimal::new(value < 0, value.unsigned_abs().to_string().bytes(), exponent)
    }

    pub(super) fn sign(&self) -> i64 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    pub(super) fn negated(mut self) -> Decimal {
        self.negative = !self.negative;
        self
    }

    pub(super) fn shifted_left(mut self, bits: u32) -> Decimal {
        let mut carry = 0u128;
        for digit in self.digits.iter_mut().rev() {
            carry += u128::from(*digit) << bits;
            *digit = (carry % 10) as u8;
            carry /= 10;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % 10) as u8);
            carry /= 10;
        }
        self
    }

    /// The same with the given exponent; what is finer is rounded away from zero. `None` when that would be very long.
    pub(super) fn rounded(mut self, exponent: i64) -> Option<Decimal> {
        let more = self.exponent - exponent;
        if more > LONGEST {
            return None;
        }
        if more >= 0 {
            if !self.digits.is_empty() {
                self.digits.resize(self.digits.len() + usize::try_from(more).ok()?, 0);
            }
        } else {
            let keep = self.digits.len().saturating_sub(usize::try_from(-more).ok()?);
            let is_inexact = self.digits.drain(keep..).any(|digit| digit != 0);
            if is_inexact {
                self.increment();
            }
        }
        self.exponent = exponent;
        Some(self)
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

    /// `None` when the sum would be very long.
    pub(super) fn plus(&self, other: &Decimal) -> Option<Decimal> {
        let exponent = self.exponent.min(other.exponent);
        let (one, two) = (self.clone().rounded(exponent)?, other.clone().rounded(exponent)?);
        if one.negative == two.negative {
            return Some(Decimal { digits: sum(&one.digits, &two.digits), ..one });
        }
        let (larger, smaller) = if one.magnitude(&two).is_ge() { (one, two) } else { (two, one) };
        let digits = difference(&larger.digits, &smaller.digits);
        Some(Decimal { digits, ..larger })
    }

    /// The order of absolute values.
    fn magnitude(&self, other: &Decimal) -> Ordering {
        if self.digits.is_empty() || other.digits.is_empty() {
            return self.digits.len().min(1).cmp(&other.digits.len().min(1));
        }
        let highest = |number: &Decimal| number.digits.len() as i64 + number.exponent;
        highest(self).cmp(&highest(other)).then_with(|| {
            let length = self.digits.len().max(other.digits.len());
            let padded = |digits: &[u8]| (0..length).map(|at| digits.get(at).copied().unwrap_or(0)).collect::<Vec<_>>();
            padded(&self.digits).cmp(&padded(&other.digits))
        })
    }

    pub(super) fn compare(&self, other: &Decimal) -> Ordering {
        match (self.sign(), other.sign()) {
            (one, two) if one != two => one.cmp(&two),
            (-1, _) => other.magnitude(self),
            _ => self.magnitude(other),
        }
    }

    /// The nearest double to the digits, times the power of ten: nearly, not always, the nearest to the number.
    pub(super) fn to_double(&self) -> f64 {
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let base = digits.parse().unwrap_or(0.0);
        scaled(if self.negative { -base } else { base }, self.exponent)
    }
}

/// A double times a power of ten, computed as Go computes it.
pub(super) fn scaled(base: f64, exponent: i64) -> f64 {
    if exponent == 0 { base } else { base * power_of_ten(exponent) }
}

/// Go has tables of these in steps of 32, and of those below.
fn power_of_ten(exponent: i64) -> f64 {
    let exactly = |exponent: i64| format!("1e{exponent}").parse().unwrap_or(f64::NAN);
    match exponent {
        0..=308 => exactly(exponent / 32 * 32) * exactly(exponent % 32),
        -323..=-1 => exactly(exponent / 32 * 32) / exactly(-exponent % 32),
        309.. => f64::INFINITY,
        _ => 0.0,
    }
}

/// Digit by digit from the end; both numbers have one exponent.
fn sum(one: &[u8], two: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(one.len().max(two.len()) + 1);
    let (mut one, mut two, mut carry) = (one.iter().rev(), two.iter().rev(), 0);
    loop {
        let (one, two) = (one.next(), two.next());
        if one.is_none() && two.is_none() && carry == 0 {
            break;
        }
        let digit = one.copied().unwrap_or(0) + two.copied().unwrap_or(0) + carry;
        out.push(digit % 10);
        carry = digit / 10;
    }
    out.reverse();
    out
}

fn difference(larger: &[u8], smaller: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(larger.len());
    let (mut smaller, mut borrow) = (smaller.iter().rev(), 0);
    for digit in larger.iter().rev() {
        let take = smaller.next().copied().unwrap_or(0) + borrow;
        borrow = u8::from(*digit < take);
        out.push(digit + 10 * borrow - take);
    }
    while out.last() == Some(&0) {
        out.pop();
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Decimal;

    fn number(value: i64, exponent: i64) -> Decimal {
        Decimal::from_int(value, exponent)
    }

    proptest! {
        #[test]
        fn sums_and_orders_are_those_of_integers(one: i64, two: i64, exponent in 0..9i64) {
            let (a, b) = (number(one, exponent), number(two, 0));
            let (wide_a, wide_b) = (i128::from(one) * 10i128.pow(exponent as u32), i128::from(two));
            prop_assert_eq!(a.compare(&b), wide_a.cmp(&wide_b));
            let sum = wide_a + wide_b;
            let expect = Decimal::new(sum < 0, sum.unsigned_abs().to_string().bytes(), 0);
            prop_assert!(a.plus(&b).is_some_and(|sum| sum.compare(&expect).is_eq()));
        }

        #[test]
        fn doubles_are_those_of_the_digits(value: i64) {
            prop_assert_eq!(number(value, 0).to_double(), value as f64);
        }
    }

    #[test]
    fn rounding_goes_away_from_zero() {
        let check = |value, exponent, to, expect| {
            let rounded = number(value, exponent).rounded(to);
            assert!(rounded.is_some_and(|rounded| rounded.compare(&number(expect, to)).is_eq()), "{value}e{exponent}");
        };
        check(1001, -3, 0, 2);
        check(-1001, -3, 0, -2);
        check(999, -3, 0, 1);
        check(1, -100, -9, 1);
        check(2000, -3, 0, 2);
        check(99, -1, 0, 10);
        check(5, 3, 0, 5000);
    }

    #[test]
    fn numbers_too_far_apart_are_not_added() {
        assert!(number(1, i64::from(i32::MAX)).plus(&number(1, 0)).is_none());
        assert!(number(1, i64::from(i32::MAX)).compare(&number(1, 0)).is_gt());
    }
}
