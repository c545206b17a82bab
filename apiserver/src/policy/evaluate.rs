//! Running expressions on a request, within a budget.

use super::authority::Authority;
use super::compiled::{Expression, Named};
use crate::object::Object;
use expression::{Budget, Error, Fields, Input, Program, Value};
use serde_json::Value as Json;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

/// What one expression may cost: about a tenth of a second.
const CALL: u64 = 1_000_000;
/// What the expressions of a policy may cost together, for each of its bindings and params.
pub(super) const POLICY: u64 = 10_000_000;
/// What the match conditions of a policy or a webhook may cost together.
pub(super) const CONDITIONS: u64 = 2_500_000;

/// The budget is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spent;

impl Spent {
    pub(super) const TEXT: &str =
        "validation failed due to running out of cost budget, no further validation rules will be run";
}

/// What expressions are told of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) request: &'a Json,
    pub(super) object: Option<&'a Object>,
    pub(super) old: Option<&'a Object>,
    pub(super) namespace: Option<&'a Json>,
    pub(super) params: Option<&'a Object>,
    pub(super) authority: Option<&'a Authority>,
}

/// Expressions that are run one after another, and share variables and a budget.
#[derive(Debug)]
pub(super) struct Run<'a> {
    variables: Variables<'a>,
    left: u64,
}

impl<'a> Run<'a> {
    pub(super) fn new(facts: Facts<'a>, named: &'a Named, budget: u64) -> Self {
        let (known, cost) = (RefCell::default(), Cell::new(0));
        Self { variables: Variables { facts, named, known, cost }, left: budget }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// The value, or why there is none. Once the budget is spent nothing is run any more.
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Result<Value<'static>, String>, Spent> {
        let program = match &expression.program {
            Ok(program) => program,
            Err(fault) => return Ok(Err(format!("compilation error: {}", fault.detail))),
        };
        let (value, cost) = self.variables.run(program);
        self.charge(self.variables.cost.take())?;
        self.charge(cost)?;
        Ok(value.map_err(|error| format!("expression '{}' resulted in error: {error}", expression.text)))
    }

    fn charge(&mut self, cost: u64) -> Result<(), Spent> {
        self.left = self.left.checked_sub(cost).ok_or(Spent)?;
        Ok(())
    }
}

/// What is computed when it is asked for, and then known.
#[derive(Debug)]
struct Variables<'a> {
    facts: Facts<'a>,
    named: &'a Named,
    known: RefCell<BTreeMap<usize, Result<Value<'static>, Error>>>,
    /// Of those computed since somebody looked.
    cost: Cell<u64>,
}

impl Variables<'_> {
    fn inputs(&self) -> Vec<(&str, Input<'_>)> {
        let Facts { request, object, old, namespace, params, authority } = self.facts;
        let mut inputs: Vec<(&str, Input<'_>)> = Vec::with_capacity(8);
        inputs.push(("object", any(object)));
        inputs.push(("oldObject", any(old)));
        inputs.push(("namespaceObject", namespace.map_or(Input::Value(Value::Null), Input::Json)));
        inputs.push(("request", Input::Json(request)));
        inputs.push(("params", any(params)));
        if let Some(authority) = authority {
            inputs.push(("authorizer", Input::Value(authority.authorizer.clone())));
            inputs.push(("authorizer.requestResource", Input::Value(authority.request_resource.clone())));
        }
        inputs.push(("variables", Input::Fields(self)));
        inputs
    }

    /// The value, and what it did cost. A run that was ended has used more than it had.
    fn run(&self, program: &Program) -> (Result<Value<'static>, Error>, u64) {
        let mut budget = Budget::from(CALL);
        let inputs = self.inputs();
        let value = program.run(&inputs, &mut budget).map(Value::into_owned);
        let over = u64::from(matches!(value, Err(Error::Cost)));
        (value, CALL - budget.cost + over)
    }

    fn compute(&self, name: &str, expression: &Expression) -> Result<Value<'static>, Error> {
        let program = expression
            .program
            .as_ref()
            .map_err(|fault| Error::new(format!("composited variable {name:?} fails to compile: {}", fault.detail)))?;
        let (value, cost) = self.run(program);
        self.cost.set(self.cost.get().saturating_add(cost));
        value.map_err(|error| Error::new(format!("composited variable {name:?} fails to evaluate: {error}")))
    }
}

fn any(object: Option<&Object>) -> Input<'_> {
    Input::Value(object.map_or(Value::Null, |object| Value::from(object.map())))
}

impl Fields for Variables<'_> {
    fn field<'a>(&'a self, name: &str, _: &mut Budget) -> Option<Result<Value<'a>, Error>> {
        let place = self.named.0.iter().position(|(other, _)| other == name)?;
        if let Some(known) = self.known.borrow().get(&place) {
            return Some(known.clone());
        }
        let value = self.compute(name, &self.named.0[place].1);
        self.known.borrow_mut().insert(place, value.clone());
        Some(value)
    }
}
