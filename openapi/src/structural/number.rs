//! Numbers: what fits into their format, and their bounds.

use serde_json::Value;

use super::node::{Edge, Node, Type};
use super::outcome::{Outcome, Place};
use super::print::plain;
use super::validate::Mode;
use super::value::{Number, is_whole, truncated};

/// The width that a number is promised to have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    Any,
    Int32,
    Int64,
    Float32,
}

struct Form {
    ty: &'static str,
    format: Option<&'static str>,
    width: Width,
}

/// Only a single type has a width; that of an int-or-string is open.
fn form(node: &Node, mode: Mode) -> Form {
    let (ty, format, width) = match (node.ty(), node.format()) {
        _ if node.is_int_or_string() && mode == Mode::Object => ("", None, Width::Any),
        (Some(Type::Integer), Some("int32")) => ("integer", Some("int32"), Width::Int32),
        (Some(Type::Integer), Some("int64")) => ("integer", Some("int64"), Width::Int64),
        (Some(Type::Integer), _) => ("integer", None, Width::Int64),
        (Some(Type::Number), Some("float")) => ("number", Some("float"), Width::Float32),
        _ => ("", None, Width::Any),
    };
    Form { ty, format, width }
}

impl Form {
    fn fits(&self, number: Number) -> bool {
        let whole = match number {
            Number::Int(whole) => Some(whole),
            // Go reads the digits again, as those of a whole number.
            Number::Float(float) if float.fract() == 0.0 && float.abs() < 9.3e18 => {
                let exact = truncated(float);
                (exact != i64::MIN || float == i64::MIN as f64).then_some(exact)
            }
            Number::Float(_) => None,
        };
        match self.width {
            Width::Any => true,
            Width::Int32 => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
            Width::Int64 => whole.is_some(),
            Width::Float32 => (number.float() as f32).is_finite(),
        }
    }

    fn check(&self, place: &Place<'_>, outcome: &mut Outcome, number: Number, words: &str) -> bool {
        let fits = self.fits(number);
        if !fits {
            let form = self.format.map_or("(default format)".to_owned(), |format| format!("with format {format}"));
            place.broken(outcome, format!("{words} value must be of type {} {form} in {}", self.ty, place.path));
        }
        fits
    }
}

pub(super) fn check(node: &Node, number: Number, place: &Place<'_>, mode: Mode) -> Outcome {
    let mut outcome = Outcome::default();
    let form = form(node, mode);
    form.check(place, &mut outcome, number, "Checked");
    if let Some(factor) = node.multiple_of() {
        let native = form.check(place, &mut outcome, Number::Float(factor), "MultipleOf");
        multiple(place, &mut outcome, number, factor, native);
    }
    if let Some(edge) = node.minimum() {
        let native = form.check(place, &mut outcome, Number::Float(edge.value), "Minimum boundary");
        beyond(place, &mut outcome, number, edge, native, Side::Below);
    }
    if let Some(edge) = node.maximum() {
        let native = form.check(place, &mut outcome, Number::Float(edge.value), "Maximum boundary");
        beyond(place, &mut outcome, number, edge, native, Side::Above);
    }
    outcome.met += 1;
    outcome
}

fn multiple(place: &Place<'_>, outcome: &mut Outcome, number: Number, factor: f64, native: bool) {
    let (is_multiple, factor, shown) = match number {
        Number::Int(whole) if native => {
            let factor = truncated(factor);
            if factor <= 0 {
                return place.factor_not_positive(outcome, &Value::from(factor));
            }
            (whole % factor == 0, factor.to_string(), number.json())
        }
        _ => {
            if factor <= 0.0 {
                return place.factor_not_positive(outcome, &Value::from(factor));
            }
            let value = number.float();
            let times = if factor < 1.0 { 1.0 / factor * value } else { value / factor };
            (is_whole(times), plain(factor), Value::from(value))
        }
    };
    if !is_multiple {
        place.invalid(outcome, &shown, &format!("should be a multiple of {factor}"));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

fn beyond(place: &Place<'_>, outcome: &mut Outcome, number: Number, edge: Edge, native: bool, side: Side) {
    let (order, text, shown) = match number {
        Number::Int(whole) if native => {
            let edge = truncated(edge.value);
            (Some(whole.cmp(&edge)), edge.to_string(), number.json())
        }
        _ => (number.float().partial_cmp(&edge.value), plain(edge.value), Value::from(number.float())),
    };
    let Some(order) = order else { return };
    let (outside, word) = match side {
        Side::Below => (order.is_lt(), "greater than"),
        Side::Above => (order.is_gt(), "less than"),
    };
    if outside || (edge.exclusive && order.is_eq()) {
        let or_equal = if edge.exclusive { "" } else { " or equal to" };
        place.invalid(outcome, &shown, &format!("should be {word}{or_equal} {text}"));
    }
}
