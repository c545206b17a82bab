//! Nodes, and labels of nodes that have had their time.

use super::Told;
use super::network;
use crate::validation::names;
use crate::validation::tree::Node;

const DEPRECATED_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// What is to be said about a label of nodes.
pub(super) fn deprecated(label: &str) -> Option<&'static str> {
    DEPRECATED_LABELS.iter().find(|(name, _)| *name == label).map(|(_, why)| *why)
}

/// Whether the values that are looked for could be values of labels is looked at where nothing refuses them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Values {
    Looked,
    Ignored,
}

pub(super) fn term(told: &mut Told, term: &Node<'_>, values: Values) {
    for expression in term.at("matchExpressions").items() {
        expression_key(told, &expression);
        if values == Values::Ignored {
            continue;
        }
        for value in expression.at("values").items() {
            for wrong in names::label_value(value.text()) {
                told.about(&value, &format!("{} is invalid, {wrong}", value.text()));
            }
        }
    }
}

fn expression_key(told: &mut Told, expression: &Node<'_>) {
    let key = expression.at("key");
    if let Some(why) = deprecated(key.text()) {
        told.about(&key, &format!("{} is {why}", key.text()));
    }
}

/// A selector of nodes by their labels.
pub(super) fn selector(told: &mut Told, selector: &Node<'_>) {
    for expression in selector.at("matchExpressions").items() {
        expression_key(told, &expression);
    }
    let labels = selector.at("matchLabels");
    for (label, _) in labels.entries() {
        if let Some(why) = deprecated(label) {
            told.about(&labels.at(label), why);
        }
    }
}

pub(super) fn runtime_class(told: &mut Told, class: &Node<'_>) {
    let selector = class.at("scheduling").at("nodeSelector");
    for (label, _) in selector.entries() {
        if let Some(why) = deprecated(label) {
            told.about(&selector, why);
        }
    }
}

pub(super) fn node(told: &mut Told, node: &Node<'_>) {
    let spec = node.at("spec");
    if spec.at("configSource").exists() {
        told.about(&spec.at("configSource"), "the feature is removed");
    }
    if !spec.at("externalID").is_empty() {
        told.about(&spec.at("externalID"), "this field is deprecated, and is unused by Kubernetes");
    }
    spec.at("podCIDRs").items().for_each(|range| network::range(told, &range));
}
