//! The place of those who read match conditions: expressions in a language that is not known here.

use super::Ask;
use crate::object::Object;
use serde_json::Value;
use std::fmt;

/// An expression that has to hold for a hook to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub name: String,
    pub expression: String,
}

/// What expressions speak of.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// An `AdmissionRequest` without uid and objects.
    pub request: &'a Value,
    pub object: Option<&'a Object>,
    pub old: Option<&'a Object>,
    pub ask: &'a Ask<'a>,
}

/// Reads conditions, once for each webhook.
pub trait Conditions {
    fn compile(&self, conditions: &[Condition]) -> Box<dyn Evaluate>;
}

/// Conditions that were read.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// For each condition whether it holds, or why nobody can say. An expression that could not be read is of the latter.
    fn evaluate(&self, subject: &Subject<'_>) -> Vec<Result<bool, String>>;
}

/// Reads none: a hook with conditions then fails as its failure policy says.
#[derive(Clone, Copy, Debug)]
pub struct Unevaluated;

impl Conditions for Unevaluated {
    fn compile(&self, _: &[Condition]) -> Box<dyn Evaluate> {
        Box::new(Self)
    }
}

impl Evaluate for Unevaluated {
    fn evaluate(&self, _: &Subject<'_>) -> Vec<Result<bool, String>> {
        vec![Err("match conditions cannot be evaluated by this server".to_owned())]
    }
}
