//! Validation rules of custom resources: expressions over an object, and over what it was before.
//!
//! `Rules` are those of one schema, compiled; [`check_rules`] says what is wrong with the rules of a definition.

mod compile;
mod cost;
mod declare;
mod definition;
mod evaluate;
mod message;
mod presets;

pub(super) use compile::LIBRARIES;
pub(super) use cost::{RULE_COST, excess};
pub(super) use declare::declare;
pub use definition::check_rules;

use compile::Place;
use evaluate::Evaluation;
use openapi::structural::Structural;
use openapi::{FieldError, Wrong};
use serde_json::Value;

/// What one run of an expression may cost.
pub(super) const CALL_COST: u64 = 1_000_000;
/// What all rules together may cost on one object.
pub(super) const OBJECT_COST: u64 = 10_000_000;
/// Errors that are told of one object or definition.
const ERRORS_MAX: usize = 500;
/// Text that is kept of them.
const BYTES_MAX: usize = 1 << 20;

pub(super) const SELF: &str = "self";
const OLD_SELF: &str = "oldSelf";

/// What is to be said of an object.
#[derive(Debug, Default)]
pub struct Judged {
    pub errors: Vec<FieldError>,
    /// Rules that an object breaks as the one before it did: its author is told, and may go on.
    pub forgiven: Vec<FieldError>,
}

impl From<Vec<FieldError>> for Judged {
    fn from(errors: Vec<FieldError>) -> Self {
        Self { errors, forgiven: Vec::new() }
    }
}

/// The rules of a schema, compiled.
#[derive(Debug)]
pub(super) struct Rules {
    root: Place,
}

impl Rules {
    /// None for a schema without rules. What does not compile is told of every object: definitions are checked when
    /// they are written.
    pub(super) fn compile(structural: &Structural) -> Option<Self> {
        compile::tree(structural.root(), true).map(|root| Self { root })
    }

    /// What is wrong with an object, or with one in the place of `old`, beyond what was `found` already.
    pub(super) fn validate(
        &self,
        structural: &Structural,
        object: &Value,
        old: Option<&Value>,
        found: &[FieldError],
    ) -> Judged {
        if found.iter().any(blocks) {
            let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                          errors to complete validation";
            return Judged::from(vec![FieldError::invalid("<nil>", Value::Null, detail)]);
        }
        Evaluation::of(OBJECT_COST).object(&self.root, structural.root(), object, old)
    }
}

/// Errors after which an object cannot be trusted to look as rules expect it to.
fn blocks(error: &FieldError) -> bool {
    use Wrong::{NotSupported, Required, TooLong, TooMany, TypeInvalid};
    matches!(error.wrong, NotSupported | Required | TooLong | TooMany | TypeInvalid)
}

#[cfg(test)]
mod tests;
