//! Where a pod may run: affinity, tolerations, spreading.

use std::collections::{HashMap, HashSet};

use crate::validation::names;
use crate::validation::selector;
use crate::validation::tree::{Errors, Node};

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

pub(super) fn affinity(errors: &mut Errors, affinity: &Node) {
    let node = affinity.at("nodeAffinity");
    if node.at(REQUIRED).exists() {
        node_selector(errors, &node.at(REQUIRED), Values::Checked);
    }
    for term in node.at(PREFERRED).items() {
        weight(errors, &term.at("weight"));
        node_term(errors, &term.at("preference"), Values::Free);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        for term in affinity.at(kind).at(REQUIRED).items() {
            pod_term(errors, &term);
        }
        for term in affinity.at(kind).at(PREFERRED).items() {
            weight(errors, &term.at("weight"));
            pod_term(errors, &term.at("podAffinityTerm"));
        }
    }
}

/// Whether the values of a node selector must look like those of labels.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::validation) enum Values {
    Checked,
    Free,
}

fn weight(errors: &mut Errors, at: &Node) {
    if !(1..=100).contains(&at.int()) {
        errors.invalid_value(at, at.int(), "must be in the range 1-100");
    }
}

pub(in crate::validation) fn node_selector(errors: &mut Errors, selector: &Node, values: Values) {
    let terms = selector.at("nodeSelectorTerms");
    if terms.is_empty() {
        errors.required(&terms, "must have at least one node selector term");
    }
    for term in terms.items() {
        node_term(errors, &term, values);
    }
}

fn node_term(errors: &mut Errors, term: &Node, checked: Values) {
    for requirement in term.at("matchExpressions").items() {
        let values = requirement.at("values");
        match requirement.at("operator").text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
            }
            "Gt" | "Lt" if values.len() != 1 => {
                errors.required(&values, "must be specified single value when `operator` is 'Lt' or 'Gt'");
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
            other => errors.invalid_value(&requirement.at("operator"), other, "not a valid selector operator"),
        }
        selector::label_name(errors, &requirement.at("key"));
        for value in values.items().filter(|_| checked == Values::Checked) {
            errors.refuse(&value, names::label_value(value.text()));
        }
    }
    for requirement in term.at("matchFields").items() {
        node_field(errors, &requirement);
    }
}

fn node_field(errors: &mut Errors, requirement: &Node) {
    let (values, key) = (requirement.at("values"), requirement.at("key"));
    match requirement.at("operator").text() {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
            errors.required(&values, detail);
        }
        other => errors.invalid_value(&requirement.at("operator"), other, "not a valid selector operator"),
    }
    if !key.is("metadata.name") {
        return errors.invalid_value(&key, key.text(), "not a valid field selector key");
    }
    for value in values.items() {
        errors.refuse(&value, names::dns1123_subdomain(value.text()));
    }
}

fn pod_term(errors: &mut Errors, term: &Node) {
    selector::selector(errors, &term.at("labelSelector"));
    selector::selector(errors, &term.at("namespaceSelector"));
    for name in term.at("namespaces").texts() {
        for message in names::dns1123_label(name) {
            errors.invalid_value(&term.at("namespace"), name, message);
        }
    }
    label_keys(errors, term);
    let key = term.at("topologyKey");
    if key.is_empty() {
        errors.required(&key, "can not be empty");
    }
    errors.refuse(&key, names::qualified_name(key.text()));
}

/// `matchLabelKeys` and `mismatchLabelKeys`.
fn label_keys(errors: &mut Errors, term: &Node) {
    let selector = term.at("labelSelector");
    let (matched, mismatched) = (term.at("matchLabelKeys"), term.at("mismatchLabelKeys"));
    for keys in [&matched, &mismatched] {
        if !keys.is_empty() && !selector.exists() {
            errors.forbidden(keys, "must not be specified when labelSelector is not set");
            continue;
        }
        for key in keys.items() {
            selector::label_name(errors, &key);
        }
    }
    let mut selected: HashSet<&str> = selector.at("matchLabels").entries().map(|(key, _)| key).collect();
    let places: HashMap<&str, usize> = matched.texts().into_iter().enumerate().map(|(at, key)| (key, at)).collect();
    for expression in selector.at("matchExpressions").items() {
        let key = expression.at("key").text();
        if let Some(at) = places.get(key).filter(|_| selected.contains(key)) {
            errors.invalid_value(&term.item(*at), key, "exists in both matchLabelKeys and labelSelector");
        }
        selected.insert(key);
    }
    let mismatched: HashSet<&str> = mismatched.texts().into_iter().collect();
    for key in matched.items().filter(|key| mismatched.contains(key.text())) {
        errors.invalid(&key, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}

pub(in crate::validation) fn tolerations(errors: &mut Errors, list: &Node) {
    for toleration in list.items() {
        self::toleration(errors, &toleration);
    }
}

fn toleration(errors: &mut Errors, toleration: &Node) {
    let (key, operator) = (toleration.at("key"), toleration.at("operator"));
    let (value, effect) = (toleration.at("value"), toleration.at("effect"));
    if !key.is_empty() {
        selector::label_name(errors, &key);
    } else if !operator.is("Exists") {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.invalid_value(&operator, operator.text(), detail);
    }
    if toleration.at("tolerationSeconds").exists() && !effect.is("NoExecute") {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        errors.invalid_value(&effect, effect.text(), detail);
    }
    match operator.text() {
        "Equal" | "" => {
            let wrong = names::label_value(value.text());
            if !wrong.is_empty() {
                errors.invalid_value(&operator, value.text(), wrong.join(";"));
            }
        }
        "Exists" if !value.is_empty() => {
            errors.invalid_value(&operator, value.text(), "value must be empty when `operator` is 'Exists'");
        }
        "Exists" => {}
        "Lt" | "Gt" => errors.unsupported(&operator, &["Equal", "Exists", "Lt", "Gt"]),
        _ => errors.unsupported(&operator, &["Equal", "Exists"]),
    }
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !effects.contains(&effect.text()) {
        errors.unsupported(&effect, &effects);
    }
}

pub(super) fn spread(errors: &mut Errors, constraints: &Node) {
    let mut later: Vec<(&str, &str)> = Vec::new();
    for constraint in constraints.items() {
        later.push((constraint.at("topologyKey").text(), constraint.at("whenUnsatisfiable").text()));
    }
    let repeated = repeated_later(&later);
    for (constraint, repeated) in constraints.items().zip(repeated) {
        self::constraint(errors, &constraint, repeated);
    }
}

/// Of each item, whether the same stands again further on.
fn repeated_later(items: &[(&str, &str)]) -> Vec<bool> {
    let mut seen = HashSet::new();
    let mut repeated: Vec<bool> = items.iter().rev().map(|item| !seen.insert(item)).collect();
    repeated.reverse();
    repeated
}

fn constraint(errors: &mut Errors, constraint: &Node, repeated: bool) {
    let (skew, key, when) =
        (constraint.at("maxSkew"), constraint.at("topologyKey"), constraint.at("whenUnsatisfiable"));
    if skew.int() <= 0 {
        errors.invalid_value(&skew, skew.int(), "must be greater than zero");
    }
    if key.is_empty() {
        errors.required(&key, "can not be empty");
    }
    if !["DoNotSchedule", "ScheduleAnyway"].contains(&when.text()) {
        errors.unsupported(&when, &["DoNotSchedule", "ScheduleAnyway"]);
    }
    if repeated {
        let pair = format!("{{{}, {}}}", key.text(), when.text());
        errors.duplicate(&constraint.at("{topologyKey, whenUnsatisfiable}"), pair);
    }
    let domains = constraint.at("minDomains");
    if domains.exists() {
        if domains.int() <= 0 {
            errors.invalid(&domains, "must be greater than zero");
        }
        if !when.is("DoNotSchedule") {
            let detail = "can only use minDomains if whenUnsatisfiable=DoNotSchedule, not";
            errors.invalid(&domains, format!("{detail} {}", when.text()));
        }
    }
    for policy in ["nodeAffinityPolicy", "nodeTaintsPolicy"].map(|name| constraint.at(name)) {
        if policy.exists() && !["Honor", "Ignore"].contains(&policy.text()) {
            errors.unsupported(&policy, &["Honor", "Ignore"]);
        }
    }
    label_keys(errors, constraint);
    selector::selector(errors, &constraint.at("labelSelector"));
}
