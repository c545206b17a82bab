//! Quantities: `quantity('1.5Gi').isLessThan(quantity('2G'))`.
//!
//! Read as Kubernetes reads them. It keeps short ones as an integer with a scale and long ones as a decimal; only the
//! former can be asked for as an integer, so the difference is kept here.

use std::cmp::Ordering;

use super::costs::Costs;
use super::decimal::{self, Decimal};
use super::{int, opaque, text};
use crate::cost::Cost;
use crate::error::Error;
use crate::library::{Library, Overload};
use crate::types::Type;
use crate::value::{Opaque, Value};

#[derive(Clone, Debug)]
enum Quantity {
    /// `value * 10^scale`
    Short(i64, i32),
    Long(Decimal),
}

/// The smallest step: anything finer is rounded up to it.
const NANO: i32 = -9;
/// How many digits are sure to fit an integer.
const SHORT_DIGITS: usize = 18;

const FORMAT: &str = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const NUMBER: &str = "unable to parse numeric part of quantity";
const SUFFIX: &str = "unable to parse quantity's suffix";
/// What Kubernetes would compute for as long as its memory lasts.
const TOO_LONG: &str = "quantity has too many digits";

#[derive(Clone, Copy, PartialEq)]
enum Base {
    Ten,
    Two,
}

/// A text taken apart: sign, digits before and after the point, suffix.
struct Parts<'t> {
    negative: bool,
    whole: &'t str,
    fraction: &'t str,
    suffix: &'t str,
    /// Whether there is any digit, leading zeros included.
    has_digits: bool,
}

/// A quantity as a value. Kubernetes keeps computed ones in another way, and can compare nothing with them: they may stand
/// on the left of `==` alone.
#[derive(Debug)]
struct Held {
    quantity: Quantity,
    is_computed: bool,
}

impl Opaque for Held {
    fn ty(&self) -> Type {
        ty()
    }

    fn equals(&self, other: &dyn Opaque) -> Result<bool, Error> {
        let other: &dyn std::any::Any = other;
        match other.downcast_ref::<Held>() {
            Some(other) if !other.is_computed => Ok(self.quantity.compare(&other.quantity).is_eq()),
            _ => Err(Error::no_such_overload()),
        }
    }
}

impl Quantity {
    fn parse(given: &str) -> Result<Quantity, &'static str> {
        let parts = split(given)?;
        let (base, exponent) = interpret(parts.suffix).ok_or(SUFFIX)?;
        match parts.short(base, exponent) {
            Some(short) => Ok(short),
            None if parts.has_digits => parts.long(base, exponent),
            None => Err(NUMBER),
        }
    }

    fn decimal(&self) -> Decimal {
        match self {
            Quantity::Short(value, scale) => Decimal::from_int(*value, i64::from(*scale)),
            Quantity::Long(decimal) => decimal.clone(),
        }
    }

    fn compare(&self, other: &Quantity) -> Ordering {
        self.decimal().compare(&other.decimal())
    }

    fn plus(&self, other: &Quantity) -> Result<Quantity, Error> {
        if let (Quantity::Short(one, scale), Quantity::Short(two, other_scale)) = (self, other)
            && let Some(short) = add_short((*one, *scale), (*two, *other_scale))
        {
            return Ok(short);
        }
        self.decimal().plus(&other.decimal()).map(Quantity::Long).ok_or_else(|| Error::new(TOO_LONG))
    }

    fn minus(&self, other: &Quantity) -> Result<Quantity, Error> {
        self.plus(&match other {
            Quantity::Short(value, scale) => Quantity::Short(value.wrapping_neg(), *scale),
            Quantity::Long(decimal) => Quantity::Long(decimal.clone().negated()),
        })
    }

    fn sign(&self) -> i64 {
        match self {
            Quantity::Short(value, _) => value.signum(),
            Quantity::Long(decimal) => decimal.sign(),
        }
    }

    /// Only if it is kept as an integer, which `1000m` is not.
    fn as_int(&self) -> Option<i64> {
        let Quantity::Short(value, scale) = self else { return None };
        scale_up(*value, u32::try_from(*scale).ok()?)
    }

    fn to_double(&self) -> f64 {
        match self {
            Quantity::Short(value, scale) => decimal::scaled(*value as f64, i64::from(*scale)),
            Quantity::Long(decimal) => decimal.to_double(),
        }
    }
}

impl Parts<'_> {
    /// If it is sure to fit.
    fn short(&self, base: Base, exponent: i32) -> Option<Quantity> {
        let (whole, fraction) = (self.whole.len(), self.fraction.len());
        let (scale, factor) = match base {
            Base::Ten if whole + fraction <= SHORT_DIGITS => (exponent - i32::try_from(fraction).ok()?, 1),
            // Ten bits are worth three digits.
            Base::Two if fraction == 0 && whole + exponent as usize * 3 / 10 < 15 => (0, 1i64 << exponent),
            _ => return None,
        };
        if scale < NANO {
            return None;
        }
        let value: i64 = format!("{}{}", self.whole, self.fraction).parse().ok()?;
        let value = value.checked_mul(factor)?;
        Some(Quantity::Short(if self.negative { -value } else { value }, scale))
    }

    fn long(&self, base: Base, exponent: i32) -> Result<Quantity, &'static str> {
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        let finest = -(self.fraction.len() as i64);
        let mut number = match base {
            Base::Ten => Decimal::new(false, digits, finest + i64::from(exponent)),
            Base::Two => Decimal::new(false, digits, finest).shifted_left(exponent.unsigned_abs()),
        };
        if number.sign() != 0 {
            number = number.rounded(i64::from(NANO)).ok_or(TOO_LONG)?;
        }
        let most = Decimal::from_int(i64::MAX, 0);
        if base == Base::Two && number.compare(&most).is_gt() {
            number = most;
        }
        Ok(Quantity::Long(if self.negative { number.negated() } else { number }))
    }
}

/// As lenient as Kubernetes: digits may be missing, and a sign alone is zero.
fn split(given: &str) -> Result<Parts<'_>, &'static str> {
    if given.is_empty() {
        return Err(FORMAT);
    }
    let unsigned = given.strip_prefix(['-', '+']).unwrap_or(given);
    let significant = unsigned.trim_start_matches('0');
    let (whole, rest) = digits_of(significant);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits_of);
    let letters = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let (_, end) = digits_of(letters.strip_prefix(['-', '+']).unwrap_or(letters));
    if !end.is_empty() {
        return Err(FORMAT);
    }
    let has_digits = significant.len() < unsigned.len() || !whole.is_empty() || !fraction.is_empty();
    let whole = if whole.is_empty() { "0" } else { whole };
    Ok(Parts { negative: given.starts_with('-'), whole, fraction, suffix, has_digits })
}

fn digits_of(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// What a suffix counts in, and the power.
fn interpret(suffix: &str) -> Option<(Base, i32)> {
    const DECIMAL: [(&str, i32); 10] =
        [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
    const BINARY: [(&str, i32); 6] = [("Ki", 10), ("Mi", 20), ("Gi", 30), ("Ti", 40), ("Pi", 50), ("Ei", 60)];
    let known = |table: &[(&str, i32)]| table.iter().find(|(name, _)| *name == suffix).map(|(_, power)| *power);
    if let Some(power) = known(&DECIMAL) {
        return Some((Base::Ten, power));
    }
    if let Some(power) = known(&BINARY) {
        return Some((Base::Two, power));
    }
    let power: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // Kubernetes cuts it to 32 bits.
    Some((Base::Ten, power as i32))
}

/// `None` when the sum does not fit. Nothing is added to zero, and zero to nothing, without a look at scales.
fn add_short((one, scale): (i64, i32), (two, other): (i64, i32)) -> Option<Quantity> {
    match (one, two) {
        (_, 0) => return Some(Quantity::Short(one, scale)),
        (0, _) => return Some(Quantity::Short(two, other)),
        _ => {}
    }
    let finest = scale.min(other);
    let one = scale_up(one, scale.abs_diff(finest))?;
    let two = scale_up(two, other.abs_diff(finest))?;
    Some(Quantity::Short(one.checked_add(two)?, finest))
}

fn scale_up(value: i64, scale: u32) -> Option<i64> {
    if value == 0 { Some(0) } else { value.checked_mul(10i64.checked_pow(scale)?) }
}

fn ty() -> Type {
    Type::object("kubernetes.Quantity")
}

pub(super) fn library() -> Library {
    let read = Overload::global("string_to_quantity", [Type::String], ty(), read).reading();
    let test = Overload::global("is_quantity_string", [Type::String], Type::Bool, |a| Ok(parse(a).is_ok().into()));
    let sign = Overload::global("quantity_sign", [ty()], Type::Int, |a| Ok(of(a, 0)?.sign().into())).nominal();
    let with = |id, other, result, run| Overload::member(id, [ty(), other], result, run).nominal();
    let tell = |id, result, run| [Overload::member(id, [ty()], result, run).nominal()];
    let add = with("quantity_add", ty(), ty(), |a| computed(of(a, 0)?.plus(of(a, 1)?)));
    let add_int = with("quantity_add_int", Type::Int, ty(), |a| computed(of(a, 0)?.plus(&integer(a)?)));
    let sub = with("quantity_sub", ty(), ty(), |a| computed(of(a, 0)?.minus(of(a, 1)?)));
    let sub_int = with("quantity_sub_int", Type::Int, ty(), |a| computed(of(a, 0)?.minus(&integer(a)?)));
    let greater = with("quantity_is_greater_than", ty(), Type::Bool, |a| Ok(order(a)?.is_gt().into()));
    let less = with("quantity_is_less_than", ty(), Type::Bool, |a| Ok(order(a)?.is_lt().into()));
    let compare = with("quantity_compare_to", ty(), Type::Int, |a| Ok((order(a)? as i64).into()));
    Library::new()
        .equality(ty(), |_| Some(Cost::exactly(1).into()))
        .function("quantity", [read])
        .function("isQuantity", [test.reading()])
        .function("sign", [sign])
        .function("isGreaterThan", [greater])
        .function("isLessThan", [less])
        .function("compareTo", [compare])
        .function("add", [add, add_int])
        .function("sub", [sub, sub_int])
        .function("asInteger", tell("quantity_get_int", Type::Int, as_integer))
        .function("isInteger", tell("quantity_is_integer", Type::Bool, |a| Ok(of(a, 0)?.as_int().is_some().into())))
        .function("asApproximateFloat", tell("quantity_get_float", Type::Double, |a| Ok(of(a, 0)?.to_double().into())))
}

fn parse(arguments: &[Value<'_>]) -> Result<Quantity, Error> {
    Quantity::parse(text(arguments, 0)?).map_err(Error::new)
}

fn read<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    Ok(Value::opaque(Held { quantity: parse(arguments)?, is_computed: false }))
}

fn computed<'a>(quantity: Result<Quantity, Error>) -> Result<Value<'a>, Error> {
    quantity.map(|quantity| Value::opaque(Held { quantity, is_computed: true }))
}

fn of<'v>(arguments: &'v [Value<'_>], index: usize) -> Result<&'v Quantity, Error> {
    opaque(arguments, index).map(|held: &Held| &held.quantity)
}

fn integer(arguments: &[Value<'_>]) -> Result<Quantity, Error> {
    Ok(Quantity::Short(int(arguments, 1)?, 0))
}

fn order(arguments: &[Value<'_>]) -> Result<Ordering, Error> {
    Ok(of(arguments, 0)?.compare(of(arguments, 1)?))
}

fn as_integer<'a>(arguments: &[Value<'a>]) -> Result<Value<'a>, Error> {
    let integer = of(arguments, 0)?.as_int();
    integer.map(Value::Int).ok_or_else(|| Error::new("cannot convert value to integer"))
}
