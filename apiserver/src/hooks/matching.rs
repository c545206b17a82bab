//! Whether a hook is to be asked about a request.

use super::conditions::{Evaluate, Subject};
use super::review;
use super::rules::Rule;
use super::view::{Version, View};
use super::webhook::Webhook;
use super::{Ask, Labels, Operation};
use crate::catalog::ResourceDef;
use crate::error::ApiError;
use crate::object::Object;
use crate::selector::{LabelSelector, ParseError};
use std::sync::Arc;

impl Webhook {
    /// The version of the resource in which the hook wants to be asked; nothing if it does not.
    ///
    /// What goes wrong with a selector matters only to those whose rules mean the request.
    pub(super) fn wants(&self, ask: &Ask<'_>, object: Option<&Object>) -> Result<Option<Version>, ApiError> {
        let namespaces = selects_namespace(&self.namespaces, ask, object);
        if let Ok(false) = namespaces {
            return Ok(None);
        }
        let objects = selects_object(&self.objects, ask, object);
        if let Ok(false) = objects {
            return Ok(None);
        }
        let Some(version) = meant_version(&self.rules, self.equivalent, ask) else { return Ok(None) };
        namespaces.and(objects).map(|_| Some(version))
    }

    /// Whether nothing that the hook said besides keeps it from being asked.
    pub(super) fn conditions_hold(&self, ask: &Ask<'_>, view: &View<'_>) -> Result<bool, ApiError> {
        let Some(conditions) = &self.conditions else { return Ok(true) };
        match evaluated(&**conditions, ask, view) {
            Ok(holds) => Ok(holds),
            Err(_) if self.ignores_failure => Ok(false),
            Err(why) => {
                tracing::warn!(webhook = self.name, why, "match conditions could not be evaluated");
                Err(ApiError::forbidden(ask.resource, ask.name, &why))
            }
        }
    }
}

/// What labels are asked for, as far as it can be read.
pub(crate) type Selector = Result<LabelSelector, ParseError>;

/// The requested version if any rule means it; otherwise the first that the earliest rule means.
pub(crate) fn meant_version(rules: &[Rule], equivalent: bool, ask: &Ask<'_>) -> Option<Version> {
    if rules.iter().any(|rule| rule.matches(ask, ask.resource)) {
        return Some(None);
    }
    if !equivalent {
        return None;
    }
    let is_other = |version: &Arc<ResourceDef>| {
        let has_part = ask.subresource.is_empty() || version.subresource(ask.subresource).is_some();
        let name = |of: &ResourceDef| (of.group.clone(), of.version.clone(), of.plural.clone());
        has_part && name(version) != name(ask.resource)
    };
    let others: Vec<_> = ask.versions.of(ask.resource).into_iter().filter(is_other).collect();
    let first = |rule: &Rule| others.iter().find(|version| rule.matches(ask, version));
    rules.iter().find_map(first).map(|version| Some(version.clone()))
}

/// What is in no namespace is never exempt.
pub(crate) fn selects_namespace(selector: &Selector, ask: &Ask<'_>, object: Option<&Object>) -> Result<bool, ApiError> {
    let namespace = ask.namespace();
    if namespace.is_empty() && ask.resource.plural != "namespaces" {
        return Ok(true);
    }
    let selector = selector.as_ref().map_err(|error| ApiError::internal(error.to_string()))?;
    if selector.is_everything() {
        return Ok(true);
    }
    if ask.resource.plural == "namespaces"
        && ask.subresource.is_empty()
        && matches!(ask.operation, Operation::Create | Operation::Update)
    {
        return Ok(selector.matches(object.and_then(Object::labels)));
    }
    let labels: Labels = (ask.namespace_labels)(namespace).map_err(|error| match error.code() {
        404 => error,
        _ => ApiError::internal(error.message()),
    })?;
    Ok(selector.matches(Some(&labels)))
}

/// Either the object or what it replaces.
pub(crate) fn selects_object(selector: &Selector, ask: &Ask<'_>, object: Option<&Object>) -> Result<bool, ApiError> {
    let selector = selector.as_ref().map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(selector.is_everything() || [object, ask.old].into_iter().flatten().any(|one| is_selected(selector, one)))
}

/// What has no metadata has no labels that could be looked at.
fn is_selected(selector: &LabelSelector, object: &Object) -> bool {
    object.get("metadata").is_some() && selector.matches(object.labels())
}

fn evaluated(conditions: &dyn Evaluate, ask: &Ask<'_>, view: &View<'_>) -> Result<bool, String> {
    let request = review::without_objects(ask, view);
    let (object, old) = (view.object(), view.old());
    agreed(conditions.evaluate(&Subject { request: &request, object, old, ask }))
}

/// Whether all hold. One that does not decides, whatever went wrong with others.
pub(crate) fn agreed(results: Vec<Result<bool, String>>) -> Result<bool, String> {
    if results.contains(&Ok(false)) {
        return Ok(false);
    }
    let mut errors: Vec<String> = Vec::new();
    for error in results.into_iter().filter_map(Result::err) {
        if !errors.contains(&error) {
            errors.push(error);
        }
    }
    match errors.as_slice() {
        [] => Ok(true),
        [one] => Err(one.clone()),
        many => Err(format!("[{}]", many.join(", "))),
    }
}
