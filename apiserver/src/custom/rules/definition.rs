//! What is wrong with the rules of a definition: whether they compile, what they may cost, and what they refer to.

use openapi::structural::{ListType, Node, Rule, Structural, json};
use openapi::validation::definition::{Located, is_sound, is_structural, schemas};
use openapi::{FieldError, Wrong};
use serde_json::Value;

use super::compile::{Compiled, Place};
use super::cost::{self, RULE_COST, Total};
use super::{ERRORS_MAX, Rules, presets};

/// Why a definition may not be written because of its rules, beyond what was `found` already. Where a schema is wrong,
/// its rules are not looked at.
pub fn check_rules(definition: &Value, old: Option<&Value>, found: &[FieldError]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for located in schemas(definition) {
        let structural = Structural::read(located.schema);
        let Some(rules) = Rules::compile(&structural) else { continue };
        let below: Vec<&str> = found.iter().map(|error| &*error.field).filter(|at| is_in(at, &located.path)).collect();
        if !below.is_empty() && !is_sound(located.schema) {
            // Defaults are looked at one by one, and rules only when all defaults are right.
            if is_structural(located.schema) {
                errors.extend(presets::check(&rules.root, structural.root(), &located.path, &below));
            }
            continue;
        }
        let unchanged = old.is_some_and(|old| schema_of(old, located.version) == Some(located.schema));
        errors.extend(Check::run(&located, &structural, &rules, below, unchanged));
    }
    errors.truncate(ERRORS_MAX);
    errors
}

fn schema_of<'a>(definition: &'a Value, version: &str) -> Option<&'a Value> {
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    versions.iter().find(|entry| entry["name"] == version)?.pointer("/schema/openAPIV3Schema")
}

/// Whether a place is another, or inside of it.
fn is_in(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Where a schema stands, and what is known from those above it.
#[derive(Clone, Copy)]
struct Above<'a> {
    path: &'a str,
    /// How many values an object can have here: none if there is no limit.
    times: Option<u64>,
    /// The first schema above whose values cannot be told what they were before.
    lost: Option<&'a str>,
}

struct Check<'a> {
    /// Places of errors in the schema.
    wrong: Vec<&'a str>,
    /// The schema is that of the old definition, whose rules were not too expensive then.
    unchanged: bool,
    total: Total,
    errors: Vec<FieldError>,
}

impl<'a> Check<'a> {
    fn run(
        located: &Located<'_>,
        structural: &Structural,
        rules: &Rules,
        wrong: Vec<&'a str>,
        unchanged: bool,
    ) -> Vec<FieldError> {
        let defaults = presets::check(&rules.root, structural.root(), &located.path, &[]);
        if !defaults.is_empty() {
            return defaults;
        }
        let mut check = Check { wrong, unchanged, total: Total::default(), errors: Vec::new() };
        let above = Above { path: &located.path, times: Some(1), lost: None };
        check.place(&rules.root, structural.root(), above);
        check.errors.extend(check.total.errors(&located.path));
        check.errors
    }

    fn place(&mut self, place: &Place, node: &Node, above: Above<'_>) {
        let path = above.path;
        let times = above.times.zip(cost::times(node)).map(|(above, own)| above.saturating_mul(own));
        let inner = Above { times, ..above };
        if let (Some(place), Some(node)) = (&place.additional, node.additional_properties().schema()) {
            self.place(place, node, Above { path: &format!("{path}.additionalProperties"), ..inner });
        }
        for (name, place) in &place.properties {
            if let Some(node) = node.property(name) {
                self.place(place, node, Above { path: &format!("{path}.properties[{name}]"), ..inner });
            }
        }
        if let (Some(place), Some(items)) = (&place.items, node.items()) {
            let lost = above.lost.or((node.list_type() != Some(ListType::Map)).then_some(path));
            self.place(place, items, Above { path: &format!("{path}.items"), lost, ..inner });
        }
        if !self.wrong.iter().any(|at| is_in(at, path)) {
            self.rules(place, node, above);
        }
    }

    fn rules(&mut self, place: &Place, node: &Node, above: Above<'_>) {
        let path = format!("{}.x-kubernetes-validations", above.path);
        let Some(compiled) = &place.rules else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            let detail = detail.to_owned();
            return self.errors.push(FieldError { wrong: Wrong::Internal, field: path, value: None, detail });
        };
        let times = above.times.unwrap_or(place.most);
        for (index, (rule, compiled)) in node.rules().iter().zip(compiled).enumerate() {
            let path = format!("{path}[{index}]");
            self.costs(&path, compiled, times);
            self.rule(&path, rule, compiled, above.lost);
        }
    }

    fn costs(&mut self, path: &str, compiled: &Compiled, times: u64) {
        let once = compiled.runs().map_or(0, |program| program.estimate().max);
        let message = compiled.message.as_ref().ok().and_then(Option::as_ref);
        self.cost(format!("{path}.rule"), "estimated rule cost", once.saturating_mul(times));
        if let Some(message) = message {
            let name = "estimated messageExpression cost";
            self.cost(format!("{path}.messageExpression"), name, message.estimate().max);
        }
    }

    fn cost(&mut self, path: String, name: &str, cost: u64) {
        self.total.add(&path, cost);
        if !self.unchanged && cost > RULE_COST {
            self.errors.push(FieldError::forbidden(path, cost::excess(name, cost, RULE_COST)));
        }
    }

    fn rule(&mut self, path: &str, rule: &Rule, compiled: &Compiled, lost: Option<&str>) {
        let mut refuse = |part: &str, value: String, detail: String| {
            let field = format!("{path}.{part}");
            self.errors.push(FieldError { wrong: Wrong::Invalid, field, value: Some(value), detail });
        };
        if let Err(why) = &compiled.program {
            refuse("rule", shown(rule), why.clone());
        }
        if let Err(why) = &compiled.message {
            refuse("messageExpression", shown(rule), why.clone());
        }
        match (compiled.uses_old(), lost, rule.optional_old_self) {
            (true, Some(lost), _) => {
                let detail =
                    format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}");
                self.errors.push(FieldError::invalid(format!("{path}.rule"), &*rule.rule, detail));
            }
            (false, _, Some(optional)) => {
                let detail = "may not be set if oldSelf is not used in rule";
                self.errors.push(FieldError::invalid(format!("{path}.optionalOldSelf"), optional, detail));
            }
            _ => {}
        }
    }
}

/// A rule as errors show it: all of its fields, in the order in which Go declares them.
fn shown(rule: &Rule) -> String {
    let text = |text: &str| json(&Value::from(text));
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        text(&rule.rule),
        text(&rule.message),
        text(&rule.message_expression),
        rule.reason.as_deref().map_or("null".to_owned(), text),
        text(&rule.field_path),
        rule.optional_old_self.map_or("null".to_owned(), |optional| optional.to_string()),
    )
}
