//! `'%s has %d'.format([name, count])`: what becomes of each clause, and what can be said of it before anything runs.

use super::{LONGEST_TEXT, quote};
use crate::ast::Id;
use crate::convert;
use crate::error::Error;
use crate::types::Type;
use crate::value::Value;
use crate::value::data::List;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Clause {
    Text,
    Decimal,
    Fixed(usize),
    Scientific(usize),
    Binary,
    Octal,
    Hex { upper: bool },
}

/// Digits after the point where no number of them is given.
const PRECISION: usize = 6;

/// An argument that is written out.
pub(crate) struct Argument {
    pub(crate) id: Id,
    pub(crate) ty: Type,
    /// What is written out in it: elements of a list, keys and values of a map.
    pub(crate) parts: Vec<Argument>,
}

/// What is wrong with a format and its arguments: with which of them, if it is one of them, and why.
pub(crate) fn check(format: &str, arguments: &[Argument]) -> Option<(Option<Id>, String)> {
    let mut used = 0;
    for part in parts(format) {
        let Part::Clause(clause) = part else { continue };
        let Some(clause) = clause else { return Some((None, END.to_owned())) };
        let Some(argument) = arguments.get(used) else { return Some((None, missing(used))) };
        let clause = match parse(clause) {
            Ok((clause, _)) => clause,
            Err(why) => return Some((None, why)),
        };
        if let Some(wrong) = clause.wrong(argument) {
            let why = clause.refusal(wrong.ty.name());
            return Some((Some(wrong.id), format!("error during formatting: {why}")));
        }
        used += 1;
    }
    let given = arguments.len();
    (given > used)
        .then(|| (None, format!("too many arguments supplied to string.format (expected {used}, got {given})")))
}

/// Fills in the arguments.
pub(super) fn format(format: &str, arguments: &List<'_>) -> Result<String, Error> {
    let mut out = String::new();
    let mut used = 0;
    for part in parts(format) {
        match part {
            Part::Plain(text) => out.push_str(text),
            Part::Clause(clause) => {
                let argument = arguments.get(used).ok_or_else(|| Error::new(missing(used)))??;
                let clause = parse(clause.ok_or_else(|| Error::new(END))?).map_err(Error::new)?.0;
                let written = clause.write(&argument);
                out.push_str(&written.map_err(|why| Error::new(format!("error during formatting: {why}")))?);
                used += 1;
            }
        }
        if out.len() > LONGEST_TEXT {
            return Err(Error::Cost);
        }
    }
    Ok(out)
}

const END: &str = "unexpected end of string";

fn missing(index: usize) -> String {
    format!("index {index} out of range")
}

/// A piece of a format.
enum Part<'f> {
    Plain(&'f str),
    /// What follows a `%`, up to the end of the format; `None` if that is the end.
    Clause(Option<&'f str>),
}

/// Cuts a format into pieces. Where a clause cannot be read, the rest of it is plain; nobody gets there.
fn parts(format: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = format;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some(after) = rest.strip_prefix('%') else {
            let (plain, next) = rest.split_at(rest.find('%').unwrap_or(rest.len()));
            rest = next;
            return Some(Part::Plain(plain));
        };
        if let Some(next) = after.strip_prefix('%') {
            rest = next;
            return Some(Part::Plain("%"));
        }
        rest = parse(after).ok().and_then(|(_, length)| after.get(length..)).unwrap_or("");
        Some(Part::Clause(Some(after).filter(|after| !after.is_empty())))
    })
}

/// A clause, and its length.
fn parse(text: &str) -> Result<(Clause, usize), String> {
    let refuse = |why: String| format!("could not parse formatting clause: {why}");
    let (precision, letter) = match text.strip_prefix('.') {
        None => (PRECISION, text),
        Some(after) => {
            let digits = after.len() - after.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
            let (digits, letter) = after.split_at(digits);
            let precision =
                precision(digits, letter).map_err(|why| refuse(format!("error while parsing precision: {why}")))?;
            (precision, letter)
        }
    };
    // Go takes the clause for a byte.
    let first = letter.bytes().next().unwrap_or_default();
    let clause = match first {
        b's' => Clause::Text,
        b'd' => Clause::Decimal,
        b'f' => Clause::Fixed(precision),
        b'e' => Clause::Scientific(precision),
        b'b' => Clause::Binary,
        b'o' => Clause::Octal,
        b'x' | b'X' => Clause::Hex { upper: first == b'X' },
        _ => return Err(refuse(format!("unrecognized formatting clause \"{}\"", char::from(first)))),
    };
    Ok((clause, text.len() - letter.len() + 1))
}

fn precision(digits: &str, letter: &str) -> Result<usize, String> {
    if letter.is_empty() {
        return Err("could not find end of precision specifier".to_owned());
    }
    let parsed: Result<i64, _> = digits.parse();
    let Ok(precision) = parsed else {
        let why = if digits.is_empty() { "invalid syntax" } else { "value out of range" };
        let quoted = quote::go(digits);
        return Err(format!("error while converting precision to integer: strconv.Atoi: parsing {quoted}: {why}"));
    };
    Ok(usize::try_from(precision).unwrap_or(usize::MAX))
}

impl Clause {
    /// Whether arguments of a type may be right.
    fn takes(self, ty: &Type) -> bool {
        use Type::{Bool, Bytes, Double, Duration, Dyn, Error, Int, List, Map, Null, Param, String, Timestamp, Uint};
        match (self, ty) {
            (_, Dyn | Error | Param(_))
            | (Clause::Text, List(_) | Map(_) | Null | Timestamp | Duration | Type::Type(_)) => true,
            (Clause::Text, ty) => matches!(ty, Int | Uint | Double | Bool | String | Bytes),
            (Clause::Decimal | Clause::Octal, ty) => matches!(ty, Int | Uint),
            (Clause::Fixed(_) | Clause::Scientific(_), ty) => matches!(ty, Double | String),
            (Clause::Binary, ty) => matches!(ty, Int | Uint | Bool),
            (Clause::Hex { .. }, ty) => matches!(ty, Int | Uint | String | Bytes),
        }
    }

    /// The first that cannot be right: the argument, or something in it.
    fn wrong(self, argument: &Argument) -> Option<&Argument> {
        if !self.takes(&argument.ty) {
            return Some(argument);
        }
        argument.parts.iter().filter(|_| self == Clause::Text).find_map(|part| self.wrong(part))
    }

    fn refusal(self, given: &str) -> String {
        let rule = match self {
            Clause::Text => {
                "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, \
                 and timestamps"
            }
            Clause::Decimal => "decimal clause can only be used on integers",
            Clause::Fixed(_) => "fixed-point clause can only be used on doubles",
            Clause::Scientific(_) => "scientific clause can only be used on doubles",
            Clause::Binary => "only integers and bools can be formatted as binary",
            Clause::Octal => "octal clause can only be used on integers",
            Clause::Hex { .. } => "only integers, byte buffers, and strings can be formatted as hex",
        };
        format!("{rule}, was given {given}")
    }

    fn write(self, value: &Value<'_>) -> Result<String, String> {
        match (self, value) {
            (Clause::Text, value) => text(value),
            (Clause::Decimal, Value::Int(number)) => Ok(number.to_string()),
            (Clause::Decimal, Value::Uint(number)) => Ok(number.to_string()),
            (Clause::Fixed(precision), value) => match double(value) {
                Some(number) => Ok(fixed(number, precision)),
                None => Err(self.refusal(value.ty().name())),
            },
            (Clause::Scientific(width), value) => match double(value) {
                Some(number) => Ok(scientific(number, width)),
                None => Err(self.refusal(value.ty().name())),
            },
            (Clause::Binary, Value::Bool(value)) => Ok(u8::from(*value).to_string()),
            (Clause::Hex { upper }, Value::String(text)) => Ok(hex(text.as_bytes(), upper)),
            (Clause::Hex { upper }, Value::Bytes(bytes)) => Ok(hex(bytes, upper)),
            (Clause::Binary | Clause::Octal | Clause::Hex { .. }, Value::Int(number)) => {
                let sign = if *number < 0 { "-" } else { "" };
                Ok(format!("{sign}{}", self.digits(number.unsigned_abs())))
            }
            (Clause::Binary | Clause::Octal | Clause::Hex { .. }, Value::Uint(number)) => Ok(self.digits(*number)),
            (_, value) => Err(self.refusal(value.ty().name())),
        }
    }

    fn digits(self, number: u64) -> String {
        match self {
            Clause::Binary => format!("{number:b}"),
            Clause::Octal => format!("{number:o}"),
            Clause::Hex { upper: true } => format!("{number:X}"),
            _ => format!("{number:x}"),
        }
    }
}

/// A double, or one of the three that JSON has no numbers for.
fn double(value: &Value<'_>) -> Option<f64> {
    match value {
        Value::Double(number) => Some(*number),
        Value::String(text) => match &**text {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

fn hex(bytes: &[u8], upper: bool) -> String {
    bytes.iter().map(|byte| if upper { format!("{byte:02X}") } else { format!("{byte:02x}") }).collect()
}

/// As it is written in English: thousands apart.
fn fixed(number: f64, precision: usize) -> String {
    if let Some(word) = not_finite(number) {
        return word.to_owned();
    }
    // No double has more digits than these; the rest would be zeros.
    let (precise, zeros) = (precision.min(1_100), precision.saturating_sub(1_100).min(LONGEST_TEXT));
    let digits = format!("{:.precise$}", number.abs());
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    let mut out = String::from(if number < 0.0 { "-" } else { "" });
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if precision > 0 {
        out.push('.');
        out.push_str(fraction);
    }
    out.extend(std::iter::repeat_n('0', zeros));
    out
}

/// As it is written in English: times a power of ten. The precision is taken for a width, as in cel-go.
fn scientific(number: f64, width: usize) -> String {
    let written = match not_finite(number) {
        Some(word) => word.to_owned(),
        None => {
            let digits = format!("{number:.PRECISION$e}");
            let (mantissa, exponent) = digits.split_once('e').unwrap_or((&digits, "0"));
            let (sign, exponent) = exponent.strip_prefix('-').map_or(("", exponent), |exponent| ("⁻", exponent));
            let raised: String = format!("{exponent:0>2}").chars().map(superscript).collect();
            format!("{mantissa}×10{sign}{raised}")
        }
    };
    let missing = width.min(LONGEST_TEXT).saturating_sub(written.chars().count());
    " ".repeat(missing) + &written
}

fn superscript(digit: char) -> char {
    let raised = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit.to_digit(10).map_or(digit, |digit| raised[digit as usize])
}

fn not_finite(number: f64) -> Option<&'static str> {
    match number {
        number if number.is_nan() => Some("NaN"),
        f64::INFINITY => Some("∞"),
        f64::NEG_INFINITY => Some("-∞"),
        _ => None,
    }
}

fn text(value: &Value<'_>) -> Result<String, String> {
    match value {
        Value::List(list) => list_text(list),
        Value::Map(_) => map_text(value),
        Value::Null => Ok("null".to_owned()),
        Value::Type(ty) => Ok(ty.name().to_owned()),
        Value::Opaque(_) | Value::Optional(_) => Err(Clause::Text.refusal(value.ty().name())),
        value => convert::string(value)
            .map_err(|why| format!("could not convert argument {} to string", quote::go(&why.to_string()))),
    }
}

fn list_text(list: &List<'_>) -> Result<String, String> {
    let mut out = String::from("[");
    for (index, element) in list.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        out.push_str(&nested(&element.map_err(|why| why.to_string())?)?);
        if out.len() > LONGEST_TEXT {
            break;
        }
    }
    Ok(out + "]")
}

/// In the order of the keys as they are written.
fn map_text(map: &Value<'_>) -> Result<String, String> {
    let entries = map.as_map().map_or(Ok(Vec::new()), |map| map.entries()).map_err(|why| why.to_string())?;
    let mut written = Vec::with_capacity(entries.len());
    for (key, value) in &entries {
        if !matches!(key, Value::String(_) | Value::Bool(_) | Value::Int(_) | Value::Uint(_)) {
            return Err(format!("no formatting function for map key of type {}", key.ty().name()));
        }
        written.push((nested(key)?, nested(value)?));
    }
    written.sort_by(|one, two| one.0.cmp(&two.0));
    let pairs: Vec<String> = written.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
    Ok(format!("{{{}}}", pairs.join(", ")))
}

/// A value inside of a list or a map, as it would be written in an expression.
fn nested(value: &Value<'_>) -> Result<String, String> {
    Ok(match value {
        Value::String(text) => quote::go(text),
        Value::Bytes(_) => format!("b{}", quote::go(&text(value)?)),
        Value::Timestamp(_) => format!("timestamp({})", quote::go(&text(value)?)),
        Value::Duration(_) => format!("duration({})", quote::go(&text(value)?)),
        Value::Double(number) if number.is_finite() => format!("{number:.PRECISION$}"),
        Value::Double(_) => quote::go(&text(value)?),
        Value::Opaque(_) | Value::Optional(_) => {
            return Err(format!("no formatting function for {}", value.ty().name()));
        }
        value => text(value)?,
    })
}
