//! Match conditions: expressions that all have to hold for a webhook or a policy to be asked.

use super::authority::Authority;
use super::compiled::{Expression, Named, Wanted};
use super::environment::{self, Scope};
use super::evaluate::{CONDITIONS, Facts, Run, Spent};
use crate::hooks::{Condition, Conditions, Evaluate, Subject};
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;

/// Reads the match conditions of webhooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchConditions;

impl Conditions for MatchConditions {
    fn compile(&self, conditions: &[Condition]) -> Box<dyn Evaluate> {
        let environment = environment::environment(Scope { authorizer: true, ..Scope::default() }, None);
        let read = |one: &Condition| Expression::compile(&environment, &one.expression, Wanted::Bool);
        Box::new(OfWebhook { conditions: conditions.iter().map(read).collect() })
    }
}

struct OfWebhook {
    conditions: Vec<Expression>,
}

impl fmt::Debug for OfWebhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.conditions.iter().map(|condition| &condition.text)).finish()
    }
}

impl Evaluate for OfWebhook {
    fn evaluate(&self, subject: &Subject<'_>) -> Vec<Result<bool, String>> {
        let authority = Authority::new(subject.ask);
        let request = as_requested(subject.request);
        let facts = Facts {
            request: &request,
            object: subject.object,
            old: subject.old,
            namespace: None,
            params: None,
            authority: Some(&authority),
        };
        evaluate(&self.conditions, facts, &Named::default())
    }
}

/// What each of them says. Namespaces are not told to conditions.
pub(super) fn evaluate(conditions: &[Expression], facts: Facts<'_>, named: &Named) -> Vec<Result<bool, String>> {
    let mut run = Run::new(Facts { namespace: None, ..facts }, named, CONDITIONS);
    let results = conditions.iter().map(|condition| {
        let value = run.evaluate(condition)?;
        Ok(value.map(|value| value.as_bool().unwrap_or(false)))
    });
    let results: Result<Vec<_>, Spent> = results.collect();
    results.unwrap_or_else(|Spent| vec![Err(Spent::TEXT.to_owned())])
}

/// Conditions are told the resource that was asked for, whichever version a webhook or policy wants to see.
pub(super) fn as_requested(request: &Value) -> Cow<'_, Value> {
    match (request.get("resource"), request.get("requestResource")) {
        (Some(shown), Some(asked)) if shown != asked => {
            let mut request = request.clone();
            request["resource"] = asked.clone();
            Cow::Owned(request)
        }
        _ => Cow::Borrowed(request),
    }
}
