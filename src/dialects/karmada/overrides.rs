//! OverridePolicy and ClusterOverridePolicy.

use super::placement;
use super::policy;
use crate::apis;
use crate::dialects::read;
use crate::dialects::read::DialectError;
use crate::scheduler::affinity::Affinity;
use crate::scheduler::change::Change;
use crate::scheduler::change::DocumentChange;
use crate::scheduler::change::EntriesChange;
use crate::scheduler::change::FieldChange;
use crate::scheduler::change::ImageChange;
use crate::scheduler::change::ImagePart;
use crate::scheduler::change::Operation;
use crate::scheduler::change::Override;
use crate::scheduler::change::Syntax;
use crate::scheduler::change::WordsChange;
use crate::scheduler::rule::ObjectSelector;
use crate::scheduler::rule::Strength;
use serde_json::Value;

/// An override policy, read.
#[derive(Clone, Debug, PartialEq)]
pub struct OverridePolicy {
    /// `None` for those of the whole cluster.
    pub namespace: Option<String>,
    pub name: String,
    /// None means every object.
    objects: Vec<ObjectSelector>,
    pub overrides: Vec<Override>,
}

impl OverridePolicy {
    fn strength(&self, object: &Value) -> Option<Strength> {
        let of_namespace = apis::text(object, &["metadata", "namespace"]).unwrap_or_default();
        if self.namespace.as_ref().is_some_and(|namespace| namespace != of_namespace) {
            return None;
        }
        if self.objects.is_empty() {
            return Some(Strength::Everything);
        }
        self.objects.iter().filter_map(|selector| selector.strength(object, "")).max()
    }
}

/// Those that concern an object, in the order in which they are carried out: of the whole cluster first, then the
/// loosest description first, so that the closest has the last word.
pub fn concerning<'p>(object: &Value, policies: impl Iterator<Item = &'p OverridePolicy>) -> Vec<&'p OverridePolicy> {
    let mut found: Vec<_> = policies.filter_map(|policy| Some((policy.strength(object)?, policy))).collect();
    found.sort_by_key(|(strength, policy)| (policy.namespace.is_some(), *strength, &policy.name));
    found.into_iter().map(|(_, policy)| policy).collect()
}

/// Reads either kind, the deprecated form included.
pub fn compile(policy: &Value) -> Result<OverridePolicy, DialectError> {
    let namespace = apis::text(policy, &["metadata", "namespace"]).filter(|namespace| !namespace.is_empty());
    let spec = policy.get("spec").unwrap_or(&Value::Null);
    let selectors = apis::list(spec, &["resourceSelectors"]);
    let rules = apis::list(spec, &["overrideRules"]);
    let old = std::slice::from_ref(spec);
    let mut overrides = read::each(if rules.is_empty() { old } else { rules }, rule)?;
    // What is the same in every cell need not be made for each of them.
    overrides.retain(|one| !one.changes.is_empty());
    Ok(OverridePolicy {
        namespace: namespace.map(str::to_owned),
        name: apis::text(policy, &["metadata", "name"]).unwrap_or_default().to_owned(),
        objects: read::each(selectors, |selector| policy::object_selector(selector, namespace))?,
        overrides,
    })
}

fn rule(rule: &Value) -> Result<Override, DialectError> {
    let cells = apis::at(rule, &["targetCluster"]).map_or(Ok(Affinity::default()), placement::affinity)?;
    let overriders = rule.get("overriders").unwrap_or(&Value::Null);
    let of = |key| apis::list(overriders, &[key]);
    let mut changes = read::each(of("imageOverrider"), image)?;
    changes.extend(read::each(of("commandOverrider"), |one| words(one).map(Change::Command))?);
    changes.extend(read::each(of("argsOverrider"), |one| words(one).map(Change::Args))?);
    changes.extend(read::each(of("labelsOverrider"), |one| entries(one).map(Change::Labels))?);
    changes.extend(read::each(of("annotationsOverrider"), |one| entries(one).map(Change::Annotations))?);
    changes.extend(read::each(of("fieldOverrider"), document)?);
    changes.extend(read::each(of("plaintext"), |one| field(one, "path").map(Change::Field))?);
    Ok(Override { cells, changes })
}

fn operation(of: &Value) -> Result<Operation, DialectError> {
    let said = apis::text(of, &["operator"]).unwrap_or_default();
    Operation::parse(said).ok_or_else(|| read::wrong("operator", format!("{said:?} is not known")))
}

fn image(of: &Value) -> Result<Change, DialectError> {
    let part = match apis::text(of, &["component"]).unwrap_or_default() {
        "Registry" => ImagePart::Registry,
        "Repository" => ImagePart::Repository,
        "Tag" => ImagePart::Tag,
        other => return Err(read::wrong("component", format!("{other:?} is not known"))),
    };
    let value = apis::text(of, &["value"]).unwrap_or_default().to_owned();
    let at = apis::text(of, &["predicate", "path"]).map(str::to_owned);
    Ok(Change::Image(ImageChange { at, part, operation: operation(of)?, value }))
}

fn words(of: &Value) -> Result<WordsChange, DialectError> {
    let container = apis::text(of, &["containerName"]).unwrap_or_default().to_owned();
    Ok(WordsChange { container, remove: operation(of)? == Operation::Remove, words: apis::texts(of, &["value"]) })
}

fn entries(of: &Value) -> Result<EntriesChange, DialectError> {
    let entry = |(key, value): (&String, &Value)| Some((key.clone(), value.as_str()?.to_owned()));
    let entries = apis::map(of, &["value"]).into_iter().flatten().filter_map(entry).collect();
    Ok(EntriesChange { operation: operation(of)?, entries })
}

fn document(of: &Value) -> Result<Change, DialectError> {
    let (yaml, json) = (apis::list(of, &["yaml"]), apis::list(of, &["json"]));
    let (syntax, steps) = if yaml.is_empty() { (Syntax::Json, json) } else { (Syntax::Yaml, yaml) };
    let at = apis::text(of, &["fieldPath"]).unwrap_or_default().to_owned();
    Ok(Change::Document(DocumentChange { at, syntax, steps: read::each(steps, |step| field(step, "subPath"))? }))
}

fn field(of: &Value, path: &str) -> Result<FieldChange, DialectError> {
    let path = apis::text(of, &[path]).unwrap_or_default().to_owned();
    Ok(FieldChange { path, operation: operation(of)?, value: of.get("value").cloned().unwrap_or(Value::Null) })
}
