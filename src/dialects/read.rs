//! Reading what the dialects have in common: selectors of labels, fields and objects, tolerations.

use crate::apis;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::affinity::Field;
use crate::scheduler::affinity::FieldRequirement;
use crate::scheduler::affinity::Operator;
use crate::scheduler::affinity::Toleration;
use crate::scheduler::cell::Effect;
use crate::scheduler::cell::NOT_READY;
use crate::scheduler::cell::Taint;
use apiserver::selector::LabelSelector;
use openapi::scalar::time::{Instant, Precision};
use serde_json::Value;

/// What a policy says and nobody can make sense of. Schemas keep most of it out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {why}")]
pub struct DialectError {
    field: String,
    why: String,
}

pub(super) fn wrong(field: &str, why: impl ToString) -> DialectError {
    DialectError { field: field.to_owned(), why: why.to_string() }
}

/// `None` if nothing is said.
pub(super) fn label_selector(object: &Value, key: &str) -> Result<Option<LabelSelector>, DialectError> {
    let Some(selector) = apis::at(object, &[key]) else { return Ok(None) };
    LabelSelector::from_object(selector).map(Some).map_err(|error| wrong(key, error))
}

/// What several values of a list are read to.
pub(super) fn each<T>(
    list: &[Value],
    read: impl Fn(&Value) -> Result<T, DialectError>,
) -> Result<Vec<T>, DialectError> {
    list.iter().map(read).collect()
}

/// `labelSelector`, `fieldSelector`, and lists of names under `names` and `exclude`.
pub(super) fn affinity(object: &Value, names: &str, exclude: &str) -> Result<Affinity, DialectError> {
    Ok(Affinity {
        labels: label_selector(object, "labelSelector")?,
        fields: each(apis::list(object, &["fieldSelector", "matchExpressions"]), field_requirement)?,
        names: apis::texts(object, &[names]),
        exclude: apis::texts(object, &[exclude]),
    })
}

fn field_requirement(expression: &Value) -> Result<FieldRequirement, DialectError> {
    let said = |key| apis::text(expression, &[key]).unwrap_or_default();
    let unknown = |key: &'static str| wrong(&format!("fieldSelector.{key}"), format!("{:?} is not known", said(key)));
    let field = Field::parse(said("key")).ok_or_else(|| unknown("key"))?;
    let operator = Operator::parse(said("operator")).ok_or_else(|| unknown("operator"))?;
    Ok(FieldRequirement { field, operator, values: apis::texts(expression, &["values"]) })
}

/// The keys by which Karmada says that a cluster does not answer.
const SILENT: [&str; 2] = ["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"];

/// Whoever tolerates Karmada's signs of silence tolerates ours.
pub(super) fn tolerations(list: &[Value]) -> Result<Vec<Toleration>, DialectError> {
    let mut read = each(list, toleration)?;
    let silent: Vec<Toleration> = read
        .iter()
        .filter(|toleration| SILENT.contains(&toleration.key.as_str()))
        .map(|toleration| Toleration { key: NOT_READY.to_owned(), value: None, ..toleration.clone() })
        .collect();
    read.extend(silent);
    Ok(read)
}

fn toleration(value: &Value) -> Result<Toleration, DialectError> {
    let said = |key| apis::text(value, &[key]).unwrap_or_default();
    let effect = match said("effect") {
        "" => None,
        effect => Some(Effect::parse(effect).ok_or_else(|| wrong("effect", format!("{effect:?} is not known")))?),
    };
    let value_wanted = match said("operator") {
        "Exists" => None,
        "" | "Equal" => Some(said("value").to_owned()),
        other => return Err(wrong("operator", format!("{other:?} is not known"))),
    };
    let seconds = apis::number(value, &["tolerationSeconds"]);
    Ok(Toleration { key: said("key").to_owned(), value: value_wanted, effect, seconds })
}

/// A time of day in seconds.
pub(super) fn seconds(text: &str) -> Option<i64> {
    Instant::parse(text, Precision::Seconds).ok().map(|instant| instant.seconds)
}

/// Those whose effect is known; others mean nothing to anybody.
pub(super) fn taints(list: &[Value]) -> Vec<Taint> {
    let taint = |taint: &Value| {
        let said = |key| apis::text(taint, &[key]).unwrap_or_default().to_owned();
        let added = apis::text(taint, &["timeAdded"]).and_then(seconds);
        Some(Taint { key: said("key"), value: said("value"), effect: Effect::parse(&said("effect"))?, added })
    };
    list.iter().filter_map(taint).collect()
}
