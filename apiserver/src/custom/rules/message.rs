//! What is told of a value that breaks a rule.

use expression::{Budget, Error, Input, Program, Value};
use openapi::structural::{Rule, shown};
use openapi::{FieldError, Wrong};
use serde_json::Value as Json;

use super::CALL_COST;

/// The longest message that an expression may make.
const MESSAGE_BYTES: usize = 5 << 10;

/// What came of the expression for a message.
pub(super) enum Told {
    Text(String),
    /// The rule's own message has to do.
    Nothing,
    /// The budget is spent, and this is told instead.
    Spent(String),
}

/// Runs an expression for a message, within what is `left` of a budget.
pub(super) fn tell<'a>(program: &'a Program, source: &str, inputs: &'a [(&'a str, Input<'a>)], left: &mut u64) -> Told {
    let mut budget = Budget::from(CALL_COST);
    let result = program.run(inputs, &mut budget).map(|value| match value {
        Value::String(text) => text.trim().to_owned(),
        _ => String::new(),
    });
    let spent = CALL_COST - budget.cost;
    let beyond = result == Err(Error::Cost) && *left <= CALL_COST;
    if beyond || spent > *left {
        let why = "messageExpression evaluation failed due to running out of cost budget, no further validation rules \
                   will be run";
        return Told::Spent(why.to_owned());
    }
    *left -= spent;
    match result {
        Err(Error::Cost) => {
            let why = "no further validation rules will be run due to call cost exceeds limit for messageExpression";
            Told::Spent(format!("{why}: {}", shown(&Json::from(source))))
        }
        Ok(text) if !text.is_empty() && text.len() <= MESSAGE_BYTES && !text.contains('\n') => Told::Text(text),
        _ => Told::Nothing,
    }
}

/// The name of a rule in errors: its message, or the rule itself.
pub(super) fn name(rule: &Rule) -> &str {
    let text = if rule.message.is_empty() { &rule.rule } else { &rule.message };
    text.trim()
}

pub(super) fn own(rule: &Rule) -> String {
    let name = name(rule);
    if rule.message.is_empty() { format!("failed rule: {name}") } else { name.to_owned() }
}

/// The error for a value that breaks a rule. The value is shown if it is a scalar.
pub(super) fn error(rule: &Rule, field: String, value: Option<&Json>, detail: String) -> FieldError {
    let value = value.map(shown);
    let (wrong, value, detail) = match rule.reason.as_deref() {
        Some("FieldValueForbidden") => (Wrong::Forbidden, None, detail),
        Some("FieldValueRequired") => (Wrong::Required, None, detail),
        Some("FieldValueDuplicate") => (Wrong::Duplicate, value, String::new()),
        _ => (Wrong::Invalid, value, detail),
    };
    FieldError { wrong, field, value, detail }
}
