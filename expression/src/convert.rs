//! Conversions between types, and values as text.

use serde_json::{Number, Value as Json};

use crate::error::Error;
use crate::number::{self, format_double, int_overflow, uint_overflow};
use crate::time;
use crate::time::Timestamp;
use crate::types::Type;
use crate::value::Value;

fn refusal(from: &Value<'_>, to: &Type) -> Error {
    Error::new(format!("type conversion error from '{}' to '{}'", from.ty().name(), to.name()))
}

/// As the function `string` of the language has it.
pub(crate) fn string(value: &Value<'_>) -> Result<String, Error> {
    Ok(match value {
        Value::String(text) => (**text).to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Uint(number) => number.to_string(),
        Value::Double(number) => format_double(*number),
        Value::Bytes(bytes) => {
            let text = std::str::from_utf8(bytes);
            text.map_err(|_| Error::new("invalid UTF-8 in bytes, cannot convert to string"))?.to_owned()
        }
        Value::Duration(span) => time::format_duration(*span),
        Value::Timestamp(moment) => time::format_timestamp(moment),
        Value::Null => "null".to_owned(),
        other => return Err(refusal(other, &Type::String)),
    })
}

pub(crate) fn int<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    Ok(Value::Int(match value {
        Value::Int(number) => *number,
        Value::Uint(number) => i64::try_from(*number).map_err(|_| int_overflow())?,
        Value::Double(number) => number::to_int(*number).ok_or_else(int_overflow)?,
        Value::Duration(span) => span.0,
        Value::Timestamp(moment) => moment.seconds,
        Value::String(text) => digits(text).ok_or_else(|| refusal(value, &Type::Int))?,
        other => return Err(refusal(other, &Type::Int)),
    }))
}

/// A decimal number with a sign perhaps. Rust and Go agree on those.
fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

pub(crate) fn uint<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    Ok(Value::Uint(match value {
        Value::Uint(number) => *number,
        Value::Int(number) => u64::try_from(*number).map_err(|_| uint_overflow())?,
        Value::Double(number) => number::to_uint(*number).ok_or_else(uint_overflow)?,
        Value::String(text) if !text.starts_with('+') => digits(text).ok_or_else(|| refusal(value, &Type::Uint))?,
        other => return Err(refusal(other, &Type::Uint)),
    }))
}

pub(crate) fn double<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    Ok(Value::Double(match value {
        Value::Double(number) => *number,
        Value::Int(number) => *number as f64,
        Value::Uint(number) => *number as f64,
        Value::String(text) => parse_double(text).ok_or_else(|| refusal(value, &Type::Double))?,
        other => return Err(refusal(other, &Type::Double)),
    }))
}

/// As Go's `strconv.ParseFloat`. What is too large is an error, not infinity.
fn parse_double(text: &str) -> Option<f64> {
    let magnitude = text.strip_prefix(['+', '-']).unwrap_or(text);
    let word = magnitude.to_ascii_lowercase();
    if matches!(word.as_str(), "inf" | "infinity" | "nan") {
        return text.parse().ok();
    }
    if !magnitude.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return None;
    }
    let number = match word.strip_prefix("0x") {
        Some(digits) => parse_hexadecimal(&digits.replace('_', ""))?,
        None => magnitude.replace('_', "").parse::<f64>().ok()?,
    };
    let number = if text.starts_with('-') { -number } else { number };
    number.is_finite().then_some(number)
}

/// `1.8p-2`: a mantissa in hexadecimal, and an exponent of two, which must be there.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent: i32 = exponent.parse().ok()?;
    let mut number = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        number = number * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let places = i32::try_from(fraction.len()).ok()?.checked_mul(4)?;
    (!mantissa.is_empty()).then(|| number * 2f64.powi(exponent.saturating_sub(places)))
}

pub(crate) fn bool<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    Ok(Value::Bool(match value {
        Value::Bool(value) => *value,
        Value::String(text) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => true,
            "0" | "f" | "F" | "FALSE" | "false" | "False" => false,
            _ => return Err(refusal(value, &Type::Bool)),
        },
        other => return Err(refusal(other, &Type::Bool)),
    }))
}

pub(crate) fn bytes<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    match value {
        Value::Bytes(_) => Ok(value.clone()),
        Value::String(text) => Ok(Value::Bytes(text.as_bytes().into())),
        other => Err(refusal(other, &Type::Bytes)),
    }
}

pub(crate) fn duration<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    match value {
        Value::Duration(_) => Ok(value.clone()),
        Value::String(text) => {
            time::parse_duration(text).map(Value::Duration).ok_or_else(|| refusal(value, &Type::Duration))
        }
        other => Err(refusal(other, &Type::Duration)),
    }
}

pub(crate) fn timestamp<'a>(value: &Value<'a>) -> Result<Value<'a>, Error> {
    let moment = match value {
        Value::Timestamp(_) => return Ok(value.clone()),
        Value::Int(seconds) => Timestamp { seconds: *seconds, nanos: 0, offset: 0 },
        Value::String(text) => time::parse_timestamp(text).ok_or_else(|| refusal(value, &Type::Timestamp))?,
        other => return Err(refusal(other, &Type::Timestamp)),
    };
    time::in_range(moment).map(Value::Timestamp)
}

/// As errors show a value.
pub(crate) fn debug(value: &Value<'_>) -> String {
    match value {
        Value::Type(ty) => ty.name().to_owned(),
        other => string(other).unwrap_or_else(|_| format!("{other:?}")),
    }
}

impl Value<'_> {
    /// The value as it would stand in a document.
    pub fn to_json(&self) -> Result<Json, Error> {
        let unfit = || Error::new(format!("{} has no form in a document", self.ty()));
        Ok(match self {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(number) => Json::from(*number),
            Value::Uint(number) => Json::from(*number),
            Value::Double(number) => Json::Number(Number::from_f64(*number).ok_or_else(unfit)?),
            Value::String(text) => Json::String((**text).to_owned()),
            Value::Bytes(bytes) => {
                use base64::Engine;
                Json::String(base64::engine::general_purpose::STANDARD.encode(bytes))
            }
            Value::Duration(_) | Value::Timestamp(_) => Json::String(string(self)?),
            Value::List(list) => {
                let elements = list.iter().map(|element| element?.to_json());
                Json::Array(elements.collect::<Result<_, _>>()?)
            }
            Value::Map(map) => {
                let entries = map.entries()?.into_iter().map(|(key, value)| Ok((string(&key)?, value.to_json()?)));
                Json::Object(entries.collect::<Result<_, Error>>()?)
            }
            Value::Optional(Some(inner)) => inner.to_json()?,
            Value::Optional(None) => Json::Null,
            Value::Opaque(opaque) => opaque.to_json().ok_or_else(unfit)?,
            Value::Type(_) => return Err(unfit()),
        })
    }
}
