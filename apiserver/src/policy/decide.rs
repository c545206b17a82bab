//! What a policy makes of one request with one of its params.

use super::compiled::{Expression, Named, Wanted, text};
use super::conditions::{self, as_requested};
use super::environment::{self, Scope};
use super::evaluate::{Facts, POLICY, Run, Spent};
use super::read::Policy;
use crate::hooks::agreed;
use crate::object::Object;
use expression::Value;

/// A message of an expression that is longer is not told.
const MESSAGE_MAX: usize = 5 * 1024;

/// What a policy that validates wants.
#[derive(Debug)]
pub(super) struct Validations {
    validations: Vec<Validation>,
    annotations: Vec<(String, Expression)>,
}

#[derive(Debug)]
struct Validation {
    expression: Expression,
    message: String,
    message_expression: Option<Expression>,
    reason: &'static str,
}

/// What came of one validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) denies: bool,
    pub(super) message: String,
    pub(super) reason: &'static str,
}

/// What a policy wants to be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    Publish(String, String),
    Failed(String),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Decided {
    /// One for each validation, in their order; or one, why there are none.
    pub(super) decisions: Vec<Decision>,
    pub(super) notes: Vec<Note>,
}

impl Validations {
    pub(super) fn read(policy: &Object, scope: Scope, named: &Named) -> Self {
        let plain = environment::environment(scope, Some(named.declared()));
        let unauthorized = environment::environment(Scope { authorizer: false, ..scope }, Some(named.declared()));
        let validation = |item: &serde_json::Value| {
            let message = text(item, "messageExpression");
            Validation {
                expression: Expression::compile(&plain, text(item, "expression"), Wanted::Bool),
                message: text(item, "message").to_owned(),
                message_expression: (!message.is_empty())
                    .then(|| Expression::compile(&unauthorized, message, Wanted::Text)),
                reason: reason(text(item, "reason")),
            }
        };
        let note = |item: &serde_json::Value| {
            let expression = Expression::compile(&plain, text(item, "valueExpression"), Wanted::TextOrNull);
            (text(item, "key").to_owned(), expression)
        };
        Self {
            validations: policy.items(&["spec", "validations"]).map(validation).collect(),
            annotations: policy.items(&["spec", "auditAnnotations"]).map(note).collect(),
        }
    }
}

/// One of the reasons that a policy can give.
fn reason(said: &str) -> &'static str {
    match said {
        "Unauthorized" => "Unauthorized",
        "Forbidden" => "Forbidden",
        "RequestEntityTooLarge" => "RequestEntityTooLarge",
        _ => INVALID,
    }
}

pub(super) const INVALID: &str = "Invalid";

impl Policy<Validations> {
    pub(super) fn decide(&self, facts: Facts<'_>) -> Decided {
        if !self.conditions.is_empty() {
            let request = as_requested(facts.request);
            let facts = Facts { request: &request, ..facts };
            match agreed(conditions::evaluate(&self.conditions, facts, &self.named)) {
                Ok(true) => {}
                Ok(false) => return Decided::default(),
                // Nothing is asked of a request when nobody can tell whether it is meant.
                Err(_) if self.ignores_failure => return Decided::default(),
                Err(why) => return Decided { decisions: vec![self.failed(why)], notes: Vec::new() },
            }
        }
        let decided = self.decisions(facts).and_then(|decisions| Ok(Decided { decisions, notes: self.notes(facts)? }));
        decided
            .unwrap_or_else(|Spent| Decided { decisions: vec![self.failed(Spent::TEXT.to_owned())], notes: Vec::new() })
    }

    fn failed(&self, message: String) -> Decision {
        Decision { denies: !self.ignores_failure, message, reason: INVALID }
    }

    fn decisions(&self, facts: Facts<'_>) -> Result<Vec<Decision>, Spent> {
        let validations = &self.rules.validations;
        let mut run = Run::new(facts, &self.named, POLICY);
        let results: Result<Vec<_>, Spent> =
            validations.iter().map(|validation| run.evaluate(&validation.expression)).collect();
        let results = results?;
        let mut run = Run::new(Facts { authority: None, ..facts }, &self.named, run.left());
        let messages = validations.iter().map(|validation| match &validation.message_expression {
            Some(expression) => run.evaluate(expression).map(Result::ok),
            None => Ok(None),
        });
        let messages: Result<Vec<Option<Value<'static>>>, Spent> = messages.collect();
        let told = |place: usize| match &messages {
            Ok(messages) => Ok(messages.get(place).and_then(Option::as_ref).and_then(said)),
            Err(Spent) => Err(Spent),
        };
        let decision = |(place, result): (usize, Result<Value<'static>, String>)| match (result, told(place)) {
            (Err(why), _) => self.failed(why),
            (Ok(_), Err(Spent)) => self.failed(format!("failed messageExpression: {}", Spent::TEXT)),
            (Ok(value), Ok(told)) => validations[place].judge(&value, told),
        };
        Ok(results.into_iter().enumerate().map(decision).collect())
    }

    /// Whoever is recorded may not ask what others may do.
    fn notes(&self, facts: Facts<'_>) -> Result<Vec<Note>, Spent> {
        let mut run = Run::new(Facts { authority: None, ..facts }, &self.named, POLICY);
        let mut notes = Vec::new();
        for (key, expression) in &self.rules.annotations {
            match run.evaluate(expression)? {
                Ok(value) => {
                    let value = value.as_str().unwrap_or_default().trim();
                    if !value.is_empty() {
                        notes.push(Note::Publish(key.clone(), value.to_owned()));
                    }
                }
                Err(_) if self.ignores_failure => {}
                Err(why) => notes.push(Note::Failed(why)),
            }
        }
        Ok(notes)
    }
}

/// What an expression says in one line.
fn said(value: &Value<'static>) -> Option<String> {
    let text = value.as_str()?.trim();
    (!text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n')).then(|| text.to_owned())
}

impl Validation {
    fn judge(&self, value: &Value<'static>, told: Option<String>) -> Decision {
        if value.as_bool() == Some(true) {
            return Decision { denies: false, message: String::new(), reason: self.reason };
        }
        let own = || Some(self.message.trim()).filter(|text| !text.is_empty()).map(str::to_owned);
        let message =
            told.or_else(own).unwrap_or_else(|| format!("failed expression: {}", self.expression.text.trim()));
        Decision { denies: true, message, reason: self.reason }
    }
}
