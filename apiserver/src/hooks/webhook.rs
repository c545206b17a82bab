//! One webhook of a configuration, read once.

use super::conditions::{Condition, Conditions, Evaluate};
use super::endpoint::Endpoint;
use super::rules::{Rule, words};
use crate::selector::{LabelSelector, ParseError};
use serde_json::Value;
use std::time::Duration;

/// What a hook gets that does not say how long it takes: as long as Kubernetes waits for any.
const LIMIT: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Webhook {
    pub(super) configuration: String,
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
    /// Rules that name another version of the resource mean this one too.
    pub(super) equivalent: bool,
    pub(super) namespaces: Result<LabelSelector, ParseError>,
    pub(super) objects: Result<LabelSelector, ParseError>,
    pub(super) conditions: Option<Box<dyn Evaluate>>,
    /// A write goes on when the hook cannot be asked.
    pub(super) ignores_failure: bool,
    pub(super) side_effects: Option<String>,
    /// Wants to see the object again when others have changed it.
    pub(super) asks_again: bool,
    pub(super) limit: Duration,
    pub(super) review_versions: Vec<String>,
    pub(super) endpoint: Result<Endpoint, String>,
}

impl Webhook {
    pub(super) fn read(configuration: &str, tree: &Value, conditions: &dyn Conditions) -> Self {
        let word = |field: &str| tree.get(field).and_then(Value::as_str);
        let selector = |field: &str| LabelSelector::from_object(tree.get(field).unwrap_or(&Value::Null));
        let rules = tree.get("rules").and_then(Value::as_array).into_iter().flatten();
        let limit = tree.get("timeoutSeconds").and_then(Value::as_u64);
        let texts = condition_texts(tree);
        Self {
            configuration: configuration.to_owned(),
            name: word("name").unwrap_or_default().to_owned(),
            rules: rules.map(Rule::read).collect(),
            equivalent: word("matchPolicy") == Some("Equivalent"),
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            conditions: (!texts.is_empty()).then(|| conditions.compile(&texts)),
            ignores_failure: word("failurePolicy") == Some("Ignore"),
            side_effects: word("sideEffects").map(str::to_owned),
            asks_again: word("reinvocationPolicy") == Some("IfNeeded"),
            limit: limit.map_or(LIMIT, Duration::from_secs).min(LIMIT),
            review_versions: words(tree, "admissionReviewVersions"),
            endpoint: Endpoint::read(tree.get("clientConfig").unwrap_or(&Value::Null)),
        }
    }
}

fn condition_texts(tree: &Value) -> Vec<Condition> {
    let list = tree.get("matchConditions").and_then(Value::as_array).into_iter().flatten();
    let word = |item: &Value, field: &str| item.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    list.map(|item| Condition { name: word(item, "name"), expression: word(item, "expression") }).collect()
}
