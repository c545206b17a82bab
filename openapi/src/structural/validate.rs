//! Holds a value against its schema.
//!
//! The order of the checks, what they say and which of several alternatives is blamed are those of the validator of
//! `kube-openapi`. On an update, errors of values that did not change are forgiven, but not inside of `allOf`,
//! `anyOf`, `oneOf` and `not`.

use serde_json::{Map, Value};

use super::correlate::{self, OldItems};
use super::node::{Additional, Node, Type};
use super::outcome::{Outcome, Place};
use super::value::{is_choice, is_whole, number, type_of};
use super::{formats, number as numbers};
use crate::check::quote;
use crate::field::FieldError;

/// What checking one object may cost: about a second.
const WORK_MAX: usize = 5_000_000;
/// Bytes that are looked at, values that are compared, or steps of patterns, for the price of one check.
const BATCH: usize = 64;

/// What is checked: objects are held to a schema that knows of int-or-string and which formats count, defaults to the
/// letter of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Object,
    Default,
}

/// What is wrong with an object. `old` is what it was before.
pub(super) fn object(node: &Node, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate(node, None, object, old, Mode::Object)
}

/// As [`object`], with so much work and no more.
#[cfg(test)]
pub(super) fn object_within(node: &Node, object: &Value, work: usize) -> Vec<FieldError> {
    Validator { base: None, mode: Mode::Object, path: String::new(), work }.run(node, object, None)
}

/// What is wrong with a part of an object that stands at `base`.
pub(super) fn part(node: &Node, base: &str, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
    validate(node, Some(base), value, old, Mode::Object)
}

/// What is wrong with a default that stands at `base`.
pub(super) fn preset(node: &Node, base: &str, value: &Value) -> Vec<FieldError> {
    validate(node, Some(base), value, None, Mode::Default)
}

fn validate(node: &Node, base: Option<&str>, value: &Value, old: Option<&Value>, mode: Mode) -> Vec<FieldError> {
    Validator { base, mode, path: String::new(), work: WORK_MAX }.run(node, value, old)
}

struct Validator<'a> {
    base: Option<&'a str>,
    mode: Mode,
    path: String,
    work: usize,
}

impl Validator<'_> {
    fn run(mut self, node: &Node, value: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut outcome = self.ratcheted(node, value, old);
        if self.work == 0 {
            self.place().broken(&mut outcome, "the object takes too long to validate".to_owned());
        }
        outcome.into_errors()
    }

    fn place(&self) -> Place<'_> {
        Place { base: self.base, path: &self.path }
    }

    /// The types that a value may have, as errors name them.
    fn types(&self, node: &Node) -> Option<&'static str> {
        let either = node.is_int_or_string() && self.mode == Mode::Object;
        if either { Some("integer,string") } else { node.ty().map(Type::name) }
    }

    /// Whether so much more may be done.
    fn pay(&mut self, units: usize) -> bool {
        self.work = self.work.saturating_sub(1 + units / BATCH);
        self.work > 0
    }

    fn ratcheted(&mut self, node: &Node, value: &Value, old: Option<&Value>) -> Outcome {
        let outcome = self.node(node, value, old);
        match old {
            Some(old) if !outcome.is_valid() && correlate::unchanged(node, value, old) => outcome.forgiven(),
            _ => outcome,
        }
    }

    fn node(&mut self, node: &Node, value: &Value, old: Option<&Value>) -> Outcome {
        let mut outcome = Outcome::default();
        if !self.pay(0) {
            return outcome;
        }
        if value.is_null() {
            outcome.merge(self.null(node));
            outcome.merge(self.choice(node, value));
            return outcome;
        }
        if self.types(node).is_some() || formats::checked(node, self.mode).is_some() {
            outcome.merge(self.type_of(node, value));
            outcome.met += 1;
        }
        outcome.merge(self.junctions(node, value));
        outcome.met += 1;
        match value {
            Value::String(text) => self.text(node, text, &mut outcome),
            Value::Number(given) => {
                outcome.merge(numbers::check(node, number(given), &self.place(), self.mode));
                outcome.met += 1;
            }
            Value::Array(items) => {
                outcome.merge(self.list(node, items, old));
                outcome.met += 1;
            }
            _ => {}
        }
        outcome.merge(self.choice(node, value));
        outcome.met += 1;
        if let Value::Object(map) = value {
            outcome.merge(self.object(node, map, old));
            outcome.met += 1;
        }
        outcome.met += 1;
        outcome
    }

    fn null(&self, node: &Node) -> Outcome {
        let mut outcome = Outcome::default();
        match self.types(node) {
            Some(expected) if !node.is_nullable() => self.place().wrong_type(&mut outcome, expected, "null"),
            _ => outcome.met += 1,
        }
        outcome
    }

    fn type_of(&self, node: &Node, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(found) = type_of(value) else { return outcome };
        let fits = |ty: Type| match node.is_int_or_string() && self.mode == Mode::Object {
            true => matches!(ty, Type::Integer | Type::String),
            false => node.ty() == Some(ty),
        };
        let whole = value.as_f64().is_some_and(is_whole);
        let numeric =
            (found == Type::Number && whole && fits(Type::Integer)) || (found == Type::Integer && fits(Type::Number));
        let format = formats::checked(node, self.mode);
        let texts = matches!(found, Type::String | Type::Array);
        // Go names the width of what it found, as if it were the format.
        let width = match found {
            Type::Integer => "int64",
            Type::Number => "float64",
            _ => "",
        };
        match format {
            Some(format) if !(texts || fits(found) || numeric || format == width) => {
                self.place().wrong_type(&mut outcome, format, width);
            }
            Some(_) if texts && !fits(Type::Number) && !fits(Type::Integer) => outcome.met += 1,
            _ if fits(found) || numeric => outcome.met += 1,
            _ => self.place().wrong_type(&mut outcome, self.types(node).unwrap_or_default(), found.name()),
        }
        outcome
    }

    fn choice(&mut self, node: &Node, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        let choices = node.enum_values();
        if !choices.is_empty() && self.pay(choices.len()) && !choices.iter().any(|choice| is_choice(value, choice)) {
            self.place().not_supported(&mut outcome, value, choices);
        }
        outcome
    }

    fn text(&mut self, node: &Node, text: &str, outcome: &mut Outcome) {
        self.length_and_pattern(node, text, outcome);
        outcome.met += 1;
        let Some(format) = formats::checked(node, self.mode).filter(|format| formats::is_of_texts(format)) else {
            return;
        };
        if self.pay(text.len()) && !formats::is_valid(format, text) {
            self.place().wrong_type(outcome, format, text);
        }
        outcome.met += 1;
    }

    fn length_and_pattern(&mut self, node: &Node, text: &str, outcome: &mut Outcome) {
        let limited = node.max_length().is_some() || node.min_length().is_some();
        if limited && self.pay(text.len()) {
            let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
            if let Some(max) = node.max_length().filter(|max| length > *max) {
                return self.place().too_long(outcome, max);
            }
            if let Some(min) = node.min_length().filter(|min| length < *min) {
                let rule = format!("should be at least {min} chars long");
                return self.place().invalid(outcome, &text.into(), &rule);
            }
        }
        if let Some(pattern) = node.matcher()
            && self.pay(pattern.cost(text))
            && !pattern.is_match(text)
        {
            self.place().invalid(outcome, &text.into(), &format!("should match '{}'", pattern.text()));
        }
    }

    fn list(&mut self, node: &Node, items: &[Value], old: Option<&Value>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Some(inner) = node.items() {
            let old_items = OldItems::of(node, old);
            let length = self.path.len();
            for (at, item) in items.iter().enumerate() {
                self.path.push_str(&format!("[{at}]"));
                outcome.merge(self.ratcheted(inner, item, old_items.of_item(item)));
                self.path.truncate(length);
            }
        }
        let count = i64::try_from(items.len()).unwrap_or(i64::MAX);
        if let Some(min) = node.min_items().filter(|min| count < *min) {
            self.place().invalid(&mut outcome, &count.into(), &format!("should have at least {min} items"));
        }
        if let Some(max) = node.max_items().filter(|max| count > *max) {
            self.place().too_many(&mut outcome, items.len(), max, "items");
        }
        if node.unique_items() && self.repeats(items) {
            self.place().invalid(&mut outcome, &"".into(), "shouldn't contain duplicates");
        }
        outcome.met += 1;
        outcome
    }

    /// No definition may ask for this any more.
    fn repeats(&mut self, items: &[Value]) -> bool {
        (1..items.len()).any(|at| self.pay(at * BATCH) && items[..at].contains(&items[at]))
    }

    fn object(&mut self, node: &Node, map: &Map<String, Value>, old: Option<&Value>) -> Outcome {
        let mut outcome = Outcome::default();
        let count = i64::try_from(map.len()).unwrap_or(i64::MAX);
        if let Some(min) = node.min_properties().filter(|min| count < *min) {
            self.place().invalid(&mut outcome, &count.into(), &format!("should have at least {min} properties"));
        }
        if let Some(max) = node.max_properties().filter(|max| count > *max) {
            self.place().too_many(&mut outcome, map.len(), max, "properties");
        }
        let others = || map.iter().filter(|(name, _)| node.property(name).is_none());
        match node.additional_properties() {
            Additional::Unspecified | Additional::Any(true) => {}
            Additional::Any(false) => {
                others().for_each(|(name, _)| self.place().forbidden_property(&mut outcome, name));
            }
            Additional::Schema(inner) => {
                for (name, value) in others() {
                    outcome.merge(self.entry(inner, name, value, old, true));
                }
            }
        }
        for (name, value) in map {
            if let Some(property) = node.property(name) {
                outcome.merge(self.entry(property, name, value, old, false));
            }
        }
        for name in node.required().filter(|name| !map.contains_key(*name)) {
            self.place().required(&mut outcome, name);
        }
        outcome
    }

    /// One entry of a map; a property at the root has no dot before its name.
    fn entry(&mut self, node: &Node, name: &str, value: &Value, old: Option<&Value>, additional: bool) -> Outcome {
        let length = self.path.len();
        // What an object is was converted, and does not show a change.
        let uncorrelated = length == 0 && matches!(name, "apiVersion" | "kind");
        if length > 0 || additional {
            self.path.push('.');
        }
        self.path.push_str(name);
        let old = correlate::old_entry(old, name).filter(|_| !uncorrelated);
        let outcome = self.ratcheted(node, value, old);
        self.path.truncate(length);
        outcome
    }

    fn junctions(&mut self, node: &Node, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        self.any_of(node, value, &mut outcome);
        self.one_of(node, value, &mut outcome);
        self.all_of(node, value, &mut outcome);
        if let Some(not) = node.not()
            && self.node(not, value, None).is_valid()
        {
            let message = format!("{} must not validate the schema (not)", quote(&self.path));
            self.place().broken(&mut outcome, message);
        }
        outcome.met += 1;
        outcome
    }

    fn any_of(&mut self, node: &Node, value: &Value, outcome: &mut Outcome) {
        let mut best: Option<Outcome> = None;
        for alternative in node.any_of() {
            let result = self.node(alternative, value, None);
            if result.is_valid() {
                return outcome.merge(result);
            }
            if best.as_ref().is_none_or(|best| result.met > best.met) {
                best = Some(result);
            }
        }
        if let Some(best) = best {
            let message = format!("{} must validate at least one schema (anyOf)", quote(&self.path));
            self.place().broken(outcome, message);
            outcome.merge(best);
        }
    }

    fn one_of(&mut self, node: &Node, value: &Value, outcome: &mut Outcome) {
        if node.one_of().is_empty() {
            return;
        }
        let mut best: Option<Outcome> = None;
        let mut first = None;
        let mut valid = 0;
        for alternative in node.one_of() {
            let result = self.node(alternative, value, None);
            if result.is_valid() {
                valid += 1;
                best = None;
                first = first.or(Some(result));
            } else if valid == 0 && best.as_ref().is_none_or(|best| result.met > best.met) {
                best = Some(result);
            }
        }
        if valid == 1 {
            return outcome.merge(first.unwrap_or_default());
        }
        let found =
            if valid == 0 { "Found none valid".to_owned() } else { format!("Found {valid} valid alternatives") };
        let message = format!("{} must validate one and only one schema (oneOf). {found}", quote(&self.path));
        self.place().broken(outcome, message);
        outcome.merge(best.unwrap_or_default());
    }

    fn all_of(&mut self, node: &Node, value: &Value, outcome: &mut Outcome) {
        let mut valid = 0;
        for part in node.all_of() {
            let result = self.node(part, value, None);
            valid += usize::from(result.is_valid());
            outcome.merge(result);
        }
        if valid < node.all_of().len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            let message = format!("{} must validate all the schemas (allOf){none}", quote(&self.path));
            self.place().broken(outcome, message);
        }
    }
}
