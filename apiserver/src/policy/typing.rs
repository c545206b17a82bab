//! What seems wrong with the expressions of a policy once it is known which objects they are about.
//!
//! Nothing of it keeps a policy from doing what it says: it is told in its status.

use super::compiled::{Expression, Named, Wanted, text};
use super::declare;
use super::environment::{self, Scope};
use super::params::spelled;
use super::read;
use crate::catalog::{Catalog, ResourceDef};
use crate::hooks::words;
use crate::object::Object;
use expression::Declared;
use openapi::builtin;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Kinds beyond these are not looked at.
const KINDS_MAX: usize = 10;

/// `status.typeChecking` of a ValidatingAdmissionPolicy.
pub fn type_checking(policy: &Object, catalog: &Catalog) -> Value {
    let kinds = kinds(policy, catalog);
    let params = params(policy, catalog);
    let mut warnings: Vec<Value> = Vec::new();
    for (place, validation) in policy.items(&["spec", "validations"]).enumerate() {
        for field in ["expression", "messageExpression"] {
            let said = text(validation, field);
            if said.is_empty() && field == "messageExpression" {
                continue;
            }
            let told: Vec<String> =
                kinds.iter().filter_map(|(kind, object)| warning(policy, kind, object, &params, said)).collect();
            if !told.is_empty() {
                let at = format!("spec.validations[{place}].{field}");
                warnings.push(json!({ "fieldRef": at, "warning": told.join("\n") }));
            }
        }
    }
    if warnings.is_empty() { json!({}) } else { json!({ "expressionWarnings": warnings }) }
}

fn warning(policy: &Object, kind: &str, object: &Declared, params: &Declared, said: &str) -> Option<String> {
    let scope = Scope { patches: false, ..read::scope(policy) };
    let types = (object, params);
    let within = |named: &Named| environment::typed(scope, named.declared(), types);
    let mut named = Named::default();
    for variable in policy.items(&["spec", "variables"]) {
        let environment = within(&named);
        named.add(&environment, text(variable, "name"), text(variable, "expression"));
    }
    let fault = Expression::compile(&within(&named), said, Wanted::Anything).program.err()?;
    if fault.is_internal {
        return None;
    }
    let issues = fault.detail.strip_prefix("compilation failed: ").unwrap_or(&fault.detail);
    Some(format!("{kind}: {issues}\n"))
}

/// The kinds that the rules name, sorted by group, version and kind. A rule with wildcards names none.
fn kinds(policy: &Object, catalog: &Catalog) -> Vec<(String, Declared)> {
    let mut found: BTreeMap<(String, String, String), Declared> = BTreeMap::new();
    for rule in policy.items(&["spec", "matchConstraints", "resourceRules"]) {
        let sorted = |field: &str| {
            let mut words = words(rule, field);
            words.sort_unstable();
            words
        };
        let (groups, versions) = (sorted("apiGroups"), sorted("apiVersions"));
        if groups.iter().chain(&versions).any(|word| word.contains('*')) {
            continue;
        }
        let mut count = 0;
        for (group, version) in groups.iter().flat_map(|group| versions.iter().map(move |version| (group, version))) {
            for plural in sorted("resources").iter().filter(|plural| !plural.contains(['*', '/'])) {
                let Some(resource) = catalog.find(group, version, plural) else { continue };
                let Some(declared) = declared(resource) else { continue };
                found.insert((group.clone(), version.clone(), resource.kind.clone()), declared);
                count += 1;
                if count == KINDS_MAX {
                    return told(found);
                }
            }
        }
    }
    told(found)
}

fn told(found: BTreeMap<(String, String, String), Declared>) -> Vec<(String, Declared)> {
    let kind = |((group, version, kind), declared): ((String, String, String), Declared)| {
        (spelled(&format!("{group}/{version}"), &kind), declared)
    };
    found.into_iter().map(kind).collect()
}

fn declared(resource: &Arc<ResourceDef>) -> Option<Declared> {
    match resource.custom() {
        Some(custom) => Some(declare::custom(custom.schema.structural().root(), &resource.kind)),
        None => builtin::kind(&resource.group, &resource.version, &resource.kind).map(declare::builtin),
    }
}

/// The type of the params; anything where it is not known.
fn params(policy: &Object, catalog: &Catalog) -> Declared {
    let word = |field: &str| policy.text(&["spec", "paramKind", field]);
    let resource = catalog.of_kind(word("apiVersion"), word("kind"));
    resource.and_then(declared).unwrap_or_else(Declared::any)
}
