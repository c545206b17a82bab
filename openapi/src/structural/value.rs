//! Numbers as Go reads them, whole ones as such, and what it holds for equal.

use serde_json::{Number as Json, Value};

use super::node::Type;

/// Floats that JSON can hold as whole numbers without loss.
const WHOLE_MAX: f64 = 9_007_199_254_740_991.0;
/// How far off a whole number a float may be and still count as one.
const EPSILON: f64 = 1e-9;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Int(i64),
    Float(f64),
}

pub(super) fn number(given: &Json) -> Number {
    match given.as_i64() {
        Some(whole) => Number::Int(whole),
        None => Number::Float(given.as_f64().unwrap_or_default()),
    }
}

impl Number {
    pub(super) fn float(self) -> f64 {
        match self {
            Self::Int(whole) => whole as f64,
            Self::Float(float) => float,
        }
    }

    pub(super) fn json(self) -> Value {
        match self {
            Self::Int(whole) => whole.into(),
            Self::Float(float) => float.into(),
        }
    }
}

/// Whether a float is a whole number, or as good as one.
pub(super) fn is_whole(float: f64) -> bool {
    if !float.is_finite() || float.abs() > WHOLE_MAX {
        return false;
    }
    let rounded = float.round();
    float == rounded || (rounded != 0.0 && (float - rounded).abs() < EPSILON * rounded.abs())
}

/// As Go cuts a float down to a whole number: what does not fit is the smallest.
pub(super) fn truncated(float: f64) -> i64 {
    if float >= i64::MIN as f64 && float < i64::MAX as f64 { float as i64 } else { i64::MIN }
}

/// The type that a schema would have to give for this value.
pub(super) fn type_of(value: &Value) -> Option<Type> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) => Type::Boolean,
        Value::String(_) => Type::String,
        Value::Array(_) => Type::Array,
        Value::Object(_) => Type::Object,
        Value::Number(given) => match number(given) {
            Number::Int(_) => Type::Integer,
            Number::Float(_) => Type::Number,
        },
    })
}

/// Whether a value is one of an enumeration's. Go converts it to the type of the other first, whatever that makes of it.
pub(super) fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(choice)) => match (number(value), number(choice)) {
            (Number::Float(value), Number::Int(choice)) => truncated(value) == choice,
            (value, Number::Float(choice)) => value.float() == choice,
            (value, choice) => value == choice,
        },
        (Value::Number(value), Value::String(choice)) => match number(value) {
            Number::Int(value) => {
                let character = u32::try_from(value).ok().and_then(char::from_u32).unwrap_or('\u{fffd}');
                choice.chars().eq([character])
            }
            Number::Float(_) => false,
        },
        _ => value == choice,
    }
}
