//! What came of checking a value: the errors, and how much of the schema it met.

use serde_json::Value;

use super::print::{json, shown};
use crate::check::quote;
use crate::field::{FieldError, Wrong};

/// Errors that are told of one object.
const ERRORS_MAX: usize = 500;
/// Text that is kept of them.
const BYTES_MAX: usize = 1 << 20;

#[derive(Debug)]
struct Finding {
    error: FieldError,
    /// The same in the words of the validator alone: an error that says the same is not told twice.
    message: String,
}

#[derive(Debug, Default)]
pub(super) struct Outcome {
    findings: Vec<Finding>,
    bytes: usize,
    /// Checks that were met. Of alternatives that all fail, the one with most is told.
    pub(super) met: usize,
}

impl Outcome {
    pub(super) fn is_valid(&self) -> bool {
        self.findings.is_empty()
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.met += other.met;
        other.findings.into_iter().for_each(|finding| self.add(finding));
    }

    /// The errors are forgiven; what was met counts.
    pub(super) fn forgiven(self) -> Self {
        Self { met: self.met, ..Self::default() }
    }

    pub(super) fn into_errors(self) -> Vec<FieldError> {
        self.findings.into_iter().map(|finding| finding.error).collect()
    }

    fn add(&mut self, finding: Finding) {
        let full = self.findings.len() >= ERRORS_MAX || self.bytes >= BYTES_MAX;
        if !full && self.findings.iter().all(|other| other.message != finding.message) {
            self.bytes += finding.message.len() + finding.error.detail.len();
            self.findings.push(finding);
        }
    }
}

/// Where a value stands: in what the errors call the object, and in the object.
pub(super) struct Place<'a> {
    /// The place of the object itself, if it is part of something.
    pub(super) base: Option<&'a str>,
    pub(super) path: &'a str,
}

impl Place<'_> {
    fn field(&self, path: &str) -> String {
        let path = path.strip_prefix('.').unwrap_or(path);
        match (self.base, path.is_empty()) {
            (Some(base), true) => base.to_owned(),
            (Some(base), false) => format!("{base}.{path}"),
            (None, true) => "<nil>".to_owned(),
            (None, false) => path.to_owned(),
        }
    }

    fn finding(&self, wrong: Wrong, value: Option<String>, detail: String, message: String) -> Finding {
        Finding { error: FieldError { wrong, field: self.field(self.path), value, detail }, message }
    }

    /// `shown` is an empty text where the rule has none to show.
    pub(super) fn invalid(&self, outcome: &mut Outcome, shown_value: &Value, rule: &str) {
        let message = format!("{} in body {rule}", self.path);
        outcome.add(self.finding(Wrong::Invalid, Some(shown(shown_value)), message.clone(), message));
    }

    /// An error that names no field.
    pub(super) fn broken(&self, outcome: &mut Outcome, message: String) {
        let error = FieldError {
            wrong: Wrong::Invalid,
            field: self.field(""),
            value: Some("\"\"".to_owned()),
            detail: message.clone(),
        };
        outcome.add(Finding { error, message });
    }

    pub(super) fn wrong_type(&self, outcome: &mut Outcome, expected: &str, found: &str) {
        let message = format!("{} in body must be of type {expected}: {}", self.path, quote(found));
        outcome.add(self.finding(Wrong::TypeInvalid, Some(quote(found)), message.clone(), message));
    }

    pub(super) fn required(&self, outcome: &mut Outcome, name: &str) {
        let path = format!("{}.{name}", self.path);
        let error = FieldError::required(self.field(&path), "");
        outcome.add(Finding { error, message: format!("{path} in body is required") });
    }

    pub(super) fn not_supported(&self, outcome: &mut Outcome, value: &Value, choices: &[Value]) {
        let choices: Vec<String> = choices
            .iter()
            .map(|choice| quote(choice.as_str().map_or_else(|| json(choice), str::to_owned).as_str()))
            .collect();
        let detail = format!("supported values: {}", choices.join(", "));
        let message = format!("{} in body {detail}", self.path);
        outcome.add(self.finding(Wrong::NotSupported, Some(shown(value)), detail, message));
    }

    pub(super) fn too_long(&self, outcome: &mut Outcome, max: i64) {
        let detail = match max {
            i64::MIN..=-1 => "value is too long".to_owned(),
            1 => "may not be more than 1 byte".to_owned(),
            _ => format!("may not be more than {max} bytes"),
        };
        let message = format!("{} in body should be at most {max} chars long", self.path);
        outcome.add(self.finding(Wrong::TooLong, None, detail, message));
    }

    /// `things` are items or properties.
    pub(super) fn too_many(&self, outcome: &mut Outcome, count: usize, max: i64, things: &str) {
        let detail = match max {
            i64::MIN..=-1 => "has too many items".to_owned(),
            1 => "must have at most 1 item".to_owned(),
            _ => format!("must have at most {max} items"),
        };
        let message = format!("{} in body should have at most {max} {things}", self.path);
        outcome.add(self.finding(Wrong::TooMany, Some(count.to_string()), detail, message));
    }

    pub(super) fn forbidden_property(&self, outcome: &mut Outcome, name: &str) {
        let message = format!("{}.{name} in body is a forbidden property", self.path);
        outcome.add(self.finding(Wrong::Invalid, Some(quote(name)), message.clone(), message));
    }

    pub(super) fn factor_not_positive(&self, outcome: &mut Outcome, factor: &Value) {
        let factor = shown(factor);
        let message = format!("factor MultipleOf declared for {} must be positive: {factor}", self.path);
        outcome.add(self.finding(Wrong::Invalid, Some(factor), message.clone(), message));
    }
}
