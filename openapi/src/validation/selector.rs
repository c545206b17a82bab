//! Labels, and selectors of them.

use super::names;
use super::tree::{Errors, Node};

pub(super) fn label_name(errors: &mut Errors, at: &Node) {
    errors.refuse(at, names::qualified_name(at.text()));
}

/// A map of labels; its errors name the map, not the key.
pub(super) fn labels(errors: &mut Errors, map: &Node) {
    for (key, value) in map.entries() {
        for message in names::qualified_name(key) {
            errors.invalid_value(map, key, message);
        }
        for message in names::label_value(value.text()) {
            errors.invalid_value(map, value.text(), message);
        }
    }
}

/// A `LabelSelector`.
pub(super) fn selector(errors: &mut Errors, at: &Node) {
    labels(errors, &at.at("matchLabels"));
    for requirement in at.at("matchExpressions").items() {
        operator(errors, &requirement);
        key_and_values(errors, &requirement);
    }
}

/// A `LabelSelector` whose requirements may name values that no label has.
pub(super) fn selector_of_any_values(errors: &mut Errors, at: &Node) {
    labels(errors, &at.at("matchLabels"));
    for requirement in at.at("matchExpressions").items() {
        operator(errors, &requirement);
        label_name(errors, &requirement.at("key"));
    }
}

fn operator(errors: &mut Errors, requirement: &Node) {
    let operator = requirement.at("operator");
    known_operator(errors, requirement);
    if !["In", "NotIn", "Exists", "DoesNotExist"].contains(&operator.text()) {
        errors.invalid_value(&operator, operator.text(), "not a valid selector operator");
    }
}

/// A requirement whose operator may be one that this server does not know.
pub(super) fn lenient_requirement(errors: &mut Errors, requirement: &Node) {
    known_operator(errors, requirement);
    key_and_values(errors, requirement);
}

fn key_and_values(errors: &mut Errors, requirement: &Node) {
    label_name(errors, &requirement.at("key"));
    for value in requirement.at("values").items() {
        errors.refuse(&value, names::label_value(value.text()));
    }
}

/// What the known operators ask of the values.
pub(super) fn known_operator(errors: &mut Errors, requirement: &Node) {
    let values = requirement.at("values");
    match requirement.at("operator").text() {
        "In" | "NotIn" if values.is_empty() => {
            errors.required(&values, "must be specified when `operator` is 'In' or 'NotIn'");
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            errors.forbidden(&values, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        _ => {}
    }
}

pub(super) fn is_empty(selector: &Node) -> bool {
    selector.at("matchLabels").is_empty() && selector.at("matchExpressions").is_empty()
}

/// Go can make sense of the selector.
pub(super) fn is_readable(selector: &Node) -> bool {
    let right = |requirement: Node| {
        let values = requirement.at("values");
        let operator = match requirement.at("operator").text() {
            "In" | "NotIn" => !values.is_empty(),
            "Exists" | "DoesNotExist" => values.is_empty(),
            _ => false,
        };
        operator
            && names::qualified_name(requirement.at("key").text()).is_empty()
            && values.texts().iter().all(|value| names::label_value(value).is_empty())
    };
    selector.at("matchExpressions").items().all(right)
        && selector
            .at("matchLabels")
            .entries()
            .all(|(key, value)| names::qualified_name(key).is_empty() && names::label_value(value.text()).is_empty())
}

/// The selector selects an object with these labels.
pub(super) fn selects(selector: &Node, labels: &Node) -> bool {
    matches_all(&selector.at("matchLabels"), labels)
        && selector.at("matchExpressions").items().all(|requirement| meets(&requirement, labels))
}

/// Every entry of the map is a label.
pub(super) fn matches_all(map: &Node, labels: &Node) -> bool {
    map.entries().all(|(key, value)| labels.value().get(key) == Some(value.value()))
}

fn meets(requirement: &Node, labels: &Node) -> bool {
    let label = labels.value().get(requirement.at("key").text()).and_then(|value| value.as_str());
    let named = label.is_some_and(|label| requirement.at("values").texts().contains(&label));
    match requirement.at("operator").text() {
        "In" => named,
        "NotIn" => !named,
        "Exists" => label.is_some(),
        _ => label.is_none(),
    }
}
