//! What is wrong with expressions when they are written.

use super::compiled::{Expression, Fault, Named, Wanted, text};
use super::environment::{self, Scope};
use super::read;
use crate::object::Object;
use expression::Environment;
use openapi::{FieldError, Wrong};
use serde_json::Value;

/// Why the expressions of a policy, or of a webhook configuration, are refused. Of other objects nothing is. Expressions
/// that are empty are for others to refuse.
pub fn check(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match object.kind() {
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            let scope = Scope { authorizer: true, ..Scope::default() };
            for (place, hook) in object.items(&["webhooks"]).enumerate() {
                let list = hook.get("matchConditions").and_then(Value::as_array).into_iter().flatten();
                conditions(list, scope, &format!("webhooks[{place}]"), &mut errors);
            }
        }
        "ValidatingAdmissionPolicy" => validating(object, &mut errors),
        "MutatingAdmissionPolicy" => mutating(object, &mut errors),
        _ => {}
    }
    errors
}

/// Conditions know no variables.
fn conditions<'a>(list: impl Iterator<Item = &'a Value>, scope: Scope, at: &str, errors: &mut Vec<FieldError>) {
    let environment = environment::environment(scope, None);
    for (place, condition) in list.enumerate() {
        let said = text(condition, "expression").trim();
        refuse(errors, &environment, said, Wanted::Bool, &format!("{at}.matchConditions[{place}].expression"));
    }
}

/// Tells what is wrong with an expression; one that is not there is not looked at.
fn refuse(errors: &mut Vec<FieldError>, environment: &Environment, said: &str, wanted: Wanted, at: &str) {
    if said.trim().is_empty() {
        return;
    }
    if let Err(fault) = Expression::compile(environment, said, wanted).program {
        errors.push(told(&fault, said, at));
    }
}

fn told(fault: &Fault, said: &str, at: &str) -> FieldError {
    if fault.is_internal {
        let (field, detail) = (at.to_owned(), fault.detail.clone());
        return FieldError { wrong: Wrong::Internal, field, value: None, detail };
    }
    FieldError::invalid(at, said, &*fault.detail)
}

fn variables(policy: &Object, scope: Scope, errors: &mut Vec<FieldError>) -> Named {
    let mut named = Named::default();
    for (place, variable) in policy.items(&["spec", "variables"]).enumerate() {
        let said = text(variable, "expression");
        if said.trim().is_empty() {
            continue;
        }
        let environment = environment::environment(scope, Some(named.declared()));
        named.add(&environment, text(variable, "name"), said);
        if let Some((_, Expression { program: Err(fault), .. })) = named.0.last() {
            errors.push(told(fault, said, &format!("spec.variables[{place}].expression")));
        }
    }
    named
}

fn validating(policy: &Object, errors: &mut Vec<FieldError>) {
    let scope = read::scope(policy);
    conditions(policy.items(&["spec", "matchConditions"]), scope, "spec", errors);
    let named = variables(policy, scope, errors);
    // Whoever has no variables cannot even ask for them.
    let declared = policy.items(&["spec", "variables"]).next().is_some().then(|| named.declared());
    let plain = environment::environment(scope, declared.clone());
    let unauthorized = environment::environment(Scope { authorizer: false, ..scope }, declared);
    for (place, validation) in policy.items(&["spec", "validations"]).enumerate() {
        let at = |field: &str| format!("spec.validations[{place}].{field}");
        refuse(errors, &plain, text(validation, "expression"), Wanted::Bool, &at("expression"));
        let message = text(validation, "messageExpression");
        refuse(errors, &unauthorized, message, Wanted::Text, &at("messageExpression"));
    }
    for (place, note) in policy.items(&["spec", "auditAnnotations"]).enumerate() {
        let said = text(note, "valueExpression");
        if said.trim().is_empty() || said.trim().len() > VALUE_EXPRESSION_MAX {
            continue;
        }
        if let Err(fault) = Expression::compile(&plain, said.trim(), Wanted::TextOrNull).program {
            errors.push(told(&fault, said, &format!("spec.auditAnnotations[{place}].valueExpression")));
        }
    }
}

/// What is longer is refused without being read.
const VALUE_EXPRESSION_MAX: usize = 5 * 1024;

fn mutating(policy: &Object, errors: &mut Vec<FieldError>) {
    let scope = read::scope(policy);
    conditions(policy.items(&["spec", "matchConditions"]), scope, "spec", errors);
    let named = variables(policy, scope, errors);
    let environment = environment::environment(Scope { patches: true, ..scope }, Some(named.declared()));
    for (place, mutation) in policy.items(&["spec", "mutations"]).enumerate() {
        let (part, wanted) = match text(mutation, "patchType") {
            "JSONPatch" => ("jsonPatch", Wanted::Operations),
            "ApplyConfiguration" => ("applyConfiguration", Wanted::Object),
            _ => continue,
        };
        let said = mutation.get(part).map(|part| text(part, "expression").trim()).unwrap_or_default();
        refuse(errors, &environment, said, wanted, &format!("spec.mutations[{place}].{part}.expression"));
    }
}
